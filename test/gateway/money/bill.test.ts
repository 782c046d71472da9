import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type BillLine, billOf } from '../../../src/core/accounting/bill.ts';
import { costOf, type Price } from '../../../src/core/money/price.ts';
import type { Usage } from '../../../src/core/money/usage.ts';
import { tries } from '../../deep/effort.ts';

/** The law: the lines of a bill, rounded up once, add up to the charge for the same usage. */
const effort = tries('the lines of a bill are what is charged for the same usage', 400, 100_000);

const rate = fc.integer({ min: 0, max: 90_000 });
const line = fc.record({ input: rate, cachedInput: rate, cacheWrite: rate, hourCacheWrite: rate, output: rate });
const prices: fc.Arbitrary<Price> = fc
  .record({ low: line, high: line, edge: fc.integer({ min: 1, max: 400 }), perRequest: fc.constantFrom(0, 1, 70_000) })
  .chain(({ low, high, edge, perRequest }) =>
    fc.record({ search: rate, divisor: fc.constantFrom(1, 7, 1000) }).map(
      ({ search, divisor }): Price => ({
        lines: [
          { overInputTokens: 0, ...low },
          { overInputTokens: edge, ...high },
        ],
        perRequest,
        toolUses: { search },
        divisor,
      }),
    ),
  );
const tokens = fc.integer({ min: 0, max: 500 });
const usages: fc.Arbitrary<Usage> = fc
  .record({ plain: tokens, cached: tokens, written: tokens, output: tokens, uses: fc.integer({ min: 0, max: 9 }) })
  .chain(({ plain, cached, written, output, uses }) =>
    fc.integer({ min: 0, max: written }).map((hourCacheTokens) => ({
      inputTokens: plain + cached + written,
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      outputTokens: output,
      reasoningTokens: 0,
      ...((hourCacheTokens > 0 || uses > 0) && { addOns: { hourCacheTokens, toolUses: { search: uses } } }),
    })),
  );

type Bill = (price: Price, usage: Usage) => readonly BillLine[];

function lawOf(bill: Bill): fc.RunDetails<[Price, Usage]> {
  const holds = fc.property(prices, usages, (price, usage) => {
    const sum = bill(price, usage).reduce((all, { units, rate: each }) => all + BigInt(units) * BigInt(each), 0n);
    const divisor = BigInt(price.divisor);
    expect(Number((sum + divisor - 1n) / divisor)).toBe(costOf(price, usage));
  });
  return fc.check(holds, effort);
}

test('the lines of a bill add up to the charge', () => {
  const { failed, counterexample } = lawOf(billOf);
  expect(failed, `seed ${effort.seed}: ${JSON.stringify(counterexample)}`).toBe(false);
});

test('the law about bills catches a bill without its fee, and a bill whose cached tokens are too expensive', () => {
  const withoutFee: Bill = (price, usage) => billOf(price, usage).filter(({ item }) => item !== 'request');
  const dear: Bill = (price, usage) =>
    billOf(price, usage).map((one) => (one.item === 'cached_input' ? { ...one, rate: one.rate + 7_000 } : one));
  for (const mutant of [withoutFee, dear]) expect(lawOf(mutant).failed).toBe(true);
});
