import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { LINE_LIMITS } from '../../src/access/line.ts';
import { KeyTermsError } from '../../src/access/terms.ts';
import { SERVER } from '../../src/store/trail.ts';
import { tempFolder } from '../store/support.ts';
import { waitFor } from '../support/answers.ts';
import { type Clock, MORNING, type OpenedKeys, open, reasonOf } from './support.ts';

/** Two servers share a database. The copies of both servers are outdated until the servers refresh. */
const folder = tempFolder();
const clock: Clock = { now: MORNING };
let all: readonly [OpenedKeys, OpenedKeys];
beforeAll(async () => {
  all = [await open(folder.file, clock), await open(folder.file, clock)];
});
afterAll(async () => {
  for (const { close } of all) await close();
  folder[Symbol.dispose]();
});

const SCOPES = ['chat', 'delegate'] as const;
const GRANT = { name: 'child', scopes: SCOPES };
const first = async () => {
  const made = await all[0].keys.create({ name: 'first', scopes: SCOPES });
  await all[1].keys.refresh();
  return made;
};
const below = ({ keys }: OpenedKeys, key: string) => keys.createBelow(`Bearer ${key}`, GRANT, SERVER);

test('two servers at the same time create no more child keys than allowed', async () => {
  const { key, info } = await first();
  const made = await Promise.all(
    Array.from({ length: LINE_LIMITS.live + 10 }, (_, at) =>
      below(all[at % 2 === 0 ? 0 : 1], key).catch((cause) => cause),
    ),
  );
  expect(made.filter((one) => one instanceof KeyTermsError)).toHaveLength(10);
  expect(await all[1].keys.below(info.id)).toHaveLength(LINE_LIMITS.live);
});

test('a server that does not know of the revocation of a parent key creates no child key', async () => {
  const { key, info } = await first();
  const child = await below(all[1], key);
  await all[0].keys.revoke(info.id);
  // The copy of this server is outdated, so it still considers the keys valid.
  expect([reasonOf(all[1].keys, key), reasonOf(all[1].keys, child!.key)]).toEqual([null, null]);
  expect(await below(all[1], child!.key)).toBeNull();
  expect(reasonOf(all[1].keys, child!.key)).toBe('revoked');
});

test('a line creates at most a thousand keys within 24 hours, however many of its keys create some', async () => {
  const { key, info } = await first();
  const middle = await below(all[0], key);
  await all[0].store.commit(
    Array.from({ length: LINE_LIMITS.aDay - 1 }, (_, at) => {
      const hash = new Uint8Array(createHash('sha256').update(`${at}`).digest());
      const ended = { expiresAt: clock.now, revokedAt: null, createdAt: clock.now };
      const row = { ...middle!.info, ...ended, id: `ended${at}`, parent: middle!.info.id };
      return all[0].store.keys.insert(row, hash, { parentHash: hash });
    }),
  );
  expect(await below(all[0], key).catch((cause: KeyTermsError) => cause.message)).toMatch(/1000 keys within 24 hours/);
  clock.now += 86_400_001;
  expect((await below(all[0], key))?.info.parent).toBe(info.id);
});

test('a child key and its parent wait until the budgets of both count', async () => {
  let release = () => {};
  const { keys, close } = await open(folder.file, clock, {
    onChange: () =>
      new Promise<void>((resolve) => {
        release = resolve;
      }),
  });
  const budgets = [{ limit: 1_000_000, window: 'day', timeZone: 'UTC', onExhausted: 'reject' }] as const;
  const parent = await all[0].keys.create({ name: 'first', scopes: SCOPES, budgets });
  const child = await below(all[0], parent.key);
  const looked = keys.refresh();
  await Promise.resolve();
  expect([reasonOf(keys, parent.key), reasonOf(keys, child!.key)]).toEqual(['unknown', 'unknown']);
  await waitFor(() => {
    release();
    return reasonOf(keys, child!.key) === null;
  });
  await looked;
  expect(reasonOf(keys, parent.key)).toBeNull();
  await close();
});
