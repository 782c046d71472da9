import { expect } from 'bun:test';
import { priceText } from '../../../src/core/accounting/stored-price.ts';
import { idAt } from '../../../src/core/id.ts';
import { priceLine } from '../../../src/core/money/price.ts';
import { auditLedger } from '../../../src/ledger/audit/run.ts';
import type { LedgerBooks, LedgerOp } from '../../../src/store/books.ts';
import type { JournalReader, MoneyFilter, RowPages } from '../../../src/store/journal-reader.ts';
import type { Repositories } from '../../../src/store/repositories.ts';
import type { Store } from '../../../src/store/store.ts';
import { refusalOf } from '../implementations.ts';
import type { Cases } from '../support.ts';
import {
  applied,
  balanceOf,
  depositOf,
  entryOf,
  fundOf,
  holdOf,
  NOON,
  nextId,
  postOf,
  settleOf,
  WALLET,
} from './books.ts';

/** A ledger as commands see it, with the books of a server. */
export interface LedgerUnderTest extends Pick<Repositories, 'ledger' | 'journal'>, AsyncDisposable {
  readonly store: Pick<Store, 'commit' | 'flush'>;
  readonly books: LedgerBooks;
}

const DAY = { starts: NOON - 43_200_000, ends: NOON + 43_200_000 };
const ALL: MoneyFilter = { from: 0, to: Number.POSITIVE_INFINITY, keyId: null, model: null };

const rowsOf = async <Row>(pages: RowPages<Row> | null): Promise<Row[]> => {
  const rows: Row[] = [];
  for await (const page of pages ?? []) rows.push(...page);
  return rows;
};
const findings = async (journal: JournalReader) =>
  (await auditLedger(journal, { idle: true })).findings.map(({ kind }) => kind);

/** Makes a request of `key` that is charged 50 microcredits, with an overrun of 10. */
async function charged({ books, store }: LedgerUnderTest, ...funds: Parameters<typeof holdOf>[1]): Promise<number> {
  const id = nextId();
  await applied(books, holdOf(id, funds, 50));
  await applied(books, postOf(id, 1, 20));
  await applied(books, settleOf(id, 40));
  await store.flush();
  return id;
}

