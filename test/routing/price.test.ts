import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { limitFromCredits, toCredits } from '../../src/core/money/credits.ts';
import { type Decimal, parseDecimal } from '../../src/core/money/decimal.ts';
import { compilePrice, costBound, costOf, lineFor, outputWithin, type Price } from '../../src/core/money/price.ts';
import type { PartUnit, UnitKey } from '../../src/core/money/units.ts';
import { plainUsage, type Usage } from '../../src/core/money/usage.ts';
import { anyLine, anyShares, changedLine, dividedUsage, sumAnew } from '../support/money.ts';

const decimal = (text: string): Decimal => {
  const parsed = parseDecimal(text);
  if (!parsed) throw new Error(text);
  return parsed;
};

interface Line {
  readonly over: number;
  readonly input: string;
  readonly cached?: string;
  readonly write?: string;
  readonly output: string;
}

function compiled(lines: readonly [Line, ...Line[]], usdPerCredit = '0.001', perRequest?: string): Price {
  const [first, ...rest] = lines.map(({ over, input, cached, write, output }) => {
    const others = new Map<PartUnit, Decimal>();
    if (cached !== undefined) others.set('cached_input', decimal(cached));
    if (write !== undefined) others.set('cache_write', decimal(write));
    return { overInputTokens: over, input: decimal(input), output: decimal(output), others };
  });
  const fees = new Map<UnitKey, Decimal>(perRequest === undefined ? [] : [['request', decimal(perRequest)]]);
  return compilePrice({ lines: [first!, ...rest], fees }, decimal(usdPerCredit));
}

const flat = compiled([{ over: 0, input: '0.25', cached: '0.025', write: '0.3125', output: '2' }]);
const tiered = compiled([
  { over: 0, input: '2', cached: '0.2', write: '2.5', output: '12' },
  { over: 200_000, input: '4', cached: '0.4', write: '5', output: '18' },
]);

describe('a cost', () => {
  test('a cost is exact where doubles are not: 3 tokens at 0.1 are 0.3 millicredits', () => {
    const price = compiled([{ over: 0, input: '0.1', output: '0.7' }], '0.1');
    expect(costOf(price, plainUsage(3, 0))).toBe(3);
    expect(costOf(price, plainUsage(0, 10))).toBe(70);
  });

  test('is rounded up, once, at the end', () => {
    const price = compiled([{ over: 0, input: '0.0004', output: '0.0004' }], '1');
    expect(costOf(price, plainUsage(1, 1))).toBe(1);
    expect(costOf(price, plainUsage(1250, 1250))).toBe(1);
    expect(costOf(price, plainUsage(1250, 1251))).toBe(2);
    expect(costOf(price, plainUsage(0, 0))).toBe(0);
  });

  test('bills cached input, cache writes and the rest each at its own rate', () => {
    const usage: Usage = { ...plainUsage(1_000, 10), units: { cached_input: 600, cache_write: 100 } };
    expect(costOf(flat, usage)).toBe(300 * 250 + 600 * 25 + Math.ceil(100 * 312.5) + 10 * 2000);
  });

  test('a price uses a tier’s rates for all tokens once the input exceeds its threshold', () => {
    expect(costOf(tiered, plainUsage(200_000, 1))).toBe(200_000 * 2000 + 12_000);
    expect(costOf(tiered, plainUsage(200_001, 1))).toBe(200_001 * 4000 + 18_000);
    expect(lineFor(tiered, 0).input).toBe(lineFor(tiered, 200_000).input);
  });

  test('includes the fee per request, even without tokens', () => {
    expect(costOf(compiled([{ over: 0, input: '0', output: '0' }], '0.001', '0.005'), plainUsage(0, 0))).toBe(
      5_000_000,
    );
  });

  test('stays an integer at absurd sizes, and never wraps', () => {
    const dear = compiled([{ over: 0, input: '99999', output: '99999' }]);
    expect(costOf(dear, plainUsage(1_000_000_000, 1_000_000_000))).toBe(Number.MAX_SAFE_INTEGER);
    expect(costBound({ price: dear }, 10 ** 9, 10 ** 9)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('a cost that cannot be exact is refused when its price is compiled', () => {
    expect(() => compiled([{ over: 0, input: '0.12345678901234567', output: '99999' }])).toThrow(RangeError);
  });
});

const rate = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 2 ** 40 }));
const tokens = fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 0, max: 1_000_000_000 }));
const prices: fc.Arbitrary<Price> = fc
  .record({
    lines: fc.array(anyLine(rate), { minLength: 1, maxLength: 4 }),
    edges: fc.uniqueArray(fc.integer({ min: 1, max: 300_000 }), { minLength: 3, maxLength: 3 }),
    request: rate,
    divisor: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 2 ** 40 })),
  })
  .map(({ lines, edges, request, divisor }) => {
    const overs = [0, ...edges.sort((a, b) => a - b)];
    const [first, ...rest] = lines.map((line, at) => changedLine(line, { request }, overs[at]!));
    return { lines: [first!, ...rest], divisor };
  });

