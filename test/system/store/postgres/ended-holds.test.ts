import { expect, test } from 'bun:test';
import type { FundRef } from '../../../../src/core/accounting/fund.ts';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { auditLedger } from '../../../../src/ledger/audit/run.ts';
import { closeOrphans } from '../../../../src/ledger/orphans.ts';
import type { LedgerBooks, LedgerOp } from '../../../../src/store/books.ts';
import { FREE_AFTER_MS } from '../../../../src/store/lease.ts';
import { postgresRepositories } from '../../../../src/store/postgres/repositories.ts';
import type { Store } from '../../../../src/store/store.ts';
import { refusalOf } from '../../../store/implementations.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import {
  balanceOf,
  depositOf,
  earmarkOf,
  fundOf,
  holdOf,
  NOON,
  nextId,
  postOf,
  settleOf,
  WALLET,
} from '../../../store/suites/books.ts';
import { waitFor } from '../../../support/answers.ts';

const at = NOON;
const NEVER = Number.POSITIVE_INFINITY;
/** Makes a hold of a wallet that does not expire. */
const lasting = (op: LedgerOp): LedgerOp =>
  ({ ...op, expiresAt: NEVER, dimensions: { key: 'key', selector: 'auto', holder: WALLET } }) as LedgerOp;

/** A database with two instances. */
async function pair() {
  const ledger = await emptyLedger();
  const opened = [await openBooksOn(ledger, 1), await openBooksOn(ledger, 2)] as const;
  const figures = async (...funds: readonly FundRef[]) => {
    const names = funds.map(({ title }) => `'${title.name}'`).join(', ');
    const rows = await ledger.run(`SELECT spent::int, held::int FROM funds WHERE name IN (${names}) ORDER BY id`);
    return rows.map(({ spent, held }) => [spent, held]);
  };
  /** Sets the end of the first instance's lease to this long ago. */
  const endLease = (agoMs: number) =>
    ledger.run(`UPDATE instances SET until = extract(epoch FROM clock_timestamp()) * 1000 - ${agoMs} WHERE slot = 1`);
  return {
    store: ledger.store as Pick<Store, 'commit'>,
    ...{ ledger, figures, endLease, one: opened[0].books, other: opened[1].books },
    async [Symbol.asyncDispose]() {
      for (const { close } of opened) await close();
      await ledger[Symbol.asyncDispose]();
    },
  };
}
const idsOf = async (books: LedgerBooks) => (await books.orphans()).map(({ id }) => id);

test('the holds of a dead instance are ended once, however many sweeps run, and its earmarks no longer hold anything', async () => {
  await using box = await pair();
  const { one, other } = box;
  const funds = [fundOf(1_000), balanceOf(WALLET)];
  await other.apply([depositOf('pay_1', 500)]);
  const [posted, earmarked, own] = [nextId(), nextId(), nextId()];
  await one.apply([lasting(holdOf(posted, [funds[0]!], 100))]);
  await one.append([postOf(posted, 1, 30)]);
  await one.apply([lasting(earmarkOf(earmarked, funds, 120, 90))]);
  await other.apply([lasting(holdOf(own, [funds[0]!], 10))]);
  expect(await box.figures(...funds)).toEqual([
    [0, 30],
    [30, 200],
  ]);
  // The instance may come back and end its own work.
  await box.endLease(FREE_AFTER_MS / 2);
  expect(await idsOf(other)).toEqual([]);
  await box.endLease(FREE_AFTER_MS + 1);
  expect(await other.orphans()).toEqual([{ id: posted, reserved: 100, charged: 30, holder: null }]);
  expect(await box.figures(...funds)).toEqual([
    [0, 0],
    [30, 80],
  ]);
  const swept = await Promise.all([other, other].map((books) => closeOrphans(books, 'charge', at)));
  expect([...new Set(swept.flatMap(({ ids }) => ids))]).toEqual([posted]);
  expect(await box.figures(...funds)).toEqual([
    [0, 0],
    [100, 10],
  ]);
  const deposit = { paid: 90, fee: 0, note: 'pay_2' };
  expect(await refusalOf(one.apply([{ kind: 'capture', id: earmarked, at, deposit }]))).toBe('fenced');
  // Under a new name the instance is alive, and the chain reports its payment.
  await box.ledger.run(`UPDATE instances SET until = 9007199254740991 WHERE slot = 1`);
  expect(await refusalOf(one.apply([{ kind: 'capture', id: earmarked, at, deposit }]))).toBe('unmet');
  expect(await idsOf(other)).toEqual([]);
});

test('holds of a slot that another instance has taken, or that was released, are orphans at once', async () => {
  await using box = await pair();
  const id = nextId();
  await box.one.apply([lasting(holdOf(id, [], 50))]);
  for (const [change, back] of [
    ['epoch = 2', 'epoch = 1'],
    ['is_released = 1', 'is_released = 0'],
  ]) {
    await box.ledger.run(`UPDATE instances SET ${change} WHERE slot = 1`);
    expect(await idsOf(box.other)).toEqual([id]);
    await box.ledger.run(`UPDATE instances SET ${back} WHERE slot = 1`);
    expect(await idsOf(box.other)).toEqual([]);
  }
});

