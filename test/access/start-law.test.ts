import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openKeys } from '../../src/access/keys.ts';
import type { KeyTable } from '../../src/store/keys.ts';
import { tries } from '../deep/effort.ts';
import { openInMemory } from '../store/implementations.ts';
import { newsByHand } from '../store/news-by-hand.ts';
import { MORNING, reasonOf } from './support.ts';

/**
 * A server starts while other servers change keys: `create`, `revoke` and `suspend` are their changes, `news` reach the starting server,
 * and `first` and `last` deliver the answer of its oldest or its newest read.
 */
const step = fc.constantFrom('create', 'revoke', 'suspend', 'news', 'news', 'first', 'last');
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
type ChangedAfter = KeyTable['changedAfter'];

/** @returns which keys the started server accepts, and which it must accept */
async function startAmid(steps: readonly Step[], spoil: (read: ChangedAfter) => ChangedAfter) {
  await using store = await openInMemory();
  const own = { commit: store.commit.bind(store), append: store.append.bind(store) };
  const { keys: table, people, trail, news } = store;
  const now = () => MORNING;
  const other = await openKeys({ store: { ...own, keys: table, people, trail, news }, now });
  const made: string[] = [];
  const living = new Map<string, string>();
  const create = async () => {
    const { key, info } = await other.create({ name: 'app', scopes: ['chat'] });
    made.push(key);
    living.set(info.id, key);
  };
  const end = async (how: 'revoke' | 'suspend') => {
    const [oldest] = living.keys();
    if (oldest === undefined) return;
    await other[how](oldest);
    living.delete(oldest);
  };
  for (let at = 0; at < 3; at++) await create();

  const byHand = newsByHand(news);
  const answers: (() => void)[] = [];
  const read = spoil(table.changedAfter.bind(table));
  const changedAfter: ChangedAfter = async (...asked) => {
    const changes = await read(...asked);
    await new Promise<void>((resolve) => answers.push(resolve));
    return changes;
  };
  const late = { ...own, keys: { ...table, changedAfter }, people, trail, news: byHand.news };
  const starting = openKeys({ store: late, now });
  const reads: unknown[] = [];
  for (const one of [...steps, 'news'] as const) {
    await Bun.sleep(0);
    if (one === 'create') await create();
    else if (one === 'revoke' || one === 'suspend') await end(one);
    else if (one === 'news') reads.push(byHand.tell());
    else (one === 'first' ? answers.shift() : answers.pop())?.();
  }
  let isDone = false;
  const started = Promise.all([starting, ...reads]).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await Bun.sleep(0);
    answers.shift()?.();
  }
  const [keys] = await started;
  const accepted = made.filter((key) => reasonOf(keys, key) === null);
  keys.close();
  other.close();
  return { accepted, due: [...living.values()] };
}

/** Reads that always leave out revoked keys, as a first read does. */
const withoutRevoked =
  (read: ChangedAfter): ChangedAfter =>
  async (...asked) => {
    const { rows, through } = await read(...asked);
    return { rows: rows.filter(({ key }) => key.info.revokedAt === null), through };
  };

const law = (spoil: (read: ChangedAfter) => ChangedAfter) =>
  fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
    const { accepted, due } = await startAmid(steps, spoil);
    expect(accepted).toEqual(due);
  });

test('a server that starts while keys change accepts exactly the valid keys, in any order of its reads', async () => {
  const what = 'a server that starts while keys change accepts exactly the valid keys';
  await fc.assert(
    law((read) => read),
    tries(what, 200, 20_000),
  );
  const { failed } = await fc.check(law(withoutRevoked), { numRuns: 300, seed: 1 });
  expect(failed).toBe(true);
});