const usages = fc
  .record({ input: tokens, output: tokens, shares: anyShares, isPlain: fc.boolean() })
  .map(({ input, output, shares, isPlain }) =>
    isPlain ? plainUsage(input, output) : dividedUsage(input, output, shares),
  );

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** The cost according to its definition, calculated in big integers. */
function referenceCost({ lines, divisor }: Price, usage: Usage): number {
  const billed = lines
    .filter(({ overInputTokens }) => overInputTokens === 0 || overInputTokens < usage.inputTokens)
    .at(-1)!;
  const total = sumAnew(billed, usage);
  const cost = total / BigInt(divisor) + (total % BigInt(divisor) > 0n ? 1n : 0n);
  return Number(cost > SAFE_MAX ? SAFE_MAX : cost);
}

describe('for any price', () => {
  test('a cost equals its computation in big integers', () => {
    fc.assert(
      fc.property(prices, usages, (price, usage) => {
        expect(costOf(price, usage)).toBe(referenceCost(price, usage));
      }),
      { numRuns: 2000 },
    );
  });

  test('no usage within the bounds costs more than the bound, however much is cached', () => {
    fc.assert(
      fc.property(prices, usages, fc.nat(1000), fc.nat(1000), (price, usage, input, output) => {
        const bound = costBound({ price }, usage.inputTokens + input, usage.outputTokens + output);
        expect(costOf(price, usage)).toBeLessThanOrEqual(bound);
      }),
      { numRuns: 2000 },
    );
  });

  test('the output within an amount is the largest that fits', () => {
    const amount = fc.oneof(tokens, fc.integer({ min: 0, max: 2 ** 50 }));
    fc.assert(
      fc.property(prices, tokens, amount, (price, input, credits) => {
        const output = outputWithin({ price }, input, credits);
        if (output < 0) return costBound({ price }, input, 0) > credits;
        if (output === Number.MAX_SAFE_INTEGER) return costBound({ price }, input, 10 ** 9) <= credits;
        return costBound({ price }, input, output) <= credits && costBound({ price }, input, output + 1) > credits;
      }),
      { numRuns: 2000 },
    );
  });

  test('the bound of an output is enough for it', () => {
    fc.assert(
      fc.property(prices, tokens, tokens, (price, input, output) => {
        const bound = costBound({ price }, input, output);
        return bound === Number.MAX_SAFE_INTEGER || outputWithin({ price }, input, bound) >= output;
      }),
      { numRuns: 2000 },
    );
  });

  test('a compiled price costs exactly as much as its list price', () => {
    const usd = fc
      .tuple(fc.integer({ min: 0, max: 99_999 }), fc.integer({ min: 0, max: 9999 }))
      .map(([a, b]) => `${a}.${String(b).padStart(4, '0')}`);
    const credit = fc.constantFrom('0.001', '1', '0.003', '0.07', '12');
    fc.assert(
      fc.property(usd, usd, credit, tokens, tokens, (input, output, usdPerCredit, inTokens, outTokens) => {
        const price = compiled([{ over: 0, input, output }], usdPerCredit);
        const scaled = (text: string) => {
          const { digits, scale } = decimal(text);
          return digits * 10n ** BigInt(4 - scale);
        };
        const total = scaled(input) * BigInt(inTokens) + scaled(output) * BigInt(outTokens);
        const divisor = scaled(usdPerCredit);
        const exact = (total + divisor - 1n) / divisor;
        expect(costOf(price, plainUsage(inTokens, outTokens))).toBe(Number(exact > SAFE_MAX ? SAFE_MAX : exact));
      }),
    );
  });
});

describe('a limit in Credits', () => {
  test('reads decimal digits: 0.000003 is three microcredits', () => {
    expect([0.000003, 0.000001, 0.1, 0.29, 1.1, 4.35, 1e-7, 123456.789012].map(limitFromCredits)).toEqual([
      3, 1, 100_000, 290_000, 1_100_000, 4_350_000, 0, 123_456_789_012,
    ]);
    expect(limitFromCredits(1e300)).toBe(Number.MAX_SAFE_INTEGER);
    expect(limitFromCredits(5e-324)).toBe(0);
  });

  test('round-trips every number of microcredits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 52 }), (amount) => limitFromCredits(toCredits(amount)) === amount),
      { numRuns: 5000 },
    );
  });

  test('is at most the number in its digits, and less than a microcredit below', () => {
    const credits = fc.oneof(
      fc.double({ min: 0, max: 10, noNaN: true }),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
      fc.integer({ min: 1, max: 2 ** 40 }).map((n) => n / 1e7),
    );
    fc.assert(
      fc.property(credits, (given) => {
        const text = /e-(\d+)$/.test(String(given)) ? given.toFixed(100) : String(given);
        const { digits, scale } = decimal(text);
        const exact = scale <= 6 ? digits * 10n ** BigInt(6 - scale) : digits / 10n ** BigInt(scale - 6);
        const limit = BigInt(limitFromCredits(given));
        // If a double is next to a whole number of microcredits, its digits count as that number.
        return limit === exact || (limit === exact + 1n && Number(limit) / 1e6 === given);
      }),
      { numRuns: 5000 },
    );
  });
});