/** The guarantees of the ledger that commands use, by name. */
export const LEDGER_CASES: Cases<LedgerUnderTest> = {
  'a ledger has a name, and its last entry and its budgets can be read': async ({ ledger, journal, books, store }) => {
    expect(await ledger.exists()).toBe(true);
    expect(await ledger.identity()).toMatch(/^[0-9a-f]{32}$/);
    expect(await journal.horizon()).toBe(0);
    const team = { name: 'team', definition: '[]', window: 'month', timeZone: 'UTC', limit: 9 } as const;
    expect(await ledger.budgets()).toEqual([]);
    await books.accept({ usdPerCredit: '0.01', budgets: [team], counted: [team], rank: null });
    expect(await ledger.budgets()).toEqual([team]);
    expect(await ledger.state()).toEqual({ usdPerCredit: null, budgets: ['team'] });
    await applied(books, holdOf(nextId(), [fundOf(9)], 1));
    await store.flush();
    expect(await journal.horizon()).toBe((await rowsOf(journal.rows())).at(-1)!.seq);
    expect(await ledger.state()).toEqual({ usdPerCredit: '0.01', budgets: ['team'] });
  },
  'a hold is found with its charges; an unknown one is not': async (test) => {
    const id = await charged(test, fundOf(900));
    const found = await test.ledger.reservation(id);
    expect(found).toMatchObject({ reservation: id, keyId: 'key', payer: null, isOpen: false, onBalance: false });
    expect(found).toMatchObject({ charged: 50, overrun: 10, givenBack: 0, lastAdjustment: 0 });
    expect(await test.ledger.reservation(nextId())).toBeNull();
    expect(await test.ledger.spentIn('key', DAY)).toBe(50);
    expect(await test.ledger.spentIn('other', DAY)).toBe(0);
  },
  'the rows of a hold reach from its first to its end, with overruns and without refunds': async (test) => {
    const { journal, ledger, books, store } = test;
    const id = await charged(test, fundOf(900));
    await charged(test, fundOf(900));
    await store.commit([ledger.refund((await ledger.reservation(id))!, 10, 'a bad answer', NOON)]);
    await books.refresh();
    await store.flush();
    const entries = await journal.reservation(id);
    expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['reserve', 50],
      ['post', 20],
      ['settle', 30],
      ['overrun', 10],
    ]);
    expect(entries[0]).toMatchObject({ model: null, price: null, bill: null, estimated: false });
    const bill = { input: 1, output: 1 };
    expect(entries[2]).toMatchObject({ model: expect.any(String), price: expect.any(String), bill });
    expect(entries[3]?.bill).toBeNull();
    expect(await journal.reservation(nextId())).toEqual([]);
  },
  'a bill keeps the service tier and the moment of its price': async ({ journal, books, store }) => {
    const [id, price] = [
      nextId(),
      { lines: [priceLine(0, { input: 3, output: 7 })], divisor: 2, tier: 'flex' } as const,
    ];
    await applied(books, holdOf(id, [fundOf(900)], 50));
    const entry = { ...entryOf(5), tariff: { model: 'm', provider: 'p', upstream: 'u', price: priceText(price) } };
    const most = Number.MAX_SAFE_INTEGER;
    await applied(books, { kind: 'settle', id, at: NOON, entry: { ...entry, pricedAt: NOON }, most });
    await store.flush();
    const settled = (await journal.reservation(id)).find(({ kind }) => kind === 'settle');
    expect(settled?.bill).toMatchObject({ tier: 'flex', pricedAt: NOON, divisor: 2 });
    expect(settled?.bill?.lines.map(({ unit, rate }) => [unit, rate])).toEqual([
      ['input', 3],
      ['output', 7],
    ]);
  },
  'a requested grant counts at once for commands, and for the books after their next refresh': async (test) => {
    const { ledger, books, store } = test;
    expect(await ledger.balance('key')).toBeNull();
    await store.commit([ledger.grant('key', 70, 'a gift', NOON)]);
    expect(await ledger.balance('key')).toEqual({ granted: 70, spent: 0 });
    expect(await ledger.balances()).toEqual(new Map([['key', { granted: 70, spent: 0 }]]));
    expect(books.balanceOf('key')).toBeNull();
    await books.refresh();
    await store.flush();
    expect(books.balanceOf('key')).toMatchObject({ limit: 70, spent: 0 });
    expect(await ledger.granted('key')).toBe(70);
    await charged(test, balanceOf('key'));
    expect(await ledger.balance('key')).toEqual({ granted: 70, spent: 50 });
    expect(await ledger.balances()).toEqual(new Map([['key', { granted: 70, spent: 50 }]]));
  },
  'a wallet always has a balance, which is the sum of its deposits less fees': async ({ ledger, books, store }) => {
    expect(await ledger.balance(WALLET)).toEqual({ granted: 0, spent: 0 });
    await applied(books, depositOf('pay_1', 50, 3));
    await store.flush();
    expect(await ledger.balance(WALLET)).toEqual({ granted: 47, spent: 0 });
    await store.commit([ledger.grant(WALLET, 5, '', NOON)]);
    expect(await ledger.balances()).toEqual(new Map([[WALLET, { granted: 52, spent: 0 }]]));
    await books.refresh();
    await store.flush();
    expect(await ledger.balances()).toEqual(new Map([[WALLET, { granted: 52, spent: 0 }]]));
  },
  'of two refunds that were requested after the same reading, the second is refused': async (test) => {
    const { ledger, books, store } = test;
    const id = await charged(test, fundOf(900));
    const read = (await ledger.reservation(id))!;
    await store.commit([ledger.refund(read, 30, 'a bad answer', NOON)]);
    expect(await refusalOf(store.commit([ledger.refund(read, 30, 'again', NOON)]))).toBe('unmet');
    expect(await ledger.reservation(id)).toMatchObject({ charged: 50, givenBack: 30 });
    expect(await ledger.isAdopted(id)).toBeFalse();
    await books.refresh();
    await store.flush();
    expect(await ledger.isAdopted(id)).toBeTrue();
    expect(await ledger.reservation(id)).toMatchObject({ charged: 50, givenBack: 30 });
    expect(await ledger.spentIn('key', DAY)).toBe(20);
  },
  'the journal has every entry in order; its audit finds only the deposit without a payment': async (test) => {
    const { books, store, journal } = test;
    const id = await everything(test);
    await store.flush();
    const rows = await rowsOf(journal.rows());
    const kinds = 'reserve post settle overrun grant deposit fee fee reserve raise attach expire correct'.split(' ');
    expect(rows.map(({ kind }) => kind)).toEqual(kinds);
    expect(rows[1]).toMatchObject({ reservation: id, amount: 20, keyId: 'key', payer: null, input: 1, output: 1 });
    expect(rows[5]).toMatchObject({ reservation: null, amount: 50, keyId: WALLET, note: 'pay_1' });
    expect((await rowsOf(journal.funds())).map(({ name, most }) => [name, most])).toEqual([
      ['all', 900],
      ['other', 500],
    ]);
    expect(await findings(journal)).toEqual(['wrong_payment']);
    // Storing the sums at this point does not change the result.
    await books.checkpoint();
    expect(await findings(journal)).toEqual(['wrong_payment']);
  },
  'an export has the entries that move money, filtered by time, key and model': async (test) => {
    const id = await everything(test);
    await test.store.flush();
    const { journal } = test;
    const money = async (filter: Partial<MoneyFilter>) =>
      (await rowsOf(journal.money({ ...ALL, ...filter }))).map(({ kind, amount }) => `${kind} ${amount}`);
    const charges = ['post 20', 'settle 30', 'overrun 10'];
    expect(await money({})).toEqual([
      ...charges,
      'grant 7',
      'deposit 50',
      'fee -3',
      'fee 1',
      'expire 15',
      'correct -5',
    ]);
    expect(await money({ model: 'm' })).toEqual(charges);
    expect(await money({ keyId: WALLET })).toEqual(['deposit 50', 'fee -3', 'fee 1']);
    expect(await money({ to: NOON - 1 })).toEqual([]);
    const [post] = await rowsOf(journal.money(ALL));
    expect(post).toMatchObject({
      reservation: id,
      keyId: 'key',
      selector: 'auto',
      labels: { team: 'red' },
      price: '{}',
    });
    expect(post).toMatchObject({ model: 'm', provider: 'p', upstream: 'u', estimated: false });
    expect(post?.bill).toMatchObject({ input: 1, output: 1 });
    expect((await rowsOf(journal.priced())).map(({ kind }) => kind)).toEqual(['post', 'settle', 'overrun']);
  },
};

