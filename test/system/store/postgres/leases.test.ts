import { afterAll, beforeAll, expect, test } from 'bun:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaseRow } from '../../../../src/store/lease.ts';
import { postgresLeases } from '../../../../src/store/postgres/leases.ts';
import { openHandle } from '../../../store/postgres/opened.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

let database: Awaited<ReturnType<typeof laidDatabase>>;
let store: Awaited<ReturnType<typeof openHandle>>;

beforeAll(async () => {
  database = await laidDatabase();
  store = await openHandle(database.url);
});
afterAll(async () => {
  await store.close();
  await database[Symbol.asyncDispose]();
});

test('a lease that has ended since it was read can be released or get a new epoch, but cannot be renewed', async () => {
  const leases = postgresLeases(store);
  const { now } = await leases.read();
  const lease = (slot: number, ms: number): LeaseRow => ({
    slot,
    epoch: 1,
    until: now + ms,
    idsThrough: 0,
    isReleased: false,
  });
  const [short, long, left] = [lease(0, 200), lease(1, 60_000), lease(2, 200)];
  for (const row of [short, long, left]) expect(await leases.write({ seen: null, row })).toBe(true);
  await sleep(300);
  const renewed = (row: LeaseRow): LeaseRow => ({ ...row, until: now + 90_000 });
  expect(await leases.write({ seen: long, row: renewed(long) })).toBe(true);
  expect(await leases.write({ seen: short, row: renewed(short) })).toBe(false);
  expect(await leases.write({ seen: short, row: { ...renewed(short), epoch: 2 } })).toBe(true);
  expect(await leases.write({ seen: left, row: { ...left, isReleased: true } })).toBe(true);
});
