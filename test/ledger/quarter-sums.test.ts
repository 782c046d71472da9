import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { QUARTER_MS } from '../../src/core/accounting/window.ts';
import { QuarterSums } from '../../src/ledger/audit/memory.ts';

const charges = fc.array(fc.record({ quarter: fc.nat(9), amount: fc.integer({ min: -50, max: 100 }) }), {
  maxLength: 30,
});
type Charges = typeof charges extends fc.Arbitrary<infer Value> ? Value : never;

function sumsOf(all: Charges): QuarterSums {
  const sums = new QuarterSums();
  for (const { quarter, amount } of all) sums.add(quarter, amount);
  return sums;
}

test('the audit adds up the charges of a window in whatever order they are added', () => {
  fc.assert(
    fc.property(charges, charges, fc.nat(10), fc.nat(10), (own, others, from, to) => {
      const sums = sumsOf(own);
      sums.addAll(sumsOf(others));
      const within = [...own, ...others].filter(({ quarter }) => from <= quarter && quarter < to);
      const expected = within.reduce((sum, { amount }) => sum + amount, 0);
      expect(sums.within(from * QUARTER_MS, to * QUARTER_MS)).toBe(expected);
    }),
  );
});