/** Runs one operation of each kind that adds an entry. */
async function everything(test: LedgerUnderTest): Promise<number> {
  const { books } = test;
  const [fund, other] = [fundOf(900), fundOf(500, 'other')];
  books.watch({ freed: () => {}, opened: () => {}, adjusted: () => {}, fundsOf: () => [fund] });
  const first = await charged(test, fund);
  const at = NOON;
  const second = nextId();
  const { from, to } = await books.uncounted(other.budget, DAY);
  const ops: readonly LedgerOp[] = [
    { kind: 'count', budget: other.budget, from, to, sums: [{ fund: other, amount: 50 }] },
    { kind: 'grant', id: idAt(NOON) + 1, at, holder: 'key', amount: 7, note: '' },
    depositOf('pay_1', 50, 3),
    { kind: 'waive', id: 'pay_1', at, holder: WALLET, fee: 1, note: 'pay_1' },
    holdOf(second, [fund], 10),
    { kind: 'extend', id: second, step: 1, at, amounts: [5] },
    { kind: 'attach', id: second, at, funds: [fund, other] },
    { kind: 'expire', id: second, at, rule: 'charge' },
    { kind: 'correct', id: 'give back', at, reservation: first, amount: 5, note: '' },
  ];
  for (const op of ops) await applied(books, op);
  return first;
}
