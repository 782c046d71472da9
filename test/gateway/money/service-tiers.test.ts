import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openHeldSum, settle } from '../../../src/core/accounting/held-sum.ts';
import type { AskedAddOns } from '../../../src/core/money/add-ons.ts';
import { billedPrice } from '../../../src/core/money/billed-price.ts';
import { costBound, costOf, coversAll, outputWithin, type Price, type Priced } from '../../../src/core/money/price.ts';
import { askedTier, pricedTier, servedTier } from '../../../src/core/money/service-tier.ts';
import { effort } from '../../deep/effort.ts';
import { anyLine, anyShares, changedLine, dividedUsage, type Shares } from '../../support/money.ts';

/**
 * The law of service tiers: if a fund pays, the hold covers each tier that the provider may bill for the request, and no other tier costs the
 * caller more than the hold.
 */
const { runs, seed } = effort('service-tiers', 400, 100_000);

const NAMES = ['flex', 'priority', 'fast', 'ultrafast'] as const;
const rate = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 90_000 }));
const plainPrice: fc.Arbitrary<Price> = fc
  .record({
    lines: fc.array(anyLine(rate, fc.constant(0)), { minLength: 1, maxLength: 2 }),
    edge: fc.integer({ min: 1, max: 400 }),
    divisor: fc.constantFrom(1, 7, 1000),
  })
  .map(({ lines: [first, second], edge, divisor }) => ({
    lines: [first!, ...(second ? [changedLine(second, {}, edge)] : [])],
    divisor,
  }));
const prices: fc.Arbitrary<Price> = fc
  .tuple(plainPrice, fc.dictionary(fc.constantFrom(...NAMES), plainPrice, { minKeys: 1, maxKeys: 3 }))
  .map(([price, tiers]) => ({
    ...price,
    tiers: Object.fromEntries(Object.entries(tiers).map(([tier, own]) => [tier, { ...own, tier }])),
  }));

interface Served {
  /** The price at the start, and the one that may apply before the end. */
  readonly price: Price;
  readonly later: Price;
  /** Whether the price changes before the answer ends, and which moment counts. */
  readonly changes: boolean;
  readonly billedAt: 'start' | 'end' | null;
  readonly input: number;
  readonly output: number;
  /** The tier that the request states; undefined for none. A fund pays only for a tier that has a price. */
  readonly asked: string | undefined;
  /** The tier that the answer states; null for none. */
  readonly stated: string | null;
  readonly used: { readonly input: number; readonly output: number; readonly parts: Shares };
}

const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
/** @param others whether the answer may state any tier */
const requests = (others: boolean): fc.Arbitrary<Served> =>
  fc
    .record({
      price: prices,
      later: prices,
      changes: fc.boolean(),
      billedAt: fc.constantFrom('start', 'end', null),
      input: fc.nat(600),
      output: fc.nat(600),
      asked: fc.constantFrom(undefined, 'default', ...NAMES),
      statesAsked: fc.boolean(),
      stated: others
        ? fc.constantFrom<string | null>(...NAMES, 'scale', '<?>')
        : fc.constantFrom<string | null>(null, 'default', 'standard', 'on_demand', 'auto'),
      used: fc.record({ input: share, output: share, parts: anyShares }),
    })
    .filter((request) => coversAll(pricesOf(request), addOnsOf(request.asked)))
    .map(({ statesAsked, asked, stated, ...rest }) => ({
      ...rest,
      asked,
      stated: statesAsked && asked !== undefined ? asked : stated,
    }));

const pricesOf = ({ price, later }: Pick<Served, 'price' | 'later'>): Priced => ({ price, nextPrices: [later] });
const addOnsOf = (asked: string | undefined): AskedAddOns => {
  const tier = pricedTier(askedTier(asked));
  return { ...(tier !== undefined && { tier }), units: [], toolUses: {}, rereadings: 0, unpriced: [] };
};

type Hold = (request: Served) => number;
const hold: Hold = (request) => costBound(pricesOf(request), request.input, request.output, addOnsOf(request.asked));

const END_MS = 1_000;

function costIn({ price, later, changes, billedAt, input, output, asked, stated, used }: Served): number {
  const usage = dividedUsage(Math.floor(used.input * input), Math.floor(used.output * output), used.parts);
  const tier = { asked: askedTier(asked) ?? null, served: stated === null ? null : servedTier(stated) };
  const end = { untilMs: Number.POSITIVE_INFINITY, price: later, hours: [] };
  const periods = [{ untilMs: changes ? END_MS : END_MS + 1, price, hours: [] }, end];
  return costOf(billedPrice({ periods, billedAt }, usage, { startMs: 0, endMs: END_MS }, tier).price, usage);
}

const covers = (holdOf: Hold) =>
  fc.property(requests(false), (request) => expect(costIn(request)).toBeLessThanOrEqual(holdOf(request)));

describe('if a fund pays for a request', () => {
  test('the hold covers the requested tier, the default one, and an answer without a tier', () => {
    fc.assert(covers(hold), { numRuns: runs, seed });
  });

  test('any other tier costs the caller at most the hold, and the operator pays the rest', () => {
    let dearer = 0;
    const law = fc.property(requests(true), (request) => {
      const [held, cost] = [hold(request), costIn(request)];
      const { charged, excess } = settle(openHeldSum(held, null), cost);
      expect(charged).toBe(Math.min(held, cost));
      expect(charged + excess).toBe(cost);
      if (excess > 0) dearer++;
    });
    fc.assert(law, { numRuns: runs, seed });
    expect(dearer).toBeGreaterThan(0);
  });

  test('the output that an amount pays for is the most whose hold is within it', () => {
    const law = fc.property(requests(false), fc.nat(20_000_000), (request, amount) => {
      const most = outputWithin(pricesOf(request), request.input, amount, addOnsOf(request.asked));
      const holdOf = (output: number) => hold({ ...request, output });
      if (most >= 0) expect(holdOf(Math.min(most, 1e6))).toBeLessThanOrEqual(amount);
      if (most < 1e6) expect(holdOf(most + 1)).toBeGreaterThan(amount);
    });
    fc.assert(law, { numRuns: runs, seed });
  });

  test.each<[string, Hold]>([
    ['only the default price', (request) => costBound(pricesOf(request), request.input, request.output)],
    [
      'only the price of the requested tier',
      ({ price, later, input, output, asked = '' }) => {
        const ofTier = (one: Price) => one.tiers?.[asked] ?? one;
        return costBound({ price: ofTier(price), nextPrices: [ofTier(later)] }, input, output);
      },
    ],
    [
      'only the price at the start',
      ({ price, input, output, asked }) => costBound({ price }, input, output, addOnsOf(asked)),
    ],
  ])('the law rejects a hold that covers %s', (_, mutant) => {
    expect(fc.check(covers(mutant), { numRuns: 2_000, seed, endOnFailure: true }).failed).toBe(true);
  });
});
