import { describe, expect, test } from 'bun:test';
import { Fund } from '../../src/core/accounting/fund.ts';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import { MICROCREDITS } from '../../src/core/money/credits.ts';
import { BudgetWindows } from '../../src/ledger/funds.ts';
import { ledgerFamilies } from '../../src/ledger/metrics.ts';
import { OpenHolds } from '../../src/ledger/open-holds.ts';
import { Refusals } from '../../src/ledger/refusals.ts';
import { sampleBudgets } from '../../src/ledger/sample.ts';
import { flaky } from '../store/support.ts';
import { figuresOf } from '../support/families.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, reload, spent } from './model/spending.ts';
import { budget, caller, held, keyBudgets, line, NOON, order, refused, terms } from './support.ts';

/** The figures of a budget, by metric name without the prefix. */
function budgetFigures(figures: Readonly<Record<string, number>>, name: string): Record<string, number> {
  const tail = `{budget="${name}"}`;
  const own = Object.entries(figures).filter(([key]) => key.startsWith('signalbox_budget_') && key.endsWith(tail));
  return Object.fromEntries(own.map(([key, value]) => [key.slice('signalbox_budget_'.length, -tail.length), value]));
}

const credits = (amount: number): number => amount * MICROCREDITS;
const each: Budget['each'] = ({ key }) => key.id;

