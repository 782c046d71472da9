import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Fund, fit, hold, isBlocked, release } from '../../src/core/accounting/fund.ts';
import { isShortage } from '../../src/ledger/available-funds.ts';
import { tries } from '../deep/effort.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, line, order, refused, terms } from './support.ts';

/** Longer than any test takes, ms. */
const LONG = 20_000;
const purse = (onExhausted: 'cap' | 'reject' = 'cap') => ({ terms: terms(budget(100, { onExhausted })) });
/** A request whose worst case is higher than the budget. For this request, 30 microcredits are ample. */
const vast = (over: object = {}) => order(100, { whole: 500, least: 5, ample: 30, ...over });

describe('a request whose worst case is beyond a budget', () => {
  ledgerTest(
    'the first request holds half of the budget; later requests hold their ample amount while it is free',
    async (folder) => {
      const { ledger } = await folder.open(purse());
      expect((await held(ledger, vast())).reserved).toBe(50);
      expect((await held(ledger, vast())).reserved).toBe(30);
      expect((await held(ledger, vast())).reserved).toBe(20);
      expect(await refused(ledger, vast())).toMatchObject({ why: 'contended', needed: 5 });
    },
  );

  ledgerTest('a request waits for its ample amount while open holds will still release it', async (folder) => {
    const { ledger } = await folder.open(purse());
    const [first, second] = [await held(ledger, vast()), await held(ledger, vast())];
    const third = ledger.reserve(vast({ waitMs: LONG }));
    await folder.turn();
    second.settle(line(5), () => []);
    const got = await third;
    expect(isShortage(got) ? got : got.reserved).toBe(30);
    first.settle(line(5), () => []);
  });

  ledgerTest('a request does not wait for its ample amount if no other request holds money', async (folder) => {
    const { ledger } = await folder.open(purse());
    (await held(ledger, order(80))).settle(line(80), () => []);
    expect((await held(ledger, vast({ waitMs: LONG }))).reserved).toBe(20);
  });

  ledgerTest(
    'after its wait, a request gets whatever is free, if that is at least its least amount',
    async (folder) => {
      const { ledger } = await folder.open(purse());
      await held(ledger, order(80));
      expect((await held(ledger, vast({ waitMs: 20 }))).reserved).toBe(20);
      expect(await refused(ledger, vast({ waitMs: 20 }))).toMatchObject({ why: 'contended', needed: 5 });
      expect(ledger.sample().waits).toEqual({ served: 1, gave_up: 1, crowded: 0 });
    },
  );

  ledgerTest('a budget with the action `reject` holds the whole amount or nothing', async (folder) => {
    const { ledger } = await folder.open(purse('reject'));
    expect((await held(ledger, vast())).reserved).toBe(100);
    expect(await refused(ledger, vast())).toMatchObject({ why: 'contended', needed: 100 });
  });
});

ledgerTest(
  'the ledger holds the whole worst case of a request if it fits into the budget, even if less is ample',
  async (folder) => {
    const { ledger } = await folder.open(purse());
    expect((await held(ledger, order(90, { least: 5, ample: 30 }))).reserved).toBe(90);
  },
);

/** A burst must run in parallel: next to the first request, eight more, or as many as half of the money pays ample holds for. */
function burstLaw(fitOf: typeof fit) {
  const sums = fc.record({ limit: fc.integer({ min: 1, max: 10_000 }), ample: fc.integer({ min: 1, max: 500 }) });
  return fc.property(sums, ({ limit, ample }) => {
    const title = { kind: 'budget', name: 'all', subject: '', definition: '', starts: 0, ends: 1 } as const;
    const fund = new Fund(title, limit, 0);
    const holds: number[] = [];
    for (;;) {
      const got = fitOf([fund], [limit + 1], 0, Math.min(ample, limit), ample);
      if (isBlocked(got)) break;
      hold([fund], got);
      holds.push(got);
    }
    // The first request leaves half of the money free. Each later request takes an eighth of the rest, until an eighth is less than the
    // ample amount.
    const half = Math.floor(limit / 2);
    if (half >= ample) expect(holds.length).toBeGreaterThanOrEqual(1 + Math.min(8, Math.floor(half / ample)));
    for (const got of holds.slice(1)) expect(got).toBeLessThanOrEqual(Math.max(ample, Math.ceil(limit / 16)));
    for (const got of holds) release([fund], got);
    expect(fund.free).toBe(limit);
  });
}

describe('a burst on one fund', () => {
  test('eight requests run in parallel to the first, or as many as half of the money pays ample holds for', () => {
    fc.assert(burstLaw(fit), tries('a burst on one fund runs side by side', 1_000, 20_000));
  });

  test('the law fails if the first request holds everything that is free', () => {
    const greedy: typeof fit = (funds, amounts, expected, least) => fit(funds, amounts, expected, least);
    expect(fc.check(burstLaw(greedy), { numRuns: 1_000, endOnFailure: true }).failed).toBe(true);
  });
});
