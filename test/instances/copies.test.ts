import { afterEach, beforeEach, expect, test } from 'bun:test';
import { StoreError } from '../../src/store/store.ts';
import { waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import { type Application, startApplication } from './application.ts';
import { SharedWorld } from './world.ts';

/** Two applications share one store. Changes of keys and wallets by one application must reach the other. */
let upstream: FakeUpstream;
let world: SharedWorld;
let a: Application;
let b: Application;

const WALLET = `0x${'ab'.repeat(20)}`;

beforeEach(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  world = new SharedWorld();
  a = await startApplication(world.open(0), upstream.url);
  b = await startApplication(world.open(1), upstream.url);
});
afterEach(async () => {
  await Promise.all([a.stop(), b.stop()]);
  await upstream.stop();
});

let names = 0;
const statusAt = async (one: Application, key: string): Promise<number> =>
  (await one.ask(key, `name ${names++}`)).status;
/** Resolves once an instance answers with this status. The promised time is one second; the test waits four times as long. */
const answered = (one: Application, key: string, status: number) =>
  waitFor(async () => (await statusAt(one, key)) === status, 4_000);

test('an instance admits a key that another instance has made, and refuses a key that another has revoked', async () => {
  const { key, info } = await a.keys.create({ name: 'app', scopes: ['chat'] });
  await answered(b, key, 200);
  expect(await a.keys.revoke(info.id)).toBe(true);
  expect(await statusAt(a, key)).toBe(401);
  await answered(b, key, 401);
  expect(await b.keys.get(info.id)).toMatchObject({ revokedAt: expect.any(Number) });
});

test('if an instance suspends, resumes or narrows a key, the change applies on the other instance', async () => {
  const { key, info } = await a.keys.create({ name: 'app', scopes: ['chat'] });
  await answered(b, key, 200);
  expect(await a.keys.suspend(info.id)).toMatchObject({ suspendedAt: expect.any(Number) });
  expect(await statusAt(a, key)).toBe(403);
  await answered(b, key, 403);
  await b.keys.resume(info.id);
  await answered(a, key, 200);
  await b.keys.change(info.id, (terms) => ({ ...terms, models: ['another'] }));
  expect(await statusAt(b, key)).toBe(403);
  await answered(a, key, 403);
});

test('two instances cannot remove the last two admin keys at the same time', async () => {
  const [one, other] = [
    await a.keys.create({ name: 'one', scopes: ['admin'] }),
    await b.keys.create({ name: 'other', scopes: ['admin'] }),
  ];
  const ends = await Promise.allSettled([a.keys.suspend(one.info.id), b.keys.revoke(other.info.id)]);
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
  expect(refused).toEqual([expect.objectContaining({ name: 'KeyConflict', reason: 'last_admin_key' })]);
});

test('once an instance has rotated a key, the old secret stops working on both instances', async () => {
  const { key, info } = await a.keys.create({ name: 'app', scopes: ['chat'] });
  await answered(b, key, 200);
  const made = await b.keys.rotate(info.id, 0);
  await answered(a, made?.key ?? '', 200);
  await answered(a, key, 401);
});

test('if an instance blocks a wallet, the other instance refuses the wallet until it is unblocked', async () => {
  const { key } = await a.keys.createForHolder(WALLET, 'an agent');
  await answered(b, key, 402);
  await a.payments.blocklist.add(WALLET, 'fraud');
  expect(await statusAt(a, key)).toBe(403);
  await answered(b, key, 403);
  await b.payments.blocklist.remove(WALLET);
  await answered(a, key, 402);
});

test('both instances admit a key with a budget and together never spend more than the budget', async () => {
  const budgets = [{ limit: 1_000_000, window: 'day', timeZone: 'UTC', onExhausted: 'reject' }] as const;
  const { key } = await a.keys.create({ name: 'app', scopes: ['chat'], budgets });
  // Instance `b` does not poll by itself in this test.
  await waitFor(() => b.keys.authenticate(`Bearer ${key}`).caller, 4_000);
  const statuses: number[] = [];
  while (!statuses.includes(402)) statuses.push(await statusAt(statuses.length % 2 === 0 ? a : b, key));
  const answered = statuses.filter((status) => status === 200).length;
  expect(answered).toBeGreaterThan(1);
  for (const { ledger } of [a, b]) {
    const { funds } = await ledger.status();
    expect(funds.map(({ limit, spent }) => [limit, spent])).toEqual([[1_000_000, answered * 33_000]]);
  }
});

test('no instance admits a key until the instance can count the key’s budget', async () => {
  const budgets = [{ limit: 1_000_000, window: 'day', timeZone: 'UTC', onExhausted: 'reject' }] as const;
  const accept = world.books.accept.bind(world.books);
  world.books.accept = () => Promise.reject(new StoreError('away', { reason: 'broken' }));
  const { key } = await a.keys.create({ name: 'app', scopes: ['chat'], budgets });
  await b.keys.refresh().catch(() => {});
  expect([a, b].map((one) => one.keys.authenticate(`Bearer ${key}`).reason)).toEqual(['unknown', 'unknown']);
  world.books.accept = accept;
  for (const one of [a, b]) await one.keys.refresh();
  expect([a, b].map((one) => one.keys.authenticate(`Bearer ${key}`).reason)).toEqual([null, null]);
});
