import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AskedAddOns } from '../../../src/core/money/add-ons.ts';
import { costBound, costOf, coversAll, outputWithin, type Price, priceLine } from '../../../src/core/money/price.ts';
import { ASKED_UNITS, UNITS } from '../../../src/core/money/units.ts';
import type { Usage } from '../../../src/core/money/usage.ts';
import { tries } from '../../deep/effort.ts';
import { anyLine, anyShares, changedLine, dividedUsage } from '../../support/money.ts';

const rate = fc.integer({ min: 0, max: 60_000 });
const dear = fc.oneof(rate, fc.constant(900_000));
const share = fc.double({ min: 0, max: 1, noNaN: true });

const prices: fc.Arbitrary<Price> = fc
  .record({
    lines: fc.array(fc.record({ line: anyLine(rate, fc.nat(1_000_000)), asked: dear }), { minLength: 1, maxLength: 2 }),
    search: fc.nat(20_000_000),
    divisor: fc.constantFrom(1, 7, 1_000),
  })
  .map(({ lines, search, divisor }) => {
    const [first, ...rest] = lines.map(({ line, asked }, at) => {
      const rates = Object.fromEntries(ASKED_UNITS.map((unit) => [unit, asked]));
      return changedLine(line, { ...rates, 'tool_use/web_search': search }, at * 5_000);
    });
    return { lines: [first!, ...rest], divisor };
  });

/** What a request allows, and what its provider then reports within these limits. */
const bills = fc
  .record({
    units: fc.subarray([...ASKED_UNITS]),
    searches: fc.nat(9),
    input: fc.nat(20_000),
    output: fc.nat(4_000),
    shares: anyShares,
    used: share,
  })
  .map(({ units, searches, input, output, shares, used }) => {
    const divided = dividedUsage(input, output, shares, (unit) => !UNITS[unit].asked || units.includes(unit));
    const usage: Usage = {
      ...divided,
      units: { ...divided.units, 'tool_use/web_search': Math.floor(used * searches) },
    };
    const asked: AskedAddOns = { units, toolUses: { web_search: searches }, rereadings: searches, unpriced: [] };
    return { usage, asked };
  });

const boundLaw = (bound: typeof costBound) =>
  fc.property(prices, bills, ({ ...price }, { usage, asked }) => {
    expect(costOf(price, usage)).toBeLessThanOrEqual(bound({ price }, usage.inputTokens, usage.outputTokens, asked));
  });

const withinLaw = (within: typeof outputWithin) =>
  fc.property(prices, bills, fc.nat(2_000_000_000), (price, { usage, asked }, amount) => {
    const output = within({ price }, usage.inputTokens, amount, asked);
    if (output >= 0 && output < Number.MAX_SAFE_INTEGER)
      expect(costBound({ price }, usage.inputTokens, output, asked)).toBeLessThanOrEqual(amount);
    if (output < Number.MAX_SAFE_INTEGER)
      expect(costBound({ price }, usage.inputTokens, output + 1, asked)).toBeGreaterThan(amount);
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
      costBound(price, input, output, asked && { ...asked, units: [] }),
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
  const none: AskedAddOns = { units: [], toolUses: {}, rereadings: 0, unpriced: [] };
  const priced = (more: Readonly<Record<string, number>> = {}): Price => ({
    lines: [priceLine(0, { input: 1, output: 1, ...more })],
    divisor: 1,
  });

  test('a price covers a request only if it has a price for everything that the request needs', () => {
    expect(coversAll({ price: priced() }, none)).toBe(true);
    for (const unit of ASKED_UNITS) {
      expect(coversAll({ price: priced() }, { ...none, units: [unit] })).toBe(false);
      expect(coversAll({ price: priced({ [unit]: 2 }) }, { ...none, units: [unit] })).toBe(true);
    }
    expect(coversAll({ price: priced() }, { ...none, toolUses: { web_search: 1 } })).toBe(false);
    expect(coversAll({ price: priced({ 'tool_use/web_search': 0 }) }, { ...none, toolUses: { web_search: 1 } })).toBe(
      true,
    );
    expect(coversAll({ price: priced() }, { ...none, unpriced: ['service_tier'] })).toBe(false);
  });
});
