import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { leftOf, openHeldSum, post, raise, settle } from '../../../src/core/accounting/held-sum.ts';
import { costBound, type Price, priceLine } from '../../../src/core/money/price.ts';
import { UNITS, type Unit } from '../../../src/core/money/units.ts';
import { plainUsage, type Usage } from '../../../src/core/money/usage.ts';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import { isRefusal } from '../../../src/routing/decide.ts';
import { worstCase } from '../../../src/routing/estimate.ts';
import { effort } from '../../deep/effort.ts';
import { facts, model, outcomeOf, snapshot } from '../../routing/build.ts';
import { profile } from '../../support/chat-body.ts';
import { anyLine, anyShares, changedLine, dividedUsage, partsOf, sumAnew } from '../../support/money.ts';

/**
 * The law: the worst case is really the worst. Whatever an upstream uses of a prompt and an output limit costs no more, at any price. This
 * test computes costs independently, in big integers.
 */
const { runs, seed, proved } = effort('overspend', 500, 500_000);

/**
 * Returns the cost of a usage in microcredits, computed from the definition: each token with the price of its kind, on the price line for
 * its input.
 */
function costAnew({ lines, divisor }: Price, usage: Usage): number {
  const line = lines.findLast(({ overInputTokens }, at) => at === 0 || usage.inputTokens > overInputTokens)!;
  return Number((sumAnew(line, usage) + BigInt(divisor) - 1n) / BigInt(divisor));
}

const rate = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 90_000 }));
/** Prices whose tiers may be cheaper than lower tiers, and whose parts of the input and output may be more expensive than the rest. */
const prices: fc.Arbitrary<Price> = fc
  .record({
    lines: fc.array(anyLine(rate, fc.constant(0)), { minLength: 1, maxLength: 3 }),
    edges: fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { minLength: 2, maxLength: 2 }),
    request: fc.constantFrom(0, 0, 1, 700_000),
    divisor: fc.constantFrom(1, 7, 1000),
  })
  .map(({ lines, edges, request, divisor }) => {
    const overs = [0, ...edges.sort((a, b) => a - b)];
    const [first, ...rest] = lines.map((line, at) => changedLine(line, { request }, overs[at]!));
    return { lines: [first!, ...rest], divisor };
  });

/** Shares of the largest possible usage: of input and output, and of their parts. */
const share = fc.oneof(fc.constantFrom(0, 1, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const shares = fc.record({ input: share, output: share, parts: anyShares });
type UsedShares = typeof shares extends fc.Arbitrary<infer T> ? T : never;

const usageOf = ({ input, output, parts }: UsedShares, inputMax: number, outputMax: number): Usage =>
  dividedUsage(Math.floor(input * inputMax), Math.floor(output * outputMax), parts);

type Bound = typeof costBound;

/** The law about a bound: no usage within the limits costs more. */
const lawOf = (bound: Bound) =>
  fc.property(
    prices,
    fc.nat(600),
    fc.nat(600),
    shares,
    (price, input, output, used) => costAnew(price, usageOf(used, input, output)) <= bound({ price }, input, output),
  );

describe('the upper bound of a cost', () => {
  test('the bound of a cost is never below the cost of tokens within it, and some tokens cost exactly the bound', () => {
    fc.assert(lawOf(costBound), { numRuns: runs, seed });
    const line = priceLine(0, { input: 3, cached_input: 1, cache_write: 5, output: 7, audio_output: 9, request: 11 });
    const plain: Price = { lines: [line], divisor: 2 };
    const all = { ...plainUsage(9, 4), units: { cache_write: 9, audio_output: 4 } };
    expect(costBound({ price: plain }, 9, 4)).toBe(costAnew(plain, all));
  });

  const all: readonly Unit[] = ['input', ...partsOf('input'), 'output', ...partsOf('output')];
  const dearest = (price: Price, input: number, kinds: readonly Unit[]) => {
    const lines = price.lines.filter(({ overInputTokens }, at) => at === 0 || input > overInputTokens);
    const most = (side: 'input' | 'output') =>
      Math.max(...lines.flatMap(({ rates }) => kinds.map((unit) => (UNITS[unit].side === side ? rates[unit]! : 0))));
    return { input: most('input'), output: most('output') };
  };
  const boundBy =
    (rates: (price: Price, input: number) => { input: number; output: number }, hasFee = true): Bound =>
    ({ price }, input, output) => {
      const found = rates(price, input);
      const sum = (hasFee ? price.lines[0].request : 0) + input * found.input + output * found.output;
      return Math.ceil(sum / price.divisor);
    };
  const only = (price: Price, at: number): Price => ({
    ...price,
    lines: [changedLine(price.lines.at(at)!, {}, 0)],
  });
  const lineAt = (price: Price, input: number) =>
    price.lines.findLastIndex(({ overInputTokens }, at) => at === 0 || input > overInputTokens);

  test('a bound that is computed independently is the same', () => {
    fc.assert(lawOf(boundBy((price, input) => dearest(price, input, all))), { numRuns: 2000, seed });
  });

  const mutants: Readonly<Record<string, Bound>> = {
    'only the first tier': boundBy((price, input) => dearest(only(price, 0), input, all)),
    'only the tier of the longest prompt': boundBy((price, input) =>
      dearest(only(price, lineAt(price, input)), input, all),
    ),
    ...Object.fromEntries(
      all.map((left) => [
        `no ${left}`,
        boundBy((price, input) =>
          dearest(
            price,
            input,
            all.filter((unit) => unit !== left),
          ),
        ),
      ]),
    ),
    'no fee for a request': boundBy((price, input) => dearest(price, input, all), false),
    'the output price of the first tier': boundBy((price, input) => ({
      ...dearest(price, input, all),
      output: price.lines[0].output,
    })),
    'rounding down': (price, input, output) => Math.max(0, costBound(price, input, output) - 1),
  };
  for (const [name, bound] of Object.entries(mutants)) {
    test(`the law catches a bound that counts ${name}`, () => {
      expect(fc.check(lawOf(bound), { numRuns: 5000, seed, endOnFailure: true }).failed).toBe(true);
    });
  }
});

const text = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'grapheme', maxLength: 40 }));
const image = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } };
const requests = fc.record({
  texts: fc.array(text, { minLength: 1, maxLength: 3 }),
  images: fc.constantFrom(0, 0, 1, 3),
  choices: fc.constantFrom(1, 1, 1, 4),
  outputTokensMax: fc.option(fc.integer({ min: 1, max: 600 }), { nil: null }),
  budget: fc.option(fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 90_000_000 })), {
    nil: null,
  }),
});
type Asked = typeof requests extends fc.Arbitrary<infer T> ? T : never;

