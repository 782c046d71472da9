import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { QUARTER_MS, quarterOf, type Window, windowAt } from '../../src/core/accounting/window.ts';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import { NO_LINES } from '../../src/core/people/holder.ts';
import { prepareWindows } from '../../src/ledger/count.ts';
import { BudgetFund, type CountedBudget } from '../../src/ledger/drawn-fund.ts';
import { BudgetWindows } from '../../src/ledger/funds.ts';
import type { CountOp, UncountedCharges } from '../../src/store/books.ts';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { findingsOf } from './audit-support.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, fundsOf, reload, spent } from './model/spending.ts';
import { budget, caller, held, line, NOON, order, terms } from './support.ts';

const DAY_MS = 86_400_000;
const MIDNIGHT = Date.UTC(2026, 10, 21);

const counted = (budget: Budget): CountedBudget => ({ budget, generation: 1, rank: 1, at: 0 });

describe('the alerts of a fund', () => {
  const fraction = fc.integer({ min: 1, max: 20 }).map((n) => n / 20);
  const command = fc.oneof(
    { weight: 3, arbitrary: fc.record({ spend: fc.integer({ min: 0, max: 40 }) }) },
    fc.record({ limit: fc.integer({ min: 1, max: 150 }), added: fc.array(fraction, { maxLength: 3 }) }),
  );
  const termsOf = (limit: number, fractions: readonly number[]) =>
    budget(limit, { alertAt: [...new Set(fractions)].sort((a, b) => a - b) });

  test('alerts of a fund only rise: no fraction is reported twice, whatever happens to the limit and the fractions', () => {
    const law = fc.property(fc.array(fraction), fc.array(command, { maxLength: 20 }), (first, commands) => {
      let limit = 100;
      let fractions = first;
      let told = 0;
      let spent = 0;
      let fund = new BudgetFund(counted(termsOf(limit, fractions)), windowAt('total', 'UTC', NOON), '');
      for (const command of commands) {
        if ('spend' in command) {
          spent += command.spend;
          const reached = fractions.filter((one) => one > told && spent >= one * limit);
          const alert = fund.reached(spent);
          expect(alert).toBe(reached.length === 0 ? null : Math.max(...reached));
          told = alert ?? told;
        } else {
          limit = command.limit;
          fractions = [...fractions, ...command.added];
          fund = fund.under(counted(termsOf(limit, fractions)));
        }
      }
    });
    fc.assert(law, { numRuns: 1_000 });
  });
});