describe('metrics of budgets', () => {
  ledgerTest('the metrics of an unused budget show its limit with everything left', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(credits(8), { window: 'day' })) });
    expect(budgetFigures(figuresOf(ledgerFamilies(ledger)), 'all')).toEqual({
      limit_credits: 8,
      spent_credits: 0,
      reserved_credits: 0,
      headroom_credits: 8,
      headroom_ratio: 1,
      subjects: 0,
      subjects_exhausted: 0,
      reservations_open: 0,
      oldest_reservation_seconds: 0,
      renews_timestamp_seconds: Date.UTC(2026, 10, 21) / 1_000,
      refusals_total: 0,
    });
  });

  ledgerTest(
    'the metrics of a budget show the subject with the smallest share of its limit left, after reservations',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(credits(8), { each, window: 'total' })) });
      const { ledger } = opened;
      const families = ledgerFamilies(ledger);
      await spent(opened, credits(3), { caller: caller('a') });
      await spent(opened, credits(1), { caller: caller('b') });
      const hold = await held(ledger, order(credits(5), { caller: caller('b') }));
      expect(budgetFigures(figuresOf(families), 'all')).toEqual({
        limit_credits: 8,
        spent_credits: 1,
        reserved_credits: 5,
        headroom_credits: 2,
        headroom_ratio: 0.25,
        subjects: 2,
        subjects_exhausted: 0,
        reservations_open: 1,
        oldest_reservation_seconds: 0,
        refusals_total: 0,
      });
      await Bun.sleep(0);
      hold.settle(null, () => []);
      expect(budgetFigures(figuresOf(families), 'all')).toMatchObject({ spent_credits: 3, headroom_ratio: 0.625 });
    },
  );

  ledgerTest(
    'the metrics of a budget count subjects that have spent and subjects that are almost used up, but not subjects that were only read',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(credits(8), { each })) });
      await spent(opened, credits(8), { caller: caller('a') });
      await spent(opened, credits(7.92), { caller: caller('b') });
      await spent(opened, credits(7.9), { caller: caller('c') });
      opened.ledger.availableFunds(caller('d'), 'auto');
      const figures = budgetFigures(figuresOf(ledgerFamilies(opened.ledger)), 'all');
      expect(figures).toMatchObject({ subjects: 3, subjects_exhausted: 2, headroom_credits: 0, headroom_ratio: 0 });
    },
  );

  ledgerTest(
    'the metrics of a budget go below 0 if its limit is lowered, and start again with its window',
    async (folder) => {
      let now = NOON;
      const opened = await folder.open({ now: () => now, terms: terms(budget(credits(8), { window: 'day' })) });
      await spent(opened, credits(6));
      await reload(opened, budget(credits(4), { window: 'day' }));
      const families = ledgerFamilies(opened.ledger);
      expect(budgetFigures(figuresOf(families), 'all')).toMatchObject({ headroom_credits: -2, headroom_ratio: -0.5 });
      now += 86_400_000;
      await Bun.sleep(0);
      expect(budgetFigures(figuresOf(families), 'all')).toMatchObject({
        spent_credits: 0,
        headroom_ratio: 1,
        subjects: 0,
        renews_timestamp_seconds: Date.UTC(2026, 10, 22) / 1_000,
      });
    },
  );

  ledgerTest(
    'the metrics of key budgets are grouped by the kind of window, together with a policy budget of the same name',
    async (folder) => {
      const own = (limit: number) => ({ limit, window: 'month', timeZone: 'UTC', onExhausted: 'reject' }) as const;
      const ofKeys = keyBudgets([
        { keyId: 'a', budgets: [own(credits(2))] },
        { keyId: 'b', budgets: [own(credits(4))] },
      ]);
      const opened = await folder.open({ terms: terms(...ofKeys) });
      const families = ledgerFamilies(opened.ledger);
      const figures = () => budgetFigures(figuresOf(families), 'key-month');
      expect(figures()).toMatchObject({ limit_credits: 2, headroom_ratio: 1, subjects: 0 });
      await spent(opened, credits(3), { caller: caller('b') });
      expect(figures()).toMatchObject({ limit_credits: 4, headroom_ratio: 0.25, subjects: 1 });
      await reload(opened, budget(credits(30), { name: 'key-month' }), ...ofKeys);
      // Three of the thirty of the policy's budget are spent, too.
      expect(figures()).toMatchObject({ limit_credits: 4, headroom_ratio: 0.25, subjects: 2 });
    },
  );

  ledgerTest(
    'the metrics of a budget count its refusals, but not requests that could have waited and not refusals by a balance',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(credits(8))) });
      const { ledger } = opened;
      await spent(opened, credits(7));
      const shortage = await refused(ledger, order(credits(2)));
      expect(shortage.why).toBe('exhausted');
      ledger.refused(shortage);
      ledger.refused({ ...shortage, why: 'contended' });
      ledger.refused({ ...shortage, kind: 'balance' });
      const figures = budgetFigures(figuresOf(ledgerFamilies(ledger)), 'all');
      expect(figures).toMatchObject({ refusals_total: 1, subjects_exhausted: 0, headroom_ratio: 0.125 });
    },
  );

  test('refusals by budgets beyond the limit of names are counted together', () => {
    const refusals = new Refusals();
    for (const name of ['a', 'b', 'b', 'c']) refusals.count({ kind: 'budget', why: 'exhausted', name });
    const named = (...names: readonly string[]) => [...refusals.of(names.map((name) => ({ name })))];
    expect(named('a', 'd')).toEqual([
      ['a', 1],
      ['d', 0],
    ]);
    expect(named('a', 'other')).toEqual([
      ['a', 1],
      ['other', 3],
    ]);
    for (let i = 0; i < 1_000; i++) refusals.count({ kind: 'budget', why: 'exhausted', name: `${i}` });
    expect(named('0', '999', 'other')).toEqual([
      ['0', 1],
      ['999', 0],
      ['other', 1_003],
    ]);
  });

  test('all budgets beyond the 500th share the same metrics', () => {
    const budgetWindows = Array.from({ length: 503 }, (_, i) => {
      const one = budget(100, { name: `b${i}`, window: 'total' });
      const window = { starts: 0, ends: Number.POSITIVE_INFINITY };
      const windows = new BudgetWindows({ budget: one, generation: i, rank: 1, at: 0 }, window);
      windows.fundAt('', NOON);
      return windows;
    });
    const look = (at: number) =>
      [...budgetWindows[at]!.funds].map(({ title, limit }) => new Fund(title, limit, at % 100));
    const samples = sampleBudgets(budgetWindows, NOON, look, new OpenHolds([]));
    expect(samples.length).toBe(501);
    expect(samples.at(-1)).toMatchObject({ name: 'other', spent: 2, subjects: 2 });
  });
});

/** The low digits of an ID that no other ID of the same millisecond has. */
const LATE_IN_MS = 8_191;

