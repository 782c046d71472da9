import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { CachedRow } from '../../src/store/cache.ts';
import type { ThreadRow } from '../../src/store/threads.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { openInMemory, type TestedStore } from './implementations.ts';
import { lawOf } from './repository-law.ts';
import { subjectEvent } from './suites/access.ts';

const { runs, seed, proved } = effort('repositories', 400, 4_000);

/** Replaces methods of a correct store with faulty ones. */
type Flaw = (store: TestedStore) => Partial<TestedStore>;

/** Flaws that the law for PostgreSQL must detect, each with a seed whose first commits show it, so that `npm test` is fast. */
const MUTANTS: Readonly<Record<string, readonly [seed: number, flaw: Flaw]>> = {
  'writes of a refused commit stay': [
    3,
    (store) => ({
      async commit(writes) {
        for (const one of writes) await store.commit([one]);
      },
    }),
  ],
  'a condition is not checked': [
    3,
    ({ trail }) => ({ trail: { ...trail, addIfValid: (event) => trail.add(subjectEvent(event)) } }),
  ],
  'revoked keys count against a limit': [
    5,
    ({ keys }) => ({ keys: { ...keys, revokeOfHolder: () => keys.putUses({}) } }),
  ],
  'the threads of a revoked key stay': [5, (store) => ({ threads: withoutErasure(store) })],
  'the cached answers below a revoked key stay': [6, (store) => ({ cache: withoutLines(store) })],
  'a team is removed although it is in use': [
    33,
    ({ people }) => ({
      people: { ...people, putTeam: (team, version) => people.putTeam({ ...team, removedAt: null }, version) },
    }),
  ],
  'a payment arrives twice': [27, ({ payments }) => ({ payments: { ...payments, capture: payments.doubt } })],
};

function withoutErasure({ threads, keys }: TestedStore): TestedStore['threads'] {
  const rows = new Map<string, ThreadRow>();
  const isRevoked = async (id: string) =>
    (await keys.all()).some(({ key: { info } }) => info.id === id && info.revokedAt !== null);
  return {
    ...threads,
    async find(keyId, answer) {
      const found = await threads.find(keyId, answer);
      return found ?? ((await isRevoked(keyId)) ? (rows.get(`${keyId} ${answer}`) ?? null) : null);
    },
    put(row, most) {
      rows.set(`${row.keyId} ${row.answer}`, row);
      return threads.put(row, most);
    },
  };
}

function withoutLines({ cache, keys }: TestedStore): TestedStore['cache'] {
  const rows = new Map<string, CachedRow>();
  const isBelowRevoked = async (id: string) => {
    const infos = (await keys.all()).map(({ key: { info } }) => info);
    const parent = infos.find((info) => info.id === id)?.parent ?? null;
    return infos.some((info) => info.id === parent && info.revokedAt !== null);
  };
  return {
    ...cache,
    async find(names, now, bytesMax) {
      const found = await cache.find(names, now, bytesMax);
      for (const name of names) {
        const row = rows.get(name.toHex());
        const isMissing = !found.some((one) => Buffer.from(one.name).equals(name));
        if (row && row.expires > now && isMissing && (await isBelowRevoked(row.keyId)))
          found.push({ ...row, bytes: row.answer.length });
      }
      return found;
    },
    keep(row) {
      rows.set(row.name.toHex(), row);
      return cache.keep(row);
    },
  };
}

async function openFlawed(flaw: Flaw): Promise<TestedStore> {
  const store = await openInMemory();
  const own = flaw(store);
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

for (const [name, [soon, flaw]] of Object.entries(MUTANTS))
  test(`the law of repositories detects a store where ${name}`, async () => {
    const { failed } = await fc.check(
      lawOf(() => openFlawed(flaw)),
      { numRuns: runs, seed: isDeep ? seed : soon, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });

test('the law of repositories accepts a store without a flaw', async () => {
  await fc.assert(
    lawOf(() => openFlawed(() => ({}))),
    { numRuns: 3, seed },
  );
  proved(
    `the suites of all repositories on each store; their law detects ${Object.keys(MUTANTS).length} flawed stores`,
  );
});