describe('the windows of a budget', () => {
  // An incident: a window was moved by its own length from its last end, so it drifted away from the calendar.
  test('the windows of a budget depend only on the calendar and the current time, even if no request came for a long time', () => {
    const law = (present: (windows: BudgetWindows, now: number, before: Window) => Window) =>
      fc.property(
        fc.constantFrom(...(['day', 'week', 'month', 'total'] as const)),
        fc.constantFrom('UTC', 'Europe/Berlin', 'Africa/Cairo'),
        fc.array(fc.integer({ min: -DAY_MS, max: 70 * DAY_MS }), { minLength: 1, maxLength: 12 }),
        (window, timeZone, jumps) => {
          let now = NOON;
          let before = windowAt(window, timeZone, now);
          const windows = new BudgetWindows(counted(budget(100, { window, timeZone })), before);
          for (const jump of jumps) {
            // A clock that goes back does not open an old window again.
            now = Math.max(now, now + jump);
            before = present(windows, now, before);
            expect(before).toEqual(windowAt(window, timeZone, now));
            expect(windows.fundAt('', now)?.title).toMatchObject(before);
          }
        },
      );
    fc.assert(
      law((windows, now) => windows.windowAt(now)),
      { numRuns: 200 },
    );
    const drifting = law((windows, now, { starts, ends }) => {
      windows.windowAt(now);
      return now < ends ? { starts, ends } : { starts: ends, ends: ends + (ends - starts) };
    });
    expect(() => fc.assert(drifting, { numRuns: 200 })).toThrow();
  });

  test('the windows of a budget are the current window and the previous window; no request draws on older windows', () => {
    const daily = budget(100, { window: 'day' });
    const windows = new BudgetWindows(counted(daily), windowAt('day', 'UTC', NOON));
    expect(windows.fundAt('', NOON - DAY_MS)).toBeNull();
    for (let day = 0; day < 4; day++) {
      const now = NOON + day * DAY_MS;
      windows.windowAt(now);
      expect(windows.fundAt('', now)?.title).toMatchObject(windowAt('day', 'UTC', now));
      if (day === 0) continue;
      expect(windows.fundAt('', now - DAY_MS)?.title).toMatchObject(windowAt('day', 'UTC', now - DAY_MS));
      expect(windows.fundAt('', now - 2 * DAY_MS)).toBeNull();
    }
  });

  ledgerTest(
    'the windows of a budget do not go back with the clock: a window that a request has started stays current',
    async (folder) => {
      const daily = budget(100, { window: 'day' });
      const opened = await folder.open({ terms: terms(daily) });
      await spent(opened, 30);
      expect(await fundsOf(opened)).toEqual([['all', '', 100, 30, 0]]);
      // IDs may be ahead of the clock. In this test the clock shows noon until the end.
      const hold = await held(opened.ledger, order(20, { id: idAt(NOON + DAY_MS) }));
      expect(opened.ledger.availableFunds(caller('key'), 'auto')?.room).toBe(80);
      expect(opened.ledger.fundsOf({ keyId: 'key', labels: {} }, ['auto'])).toMatchObject([{ spent: 0, held: 20 }]);
      await reload(opened, daily);
      expect(await fundsOf(opened)).toEqual([['all', '', 100, 0, 20]]);
      hold.settle(line(20), () => []);
      await folder.prove();
    },
  );

  ledgerTest(
    'the windows of a budget get refunds after their end, so that requests that are still open in them can use the money',
    async (folder) => {
      let now = NOON;
      const opened = await folder.open({ terms: terms(budget(100, { window: 'day' })), now: () => now });
      const [first, second] = [await spent(opened, 30), await spent(opened, 40)];
      const hold = await held(opened.ledger, order(20));
      await opened.store.flush();
      now += DAY_MS;
      expect(await fundsOf(opened)).toEqual([['all', '', 100, 0, 0]]);
      expect(await hold.raise([40], 40)).toBe(false);
      await adjust(folder.file, { kind: 'correct', amount: -30, reservation: first });
      await opened.ledger.refresh();
      expect(await hold.raise([40], 40)).toBe(true);
      // A window before the previous one gets no refund. A request that is open in such a window may get less than possible, but never too
      // much.
      now += DAY_MS;
      expect(await fundsOf(opened)).toEqual([['all', '', 100, 0, 0]]);
      await adjust(folder.file, { kind: 'correct', amount: -40, reservation: second });
      await opened.ledger.refresh();
      expect(await hold.raise([1], 1)).toBe(false);
      expect(await hold.settle(line(60), () => [])).toEqual({ charged: 60, overrun: 0 });
      expect(await opened.ledger.status()).toMatchObject({ charged: 60, held: 0 });
    },
  );
});