describe('metrics of holds and balances', () => {
  ledgerTest('the metrics of holds are 0 after all holds are settled', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(credits(8))) });
    const families = ledgerFamilies(ledger);
    const holds = [await held(ledger, order(credits(1))), await held(ledger, order(credits(2)))];
    expect(figuresOf(families)).toMatchObject({ signalbox_reservations_open: 2, signalbox_credits_reserved: 3 });
    await Bun.sleep(0);
    holds[0]!.post(line(credits(0.25)));
    expect(figuresOf(families)).toMatchObject({ signalbox_reservations_open: 2, signalbox_credits_reserved: 2.75 });
    for (const hold of holds) hold.settle(line(credits(0.5)), () => []);
    await Bun.sleep(0);
    expect(figuresOf(families)).toMatchObject({ signalbox_reservations_open: 0, signalbox_credits_reserved: 0 });
  });

  ledgerTest('the metrics count balances and empty balances, but no wallet that never paid', async (folder) => {
    const opened = await folder.open();
    const { ledger } = opened;
    await adjust(folder.file, { kind: 'grant', keyId: 'a', amount: 100 });
    await adjust(folder.file, { kind: 'grant', keyId: 'b', amount: 100 });
    await ledger.refresh();
    await spent(opened, 100, { caller: caller('a') });
    const wallet = `0x${'ab'.repeat(20)}`;
    expect(await refused(ledger, order(1, { caller: caller(wallet) }))).toMatchObject({ kind: 'balance', limit: 0 });
    expect(figuresOf(ledgerFamilies(ledger))).toMatchObject({ signalbox_balances: 2, signalbox_balances_exhausted: 1 });
    await ledger.deposit(wallet, { paid: 50, fee: 0, note: 'top-up' }, []);
    await Bun.sleep(0);
    expect(figuresOf(ledgerFamilies(ledger))).toMatchObject({ signalbox_balances: 3, signalbox_balances_exhausted: 1 });
  });

  ledgerTest(
    'the metrics of balances show the sum of all balances, and the balance that will be used up next',
    async (folder) => {
      let now = NOON;
      const opened = await folder.open({ now: () => now });
      const { ledger } = opened;
      const figures = () => {
        const all = figuresOf(ledgerFamilies(ledger));
        const own = Object.entries(all).filter(([name]) => name.startsWith('signalbox_balances_'));
        return Object.fromEntries(own.map(([name, figure]) => [name.slice('signalbox_balances_'.length), figure]));
      };
      expect(figures()).not.toHaveProperty('headroom_ratio');
      for (const keyId of ['a', 'b', 'c']) await adjust(folder.file, { kind: 'grant', keyId, amount: credits(8) });
      await ledger.refresh();
      await spent(opened, credits(8), { caller: caller('a') });
      await spent(opened, credits(2), { caller: caller('b') });
      // An ID of this moment. The IDs of `order` increase through all tests of a process, so they are later.
      const id = idAt(NOON) + LATE_IN_MS;
      const hold = await held(ledger, order(credits(4), { caller: caller('b'), id }));
      expect(figures()).toMatchObject({
        exhausted: 1,
        limit_credits: 24,
        spent_credits: 10,
        reserved_credits: 4,
        reservations_open: 1,
        headroom_ratio: 0.25,
      });
      now += 7_000;
      // The ledger reads all metrics of a page in the same turn of the event loop.
      await Bun.sleep(0);
      expect(figures().oldest_reservation_seconds).toBe(7);
      hold.settle(null, () => []);
      expect(figures()).toMatchObject({
        reserved_credits: 0,
        reservations_open: 0,
        oldest_reservation_seconds: 0,
        headroom_ratio: 0.75,
      });
    },
  );

  ledgerTest('reading the metrics does not use the database', async (folder) => {
    let queries = 0;
    const { ledger } = await folder.open({
      terms: terms(budget(credits(8))),
      wrap: (real) => ({
        ...flaky(real),
        query: (statement, params) => {
          queries++;
          return real.query(statement, params);
        },
      }),
    });
    await held(ledger, order(1));
    queries = 0;
    figuresOf(ledgerFamilies(ledger));
    expect(queries).toBe(0);
  });

  ledgerTest(
    'all metrics of a page come from the same reading of the ledger, and the next page reads the ledger again',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(credits(8))) });
      let looks = 0;
      const families = ledgerFamilies({
        sample: () => {
          looks++;
          return ledger.sample();
        },
      });
      figuresOf(families);
      expect(looks).toBe(1);
      await Bun.sleep(0);
      figuresOf(families);
      expect(looks).toBe(2);
    },
  );
});
