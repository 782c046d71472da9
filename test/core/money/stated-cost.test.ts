import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { statedCredits, statedUsd } from '../../../src/core/money/stated-cost.ts';

describe('a cost that an answer states', () => {
  test.each([
    [[0.00012], '0.00012'],
    [[1.2e-7], '0.00000012'],
    [[0], '0'],
    [[0.1, 0.2], '0.3'],
    [[{ ticks: 37_756_000 }], '0.0037756'],
    [['0.1', 0.000_001], '0.100001'],
    [[-0.1], undefined],
    [[0.1, -0.1], undefined],
    [[Number.NaN], undefined],
    [[Number.POSITIVE_INFINITY], undefined],
    [['much'], undefined],
  ] as const)('%j is %j in USD', (costs, usd) => {
    expect(statedUsd(costs)).toBe(usd);
  });

  test.each([
    ['0.00012', '0.001', 120_000],
    ['0.00000012', '0.001', 120],
    // A rate that no double has, and the nearest microcredit of a third.
    ['0.1', '0.3', 333_333],
    ['0.2', '0.3', 666_667],
    // More than any answer costs, though a number could hold it.
    ['100000', '0.001', 1e14],
    ['100000.000000001', '0.001', null],
    ['90071992547.40993', '0.00001', null],
    ['-1', '0.001', null],
    ['1e-200', '0.001', null],
  ])('%s USD at %s USD for a Credit are %j microcredits', (usd, usdPerCredit, microcredits) => {
    expect(statedCredits(usd, usdPerCredit)).toBe(microcredits);
  });

  test('every amount with a few digits is converted as it is written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: 9 }), (digits, scale) => {
        const usd = statedUsd([Number(`${digits}e-${scale}`)]);
        expect(usd && statedCredits(usd, '0.001')).toBe(digits * 10 ** (9 - scale));
      }),
    );
  });
});