test('an expired hold of a living instance is an orphan after a minute, with the holder whose balance it uses', async () => {
  await using box = await pair();
  const [now] = await box.ledger.run('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms');
  const expiring = (agoMs: number): LedgerOp =>
    ({ ...holdOf(nextId(), [balanceOf(WALLET)], 5), expiresAt: Number(now!.ms) - agoMs }) as LedgerOp;
  await box.one.apply([depositOf('pay_1', 500)]);
  const [old, young] = [expiring(61_000), expiring(-3_600_000)];
  await box.one.apply([old, young]);
  const { id } = old as { id: number };
  expect(await box.one.orphans()).toEqual([{ id, reserved: 5, charged: 0, holder: WALLET }]);
  // A wallet that has paid in advance does not pay for a crash.
  await closeOrphans(box.other, 'charge', at);
  expect(await idsOf(box.one)).toEqual([]);
  expect(await box.figures(balanceOf(WALLET))).toEqual([[0, 5]]);
});

test('results of old holds are deleted, results of open ones are not, and a later refund finds its hold by the entries', async () => {
  await using box = await pair();
  const { one: books, ledger } = box;
  const funds = [fundOf(1_000), balanceOf(WALLET)];
  books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => funds });
  await books.apply([depositOf('pay_1', 500)]);
  const [ended, open, voided] = [nextId(), nextId(), nextId()];
  await books.apply([lasting(holdOf(ended, funds, 60)), lasting(holdOf(open, funds, 10))]);
  await books.append([postOf(ended, 1, 20), settleOf(ended, 30), { kind: 'void', id: voided, at }]);
  await books.apply([{ kind: 'correct', id: 'first', at, reservation: ended, amount: 15, note: '' }]);
  const before = await books.reservation(ended);
  const { ledger: table, journal } = postgresRepositories(ledger.store, processTimers);
  const stored = await table.reservation(ended);
  expect(await table.prune(NOON)).toBe(0);
  expect(await table.prune(NOON + 3_600_000)).toBe(2);
  expect(await ledger.run('SELECT id::text FROM holds')).toEqual([{ id: String(open) }]);
  expect(await table.reservation(ended)).toEqual(stored);
  expect(await books.reservation(ended)).toEqual(before);
  await table.prune(NOON + 3_600_000);
  const [given] = await books.apply([{ kind: 'correct', id: 'second', at, reservation: ended, amount: 99, note: '' }]);
  expect(given).toEqual({ kind: 'granted', amount: 35 });
  expect(await box.figures(...funds)).toEqual([
    [0, 10],
    [0, 10],
  ]);
  expect(await books.reservation(ended)).toMatchObject({ isOpen: false, charged: 50, givenBack: 50 });
  expect(await books.reservation(voided)).toBeNull();
  const { findings } = await auditLedger(journal, { idle: false });
  expect(findings.map(({ message }) => message)).toEqual([expect.stringContaining('pay_1')]);
});

test('grants and refunds that two instances adopt at once are booked once', async () => {
  await using box = await pair();
  const { ledger: table } = postgresRepositories(box.ledger.store, processTimers);
  const fund = fundOf(1_000);
  for (const books of [box.one, box.other])
    books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [fund] });
  const id = nextId();
  await box.one.apply([lasting(holdOf(id, [fund], 60))]);
  await box.one.append([settleOf(id, 50)]);
  for (let i = 0; i < 5; i++) await box.store.commit([table.grant('key', 7, 'a gift', at)]);
  await box.store.commit([table.refund((await table.reservation(id))!, 30, 'a bad answer', at)]);
  await Promise.all([box.one.refresh(), box.other.refresh(), box.other.refresh()]);
  expect(await table.balances()).toEqual(new Map([['key', { granted: 35, spent: 0 }]]));
  expect(await box.figures(fund)).toEqual([[20, 0]]);
  expect(await table.isAdopted(id)).toBe(true);
  for (const books of [box.one, box.other]) {
    await books.refresh();
    expect(books.balanceOf('key')?.limit).toBe(35);
  }
});

test('an instance knows a balance that another instance has opened without a query for it', async () => {
  await using box = await pair();
  const { ledger: table } = postgresRepositories(box.ledger.store, processTimers);
  const opened = new Set<string>();
  box.other.watch({
    freed: () => {},
    opened: (holder) => void opened.add(holder),
    adjusted: () => {},
    fundsOf: () => [],
  });
  await box.store.commit([table.grant('key', 7, 'a gift', at)]);
  await box.one.refresh();
  await box.one.apply([depositOf('pay_1', 500)]);
  await waitFor(() => opened.size === 2);
  expect([...opened]).toEqual(['key', WALLET]);
  expect(box.other.balances().map(({ title, limit }) => [title.name, limit])).toEqual([
    ['key', 7],
    [WALLET, 500],
  ]);
});
