import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type BillLine, BillWriter, readBill } from '../../../src/core/accounting/bill.ts';
import { costOf, type Price } from '../../../src/core/money/price.ts';
import { PART_UNITS } from '../../../src/core/money/units.ts';
import type { Usage } from '../../../src/core/money/usage.ts';
import { tries } from '../../deep/effort.ts';
import { anyLine, anyShares, changedLine, dividedUsage } from '../../support/money.ts';

/** The law: the lines of a stored bill, rounded up once, add up to the charge for the same usage. */
const effort = tries('the lines of a bill are what is charged for the same usage', 400, 100_000);

const rate = fc.integer({ min: 0, max: 90_000 });
const line = anyLine(rate, fc.constantFrom(0, 1, 70_000));
const prices: fc.Arbitrary<Price> = fc
  .record({
    ...{ low: line, high: line, edge: fc.integer({ min: 1, max: 400 }), search: rate },
    divisor: fc.constantFrom(1, 7, 1000),
  })
  .map(({ low, high, edge, search, divisor }) => {
    const fees = { 'tool_use/search': search };
    return { lines: [changedLine(low, fees), changedLine(high, fees, edge)], divisor };
  });
const tokens = fc.integer({ min: 0, max: 500 });
const usages: fc.Arbitrary<Usage> = fc
  .record({ input: tokens, output: tokens, shares: anyShares, uses: fc.nat(9), isPlain: fc.boolean() })
  .map(({ input, output, shares, uses, isPlain }) => {
    const divided = dividedUsage(input, output, shares, () => true);
    return { ...divided, units: isPlain ? undefined : { ...divided.units, 'tool_use/search': uses } };
  });

type Lines = (price: Price, usage: Usage) => readonly BillLine[];
const storedLines: Lines = (price, usage) => readBill(new BillWriter(price).text(usage))!.lines;

function lawOf(lines: Lines): fc.RunDetails<[Price, Usage]> {
  const holds = fc.property(prices, usages, (price, usage) => {
    const sum = lines(price, usage).reduce((all, one) => all + BigInt(one.amount) * BigInt(one.rate!), 0n);
    const divisor = BigInt(price.divisor);
    expect(Number((sum + divisor - 1n) / divisor)).toBe(costOf(price, usage));
  });
  return fc.check(holds, effort);
}

test('the lines of a stored bill add up to the charge', () => {
  const { failed, counterexample } = lawOf(storedLines);
  expect(failed, `seed ${effort.seed}: ${JSON.stringify(counterexample)}`).toBe(false);
});

test.each(['request', 'input', 'output', 'tool_use/search', ...PART_UNITS])(
  'the law about bills catches a bill that leaves out %s',
  (unit) => {
    const without: Lines = (price, usage) => storedLines(price, usage).filter((one) => one.unit !== unit);
    expect(lawOf(without).failed).toBe(true);
  },
);

test('a bill without a known price keeps the amounts', () => {
  const usage = { inputTokens: 9, outputTokens: 2, reasoningTokens: 1, units: { cached_input: 4, 'tool_use/"x"': 3 } };
  expect(readBill(new BillWriter(null).text(usage))).toEqual({
    ...{ input: 9, output: 2, reasoning: 1, over: null, divisor: null, tier: null, pricedAt: null },
    lines: [
      { unit: 'input', amount: 5, rate: null },
      { unit: 'output', amount: 2, rate: null },
      { unit: 'cached_input', amount: 4, rate: null },
      { unit: 'tool_use/"x"', amount: 3, rate: null },
    ],
  });
});
