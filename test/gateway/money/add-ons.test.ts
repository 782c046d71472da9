import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AskedAddOns } from '../../../src/core/money/add-ons.ts';
import { costBound, costOf, coversAll, outputWithin, type Price } from '../../../src/core/money/price.ts';
import type { Usage } from '../../../src/core/money/usage.ts';
import { tries } from '../../deep/effort.ts';

const rate = fc.integer({ min: 0, max: 60_000 });
const dear = fc.oneof(rate, fc.constant(900_000));
const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));

const prices: fc.Arbitrary<Price> = fc
  .record({
    lines: fc.array(
      fc.record({ input: rate, cachedInput: rate, cacheWrite: rate, hourCacheWrite: dear, output: rate }),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
    perRequest: fc.nat(1_000_000),
    search: fc.nat(20_000_000),
    divisor: fc.constantFrom(1, 7, 1_000),
  })
  .map(({ lines: [first, ...rest], search, ...price }) => ({
    ...price,
    lines: [{ ...first!, overInputTokens: 0 }, ...rest.map((line) => ({ ...line, overInputTokens: 5_000 }))],
    toolUses: { web_search: search },
  }));

/** The add-ons that a request allows, and what its provider then reports within these limits. */
const bills = fc
  .record({
    hourCache: fc.boolean(),
    searches: fc.nat(9),
    input: fc.nat(20_000),
    output: fc.nat(4_000),
    shares: fc.tuple(share, share),
    hour: share,
    used: share,
  })
  .map(({ hourCache, searches, input, output, shares: [cached, written], hour, used }) => {
    const cachedInputTokens = Math.floor(cached * input);
    const cacheWriteTokens = Math.floor(written * (input - cachedInputTokens));
    const hourCacheTokens = hourCache ? Math.floor(hour * cacheWriteTokens) : 0;
    const addOns = { hourCacheTokens, toolUses: { web_search: Math.floor(used * searches) } };
    const usage: Usage = {
      ...{ inputTokens: input, cachedInputTokens, cacheWriteTokens, outputTokens: output, reasoningTokens: 0 },
      addOns,
    };
    const asked: AskedAddOns = { hourCache, toolUses: { web_search: searches }, rereadings: searches, unpriced: [] };
    return { usage, asked };
  });

const boundLaw = (bound: typeof costBound) =>
  fc.property(prices, bills, ({ ...price }, { usage, asked }) => {
    expect(costOf(price, usage)).toBeLessThanOrEqual(bound(price, usage.inputTokens, usage.outputTokens, asked));
  });

const withinLaw = (within: typeof outputWithin) =>
  fc.property(prices, bills, fc.nat(2_000_000_000), (price, { usage, asked }, amount) => {
    const output = within(price, usage.inputTokens, amount, asked);
    if (output >= 0 && output < Number.MAX_SAFE_INTEGER)
      expect(costBound(price, usage.inputTokens, output, asked)).toBeLessThanOrEqual(amount);
    if (output < Number.MAX_SAFE_INTEGER)
      expect(costBound(price, usage.inputTokens, output + 1, asked)).toBeGreaterThan(amount);
  });

describe('the add-ons of a request that a provider bills in addition to tokens', () => {
  test('add-ons never cost more than their bound', () => {
    fc.assert(boundLaw(costBound), tries('add-ons stay within the bound', 1_000, 40_000));
  });

  test('add-ons leave exactly as much output as the amount pays for', () => {
    fc.assert(withinLaw(outputWithin), tries('add-ons leave what output is paid', 1_000, 40_000));
  });

  const bounds: Readonly<Record<string, typeof costBound>> = {
    'without the fees of tools': (price, input, output, asked) =>
      costBound(price, input, output, asked && { ...asked, toolUses: {} }),
    'at the price of five minutes': (price, input, output, asked) =>
      costBound(price, input, output, asked && { ...asked, hourCache: false }),
  };
  test.each(Object.entries(bounds))('the law about add-ons catches a bound %s', (_, mutant) => {
    expect(fc.check(boundLaw(mutant), { numRuns: 4_000, endOnFailure: true }).failed).toBe(true);
  });

  test('the law about add-ons catches an output that ignores the fees', () => {
    const mutant: typeof outputWithin = (price, input, amount, asked) =>
      outputWithin(price, input, amount, asked && { ...asked, toolUses: {} });
    expect(fc.check(withinLaw(mutant), { numRuns: 4_000, endOnFailure: true }).failed).toBe(true);
  });
});

describe('whether a price covers a request', () => {
  const none: AskedAddOns = { hourCache: false, toolUses: {}, rereadings: 0, unpriced: [] };
  const line = { overInputTokens: 0, input: 1, cachedInput: 1, cacheWrite: 1, output: 1 };
  const bare: Price = { lines: [line], perRequest: 0, divisor: 1 };

  test('a price covers a request only if it has a price for everything that the request needs', () => {
    expect(coversAll(bare, none)).toBe(true);
    expect(coversAll(bare, { ...none, hourCache: true })).toBe(false);
    expect(coversAll({ ...bare, lines: [{ ...line, hourCacheWrite: 2 }] }, { ...none, hourCache: true })).toBe(true);
    expect(coversAll(bare, { ...none, toolUses: { web_search: 1 } })).toBe(false);
    expect(coversAll({ ...bare, toolUses: { web_search: 0 } }, { ...none, toolUses: { web_search: 1 } })).toBe(true);
    expect(coversAll(bare, { ...none, unpriced: ['service_tier'] })).toBe(false);
  });
});
