import { expect } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import type { KeyBudget } from '../../src/core/people/caller.ts';
import { holderBudgetUses } from '../../src/ledger/holder-budgets.ts';
import { grantWrite, spentIn, sqliteLedger } from '../../src/store/sqlite/books/ledger-table.ts';
import { ledgerTest } from './books-test.ts';
import { caller, held, line, NOON, order } from './support.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const daily: KeyBudget = { limit: 1_000, window: 'day', timeZone: 'UTC', onExhausted: 'reject' };
const berlin: KeyBudget = { ...daily, timeZone: 'Europe/Berlin' };
const total: KeyBudget = { ...daily, window: 'total' };

ledgerTest('the journal, the sums, and both together show the same spending of a key in a window', async (folder) => {
  const { store, ledger } = await folder.open();
  let ids = 0;
  const charge = async (keyId: string, time: number, cost: number, parts = 1) => {
    const hold = await held(ledger, order(100_000, { id: idAt(time) + ids++, caller: caller(keyId, { n: `${ids}` }) }));
    for (let i = 1; i < parts; i++) hold.post(line(cost));
    hold.settle(line(cost), () => []);
  };
  const midnight = NOON - 12 * HOUR;
  // In Berlin the day began an hour earlier.
  await charge('a', midnight - HOUR - 1, 1);
  await charge('a', midnight - 1, 20);
  await charge('a', midnight, 300);
  await charge('b', midnight, 5_000);
  await charge('a', midnight + DAY, 60_000);
  const now = NOON;
  const spent = async () => {
    await store.flush();
    const uses = await holderBudgetUses((window) => spentIn(store, 'a', window), [daily, berlin, total], now);
    return uses.map((use) => use.spent);
  };
  expect(await spent()).toEqual([300, 320, 60_321]);
  const [first, , last] = await holderBudgetUses((window) => spentIn(store, 'a', window), [daily, berlin, total], now);
  expect([first?.renewsAt, last?.renewsAt]).toEqual([midnight + DAY, Number.POSITIVE_INFINITY]);
  // The sums are written when the ledger closes. The charges below are only in the journal.
  await ledger.close();
  expect(await spent()).toEqual([300, 320, 60_321]);
  await charge('a', NOON, 1_000, 2);
  await charge('b', NOON, 7);
  expect(await spent()).toEqual([2_300, 2_320, 62_321]);
  expect(await spentIn(store, 'nobody', { starts: 0, ends: Number.POSITIVE_INFINITY })).toBe(0);
});

ledgerTest(
  'a key has a balance from its first grant on, even if no server has booked it; earlier charges do not count in it',
  async (folder) => {
    const { store, ledger } = await folder.open();
    const spend = async (cost: number) =>
      (await held(ledger, order(100, { caller: caller('a') }))).settle(line(cost), () => []);
    await spend(7);
    expect(await sqliteLedger(store).balance('a')).toBeNull();
    await store.commit([grantWrite('a', 500, '', NOON)]);
    expect(await sqliteLedger(store).balance('a')).toEqual({ granted: 500, spent: 0 });
    await ledger.refresh();
    await spend(30);
    await store.flush();
    expect(await sqliteLedger(store).balance('a')).toEqual({ granted: 500, spent: 30 });
    await ledger.close();
    await spend(4);
    await store.commit([grantWrite('a', -100, '', NOON)]);
    await store.flush();
    expect(await sqliteLedger(store).balance('a')).toEqual({ granted: 400, spent: 34 });
    expect(await sqliteLedger(store).balance('b')).toBeNull();
  },
);
