import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type FundUse, pageOfFunds } from '../../../src/admin/use-cases/ledger/fund-pages.ts';

const DAY = 86_400_000;
const NOON = DAY / 2;

const fund = (name: string, subject: string, spent: number, limit: number): FundUse => ({
  title: { kind: 'budget', name, subject, definition: name, window: 'day', starts: 0, ends: DAY },
  ...{ limit, spent, held: 0 },
  holds: { open: 0, oldestAt: 0 },
  recent: null,
  refusal: null,
});
const namesIn = (funds: readonly FundUse[]): string[] => funds.map(({ title }) => title.name);

test('the list of budgets begins with the budget that runs out first, even if others are used up more', () => {
  const funds = [
    fund('full by night', '', 90, 100),
    fund('within', '', 40, 100),
    fund('unused', '', 0, 100),
    fund('spent', '', 100, 100),
    fund('full at two', '', 60, 70),
    fund('most within', '', 49, 100),
  ];
  const total = fund('spent for ever', '', 100, 100);
  funds.push({ ...total, title: { ...total.title, window: 'total', ends: Number.POSITIVE_INFINITY } });
  const { funds: page } = pageOfFunds(funds, { limit: 10, after: null }, NOON, (use) => use);
  expect(namesIn(page)).toEqual([
    'spent',
    'spent for ever',
    'full by night',
    'full at two',
    'most within',
    'within',
    'unused',
  ]);
});

type Page = ReturnType<typeof pageOfFunds<FundUse>>;

test('the pages of funds contain each fund once, in the overall order, even if the clock advances between pages', () => {
  // Use few names, so that several funds have the same rank.
  const some = fc.array(
    fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('', 'app'), fc.nat(3), fc.integer({ min: 1, max: 4 })),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 7 }), fc.nat(DAY / 10), (rows, limit, step) => {
      const funds = rows.map((row) => fund(...row));
      const whole = pageOfFunds(funds, { limit: 1_000, after: null }, NOON, (use) => use);
      expect(whole).toMatchObject({ hasMore: false, nextAfter: null });
      const found: FundUse[] = [];
      let after: string | null = null;
      let now = NOON;
      do {
        const page: Page = pageOfFunds(funds, { limit, after }, now, (use) => use);
        found.push(...page.funds);
        expect(page.hasMore).toBe(page.nextAfter !== null);
        after = page.nextAfter;
        now += step;
      } while (after !== null);
      expect<readonly FundUse[]>(found).toEqual(whole.funds);
      expect(new Set(found).size).toBe(rows.length);
    }),
    { seed: 47, numRuns: 300 },
  );
});

test('a cursor that no page returned is refused', () => {
  for (const after of ['', 'x', Buffer.from('[1]').toString('base64url')]) {
    expect(() => pageOfFunds([], { limit: 1, after }, NOON, (use) => use)).toThrow('next_after');
  }
});

test('the server sorts twenty thousand budgets within one request', () => {
  const funds = Array.from({ length: 20_000 }, (_, at) => fund('user-day', `user_${at}`, at % 97, 60 + (at % 11)));
  const { funds: page } = pageOfFunds(funds, { limit: 1_000, after: null }, NOON, (use) => use);
  expect(page).toHaveLength(1_000);
});