describe('counting again', () => {
  const dimensions = { key: 'key', selector: 'auto' };

  ledgerTest(
    'a budget that is counted again contains exactly the charges in the window at the time of the swap, whenever it was prepared',
    async (folder) => {
      const opened = await folder.open();
      // These charges are already stored, in the last quarter of an hour of the day before: 7 at one minute before midnight.
      await spent(opened, 7, { id: idAt(MIDNIGHT - 60_000) });
      await opened.ledger.close();
      const stored = await openSqliteBooks({ store: opened.store, now: () => NOON });
      const before = await stored.uncounted(1, windowAt('day', 'UTC', MIDNIGHT - 60_000));
      const daily = budget(1_000, { window: 'day' });
      const first = quarterOf(MIDNIGHT) - 96;
      const late = fc.array(fc.tuple(fc.integer({ min: -3, max: 195 }), fc.integer({ min: 1, max: 9 })), {
        maxLength: 12,
      });
      const swaps = fc.constantFrom(MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 1, MIDNIGHT + DAY_MS - 1);
      const edges = [0, 95, 96, 191].map((at): [number, number] => [at, 1]);
      const law = fc.asyncProperty(late, swaps, async (random, swappedAt) => {
        const since = [...random, ...edges, [-1, 1] as const, [192, 1] as const];
        const charges = since.map(([at, microcredits]) => ({ quarter: first + at, dimensions, microcredits }));
        const ops: CountOp[] = [];
        const uncounted = (): UncountedCharges =>
          ops.length === 0
            ? before
            : { from: { through: before.to, subjects: 0 }, to: before.to + 1, charges, ofOwners: [] };
        const take = async (...given: Parameters<typeof stored.append>) => {
          for (const op of given[0]) if (op.kind === 'count') ops.push(op);
          return [];
        };
        const apply: typeof stored.apply = async (given) => {
          await take(given);
          return [{ kind: 'granted', amount: 0 }];
        };
        const countedOf = () => new Set<string>();
        const books = { uncounted, countedOf, apply, append: take, standing: stored.standing.bind(stored) };
        const swap = await prepareWindows([counted(daily)], [], { books, lines: NO_LINES }, MIDNIGHT - 60_000);
        const [windows] = swap(swappedAt);
        const day = swappedAt < MIDNIGHT ? 0 : 1;
        const inside = since.filter(([at]) => Math.floor(at / 96) === day);
        const expected = inside.reduce((sum, [, amount]) => sum + amount, day === 0 ? 7 : 0);
        const starts = MIDNIGHT + (day - 1) * DAY_MS;
        expect([...windows!.funds].map(({ title }) => title.starts)).toEqual([starts]);
        const sums = ops.flatMap((op) => op.sums).filter(({ fund }) => fund.title.starts === starts);
        expect(sums.reduce((sum, { amount }) => sum + amount, 0)).toBe(expected);
      });
      await fc.assert(law, { numRuns: 60 });
      expect(DAY_MS).toBe(96 * QUARTER_MS);
    },
  );
});

describe('journal entries', () => {
  ledgerTest('the journal has for a correction the funds as they were before the correction', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(1_000)) });
    const reservation = await spent(opened, 80);
    await opened.store.flush();
    // The limit differs, so the fund gets a new row, which must open with the amount before the correction.
    await reload(opened, budget(900));
    await adjust(folder.file, { kind: 'correct', amount: -50, reservation });
    await opened.ledger.refresh();
    expect(await fundsOf(opened)).toEqual([['all', '', 900, 30, 0]]);
    await opened.ledger.close();
    const sql = 'SELECT most, opening FROM funds ORDER BY id';
    expect(await opened.store.query({ sql })).toEqual([
      { most: 1_000, opening: 0 },
      { most: 900, opening: 80 },
    ]);
    await opened.store.close();
    expect(await findingsOf(folder.file)).toEqual([]);
  });

  ledgerTest(
    'the journal has every charged attempt when a crash is closed: only the rest of the hold is charged then',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(1_000)) });
      const hold = await held(opened.ledger, order(100));
      for (const cost of [20, 30, 10]) hold.post(line(cost));
      await opened.store.close();
      const again = await folder.open({ terms: terms(budget(1_000)) });
      expect(again.ledger.recovered).toEqual({ ids: [hold.id], charged: 40, held: 40 });
      expect(await fundsOf(again)).toEqual([['all', '', 1_000, 100, 0]]);
    },
  );
});