const IMAGE_MAX = 300;
/** Two to eight endpoints, on one to four models. */
const catalogs = fc
  .array(fc.record({ first: prices, second: prices, q: fc.integer({ min: 1, max: 9 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((list) =>
    snapshot(
      list.map(({ first, second, q }, at) =>
        model(`m${at}`, {
          q: q / 10,
          endpoints: [
            { provider: 'p', upstream: 'u', regions: [], price: first },
            { provider: 'p', upstream: 'u', regions: [], price: second },
          ],
          imageTokensMax: IMAGE_MAX,
          maxOutput: 600,
          defaultMaxOutput: 300,
        }),
      ),
    ),
  );

/**
 * Returns the most tokens that any byte-level tokenizer and template can make of a request. The bound uses the request's text instead of
 * the facts.
 */
const promptMax = ({ texts, images }: Asked): number =>
  texts.reduce((sum, each) => sum + Buffer.byteLength(each) + 16, 16) + images * IMAGE_MAX;

function factsOf({ texts, images, choices, outputTokensMax, budget }: Asked) {
  const messages = texts.map((content, at) => ({
    role: 'user' as const,
    content: at > 0 ? content : [{ type: 'text' as const, text: content }, ...Array(images).fill(image)],
  }));
  const read = profile({ messages });
  const { inputTokens, inputTokensMax } = read;
  return facts({ inputTokens, inputTokensMax, images: read.images, choices, outputTokensMax, budget });
}

/** The attempts of a request and how each attempt ends. `beyond` is how many times more than possible its upstream reports. */
const plans = fc.array(fc.record({ used: shares, beyond: fc.constantFrom(1, 1, 1, 1, 3, 1e6) }), {
  minLength: 1,
  maxLength: 8,
});

const seen = { refused: 0, raised: 0, passedOver: 0, beyond: 0 };

type Worst = typeof worstCase;
type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never;

/** Leaves out the parts of a usage that need media which the request does not have: it never has audio. */
const possible = ({ parts, ...rest }: UsedShares, { images }: Asked): UsedShares => ({
  ...rest,
  parts: { ...parts, audio_input: 0, ...(images === 0 && { image_input: 0 }) },
});

/** Carries out a decision as an exchange does, one endpoint after the other. Each endpoint uses something. */
function play(from: PolicySnapshot, asked: Asked, plan: Plan, worst: Worst) {
  const known = factsOf(asked);
  const outcome = outcomeOf(from, known);
  if (isRefusal(outcome)) return null;
  const worsts = outcome.ranked.flatMap(({ model: at, endpoints, outputCap }) =>
    endpoints.map((each) => worst(from.models[at]!.endpoints[each]!, from.models[at]!, known, outputCap)),
  );
  // Throws if the amount is above the limit.
  let reservation = openHeldSum(Math.max(...worsts), asked.budget);
  let within = true;
  let overrun = 0;
  let cost = 0;
  const left = [...plan];
  for (const { model: at, endpoints, outputCap } of outcome.ranked) {
    for (const each of endpoints) {
      const step = left.shift();
      if (!step) break;
      const { price } = from.models[at]!.endpoints[each]!;
      const missing = worst({ price }, from.models[at]!, known, outputCap) - leftOf(reservation);
      const raised = missing > 0 ? raise(reservation, missing) : reservation;
      if (raised !== reservation) seen[raised ? 'raised' : 'passedOver']++;
      if (!raised) continue;
      const { used, beyond } = step;
      const usage = usageOf(possible(used, asked), promptMax(asked) * beyond, outputCap * asked.choices * beyond);
      const posted = post(raised, costAnew(price, usage));
      reservation = posted.next;
      overrun += posted.excess;
      cost += costAnew(price, usage);
      within &&= beyond === 1;
    }
  }
  return { charged: settle(reservation, null).next.charged, overrun, cost, within };
}

const lawOfRequests = (worst: Worst) =>
  fc.property(catalogs, requests, plans, (from, asked, plan) => {
    const played = play(from, asked, plan, worst);
    if (!played) return void seen.refused++;
    const { charged, overrun, cost, within } = played;
    expect(charged).toBeLessThanOrEqual(asked.budget ?? charged);
    expect(charged + overrun).toBe(cost);
    if (within) expect(overrun).toBe(0);
    else seen.beyond++;
  });

test('whatever upstreams report, a request never costs more than its budget_limit; usage within the bound never exceeds the hold', () => {
  fc.assert(lawOfRequests(worstCase), { numRuns: runs, seed });
  console.log('bounds:', JSON.stringify(seen));
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs / 100);
  proved('random prices, prompts, caps, limits and usages: no request above its limit, no overrun within the bound');
}, 3_600_000);

test('the rate of a medium counts only in requests that can have the medium', () => {
  const price: Price = {
    lines: [priceLine(0, { input: 1, image_input: 10, audio_input: 100, output: 0 })],
    divisor: 1,
  };
  const figures = {
    imageTokensMax: 0,
    audioTokensPerSecondMax: 0,
    pageTokensMax: 0,
    pagesMax: [{ request: 1, file: null }],
  };
  const one = model('m', {
    ...figures,
    contextWindow: 7,
    endpoints: [{ provider: 'p', upstream: 'u', regions: [], price }],
  });
  const rate = (stated: Parameters<typeof facts>[0]) =>
    worstCase({ price }, one, facts({ inputTokensMax: 7, ...stated }), 0) / 7;
  const tool = { units: [], toolUses: { search: 1 }, rereadings: 1, unpriced: [] };
  expect(rate({})).toBe(1);
  expect(rate({ images: 1 })).toBe(10);
  expect(rate({ pdfs: 1 })).toBe(10);
  expect(rate({ audioBytes: 1 })).toBe(100);
  expect(rate({ images: 1, audioBytes: 1 })).toBe(100);
  expect(rate({ unboundedMedia: 1, inputTokensMax: 0 })).toBeGreaterThan(10);
  expect(rate({ thread: { model: 'm', endpoints: [0], tokens: 7 } })).toBe(100);
  expect(rate({ addOns: { ...tool, rereadings: 0 } })).toBe(1);
  expect(rate({ addOns: tool })).toBe(2 * 100);
});

const forgetful: Readonly<Record<string, Worst>> = {
  'one choice alone': (price, one, known, cap) => worstCase(price, one, { ...known, choices: 1 }, cap),
  'no images': (price, one, known, cap) => worstCase(price, one, { ...known, images: 0 }, cap),
  'the expected prompt': (price, one, known, cap) =>
    worstCase(price, one, { ...known, inputTokensMax: known.inputTokens }, cap),
};
for (const [name, worst] of Object.entries(forgetful)) {
  test(`the law of the worst case detects a mutant that counts ${name}`, () => {
    expect(fc.check(lawOfRequests(worst), { numRuns: 2000, seed, endOnFailure: true }).failed).toBe(true);
  });
}
