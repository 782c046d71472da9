import { describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import { auto } from '../../plugins/strategies/auto.ts';
import type { Estimate } from '../../src/core/decision/estimate.ts';
import type { ExplorePolicy } from '../../src/core/decision/exploration.ts';
import { createDecider, isRefusal } from '../../src/routing/decide.ts';
import { chancesOf, drawCandidate } from '../../src/routing/explore.ts';
import { facts, GENERAL, model, price, snapshot } from '../routing/build.ts';
import { type Candidate, candidates, rawWeights, type Trial, WORTH } from './generators.ts';

const seeds = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((bits) => bits.toString(16).padStart(16, '0'));
const share01 = fc.oneof(fc.constantFrom(0, 0.08, 1), fc.double({ min: 0, max: 1, noNaN: true }));
const policies: fc.Arbitrary<ExplorePolicy> = fc.record({
  share: share01,
  temperature: fc.constantFrom(0.001, 0.05, 1, 10),
  qualityMargin: share01,
});

/** Scores of any scale, some of them -Infinity. The best score is finite. */
const scored = fc
  .array(
    fc.record({
      q: fc.oneof(fc.constantFrom(0, 0.5, 0.7, 1), fc.double({ min: 0, max: 1, noNaN: true })),
      u: fc.oneof(
        { weight: 4, arbitrary: fc.double({ min: -1, max: 1, noNaN: true }) },
        fc.constantFrom(Number.NEGATIVE_INFINITY, -1e308, 0, 1e308),
      ),
    }),
    { minLength: 1, maxLength: 9 },
  )
  .filter((list) => list.some(({ u }) => Number.isFinite(u)))
  .map((list) => {
    const utility = Float64Array.from(list, ({ u }) => u);
    const best = utility.indexOf(Math.max(...utility));
    return { n: list.length, quality: Float64Array.from(list, ({ q }) => q), utility, best };
  });

type Chances = typeof chancesOf;

/** Computes the candidates and probabilities directly from their definition. */
const promised = (of: Chances) =>
  fc.property(scored, policies, ({ n, quality, utility, best }, policy) => {
    const { at, probability } = of(policy, { n, quality }, utility, best);
    const wanted = [...Array(n).keys()].filter((i) => Number.isFinite(utility[i]));
    const top = Math.max(...wanted.map((i) => quality[i]!));
    const expected = wanted.filter((i) => i === best || quality[i]! >= top - policy.qualityMargin);
    const sum = probability.reduce((all, one) => all + one, 0);
    const rest = expected.reduce((all, i) => all + Math.exp((utility[i]! - utility[best]!) / policy.temperature), 0);
    const isAsPromised = (one: number, i: number) => {
      const soft = Math.exp((utility[expected[i]!]! - utility[best]!) / policy.temperature) / rest;
      return Math.abs(one - ((1 - policy.share) * soft + policy.share / expected.length)) < 1e-12;
    };
    return Bun.deepEquals(at, expected) && Math.abs(sum - 1) < 1e-12 && probability.every(isAsPromised);
  });

describe('the probabilities of a random draw', () => {
  test('the probabilities of a random draw cover the candidates that the strategy accepts and that are good enough, follow utility, and add up to 1', () => {
    fc.assert(promised(chancesOf), { numRuns: 3000 });
  });

  const mutants: Readonly<Record<string, Chances>> = {
    'no margin': (policy, ...rest) => chancesOf({ ...policy, qualityMargin: 1 }, ...rest),
    'the best candidate left out if its quality is low': (policy, given, utility, best) => {
      const top = utility.map((u, i) => (Number.isFinite(u) ? given.quality[i]! : 0)).reduce((a, b) => Math.max(a, b));
      const { at, probability } = chancesOf(policy, given, utility, best);
      const kept = at.flatMap((one, i) => (given.quality[one]! >= top - policy.qualityMargin ? [i] : []));
      return { at: kept.map((i) => at[i]!), probability: kept.map((i) => probability[i]!) };
    },
    'exponents that are not relative to the best utility': (policy, given, utility, best) => {
      const { at } = chancesOf(policy, given, utility, best);
      const weights = at.map((i) => Math.exp(utility[i]! / policy.temperature));
      const sum = weights.reduce((all, one) => all + one, 0);
      return { at, probability: weights.map((one) => ((1 - policy.share) * one) / sum + policy.share / at.length) };
    },
    'candidates that the strategy excludes': (policy, given, utility, best) =>
      chancesOf(
        policy,
        given,
        utility.map((u) => (u === Number.NEGATIVE_INFINITY ? -1e308 : u)),
        best,
      ),
    'the share added on top': (policy, ...rest) => {
      const { at, probability } = chancesOf({ ...policy, share: 0 }, ...rest);
      return { at, probability: probability.map((one) => one + policy.share / at.length) };
    },
  };
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`the law of probabilities detects ${name}`, () => {
      expect(fc.check(promised(mutant), { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
    });
  }
});

describe('draws', () => {
  const policy: ExplorePolicy = { share: 0.1, temperature: 0.05, qualityMargin: 0.3 };
  const quality = Float64Array.of(0.9, 0.85, 0.8, 0.2, 0.7);
  const utility = Float64Array.of(0.5, 0.48, 0.45, 0.49, 0.3);
  const given = { n: 5, quality };
  const { at, probability } = chancesOf(policy, given, utility, 0);
  const N = 6000;
  /** Chi-squared quantile of 1 in 10,000 at 3 degrees of freedom. The seeds are fixed. */
  const LIMIT = 21.1;

  function chiSquare(seedOf: (i: number) => string, draw: (seed: string) => number): number {
    const counts = new Map(at.map((one) => [one, 0]));
    for (let i = 0; i < N; i++) {
      const drawn = draw(seedOf(i));
      counts.set(drawn, (counts.get(drawn) ?? Number.NaN) + 1);
    }
    return at.reduce((all, one, i) => all + (counts.get(one)! - N * probability[i]!) ** 2 / (N * probability[i]!), 0);
  }

  const draw = (seed: string) => drawCandidate(seed, policy, given, utility, 0)!.at;
  const hex = (bits: bigint) => bits.toString(16).padStart(16, '0');
  const families: Readonly<Record<string, (i: number) => string>> = {
    'consecutive seeds': (i) => hex(BigInt(i)),
    'seeds that differ only in their first digits': (i) => hex(BigInt(i) << 48n),
    'seeds far apart': (i) => hex(BigInt.asUintN(64, BigInt(i) * 0x9e3779b97f4a7c15n)),
  };
  for (const [name, seedOf] of Object.entries(families)) {
    test(`draws occur as often as their probabilities say, for ${name}`, () => {
      expect(chiSquare(seedOf, draw)).toBeLessThan(LIMIT);
    });
  }

  test('the law of draws detects an unmixed seed, and a draw that ignores utilities', () => {
    const unmixed = (seed: string) => {
      const number = Number(BigInt(`0x${seed}`)) / 2 ** 64;
      let sum = 0;
      return at.find((_, i) => {
        sum += probability[i]!;
        return number < sum;
      })!;
    };
    const even = (seed: string) => drawCandidate(seed, { ...policy, share: 1 }, given, utility, 0)!.at;
    expect(chiSquare(families['consecutive seeds']!, unmixed)).toBeGreaterThan(LIMIT);
    expect(chiSquare(families['consecutive seeds']!, even)).toBeGreaterThan(LIMIT);
  });

  test('draws need two candidates, and report their probability', () => {
    expect(drawCandidate('0', { ...policy, qualityMargin: 0 }, given, utility, 0)).toBeNull();
    const one = drawCandidate('00000000deadbeef', policy, given, utility, 0)!;
    expect(one).toEqual({ at: one.at, among: 4, probability: probability[at.indexOf(one.at)]! });
  });

  test('draws stay within bounds with thousands of candidates', () => {
    const n = 5000;
    const many = { n, quality: new Float64Array(n).fill(0.5) };
    const scores = Float64Array.from({ length: n }, (_, i) => -i * 1e300);
    const { probability: chances } = chancesOf(policy, many, scores, 0);
    expect(chances.reduce((all, one) => all + one, 0)).toBeCloseTo(1, 9);
    for (let i = 0; i < 50; i++) expect(drawCandidate(hex(BigInt(i)), policy, many, scores, 0)!.among).toBe(n);
  });
});

interface World extends Pick<Trial, 'candidates' | 'reference' | 'options'> {
  readonly declared: readonly number[];
  readonly alternatives: number;
}

const worlds: fc.Arbitrary<World> = fc.record({
  candidates,
  reference: fc.constantFrom(0.01, 1, 30),
  options: rawWeights,
  declared: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 9, maxLength: 9 }),
  alternatives: fc.constantFrom(0, 1, 3, 9),
});

/** Makes a catalog with these declared qualities and the candidates' other figures, and returns the host's decision over it. */
function decided(
  world: World,
  declared: (one: Candidate, at: number) => number,
  given: { seed: string; explore?: ExplorePolicy | null; estimate?: Estimate | null },
) {
  const ordered = [...world.candidates].sort((a, b) => (a.id < b.id ? -1 : 1));
  const models = ordered.map((one, at) =>
    model(one.id, {
      q: declared(one, at),
      cost: price(0, 0, { perRequest: one.c }),
      latency: { ttftMs: one.l, outputTokensPerSecond: Number.POSITIVE_INFINITY },
    }),
  );
  const from = snapshot(models, {
    gateway: { ...snapshot(models).gateway, alternatives: world.alternatives },
    tasks: [{ ...GENERAL, expectedOutputTokens: 1 }],
    referencePrice: { input: 0, output: world.reference * 1e6 },
    answerWorth: WORTH,
  });
  const strategy = auto.prepare(Value.Default(auto.options, { ...world.options }) as never);
  const outcome = createDecider(from).decide(facts(), { id: 1, reason: 'auto', strategy, ...given });
  if (isRefusal(outcome)) throw new Error('refused');
  return outcome;
}

const estimateOf = (world: World): Estimate => {
  const ordered = [...world.candidates].sort((a, b) => (a.id < b.id ? -1 : 1));
  const quality = Float64Array.from(ordered, ({ q }) => q);
  return { quality, length: 0 };
};

describe('a ranking by estimates', () => {
  const holds = (estimate: (world: World) => Estimate | null) =>
    fc.property(worlds, seeds, (world, seed) => {
      const declared = decided(world, ({ q }) => q, { seed });
      const by = decided(world, (_, at) => world.declared[at]!, { seed, estimate: estimate(world) });
      return (
        Bun.deepEquals(by.ranked, declared.ranked) &&
        by.baseline === declared.baseline &&
        Bun.deepEquals(by.quality, declared.quality)
      );
    });

  test('a ranking by estimates equals, bit for bit, the ranking with the same figures declared, so that all laws of rankings hold', () => {
    fc.assert(holds(estimateOf), { numRuns: 800 });
  });

  const mutants: Readonly<Record<string, (world: World) => Estimate | null>> = {
    'what is declared': () => null,
    'the mean of both': (world) => {
      const estimate = estimateOf(world);
      return { ...estimate, quality: estimate.quality.map((q, at) => (q + world.declared[at]!) / 2) };
    },
  };
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`the law of rankings detects ${name}`, () => {
      expect(fc.check(holds(mutant), { numRuns: 800, endOnFailure: true }).failed).toBe(true);
    });
  }
});

describe('exploring', () => {
  type Explored = (world: World, seed: string, explore: ExplorePolicy | null) => ReturnType<typeof decided>;
  const real: Explored = (world, seed, explore) => decided(world, ({ q }) => q, { seed, explore });

  const holds = (of: Explored) =>
    fc.property(worlds, seeds, policies, (world, seed, explore) => {
      const plain = decided(world, ({ q }) => q, { seed });
      const full = decided({ ...world, alternatives: 9 }, ({ q }) => q, { seed }).ranked;
      const tried = of(world, seed, explore);
      const again = of(world, seed, explore);
      const [choice, ...fallbacks] = tried.ranked;
      const best = plain.ranked[0];
      const top = Math.max(...full.map(({ quality }) => quality));
      const isExplored = choice.model !== best.model;
      return (
        Bun.deepEquals(tried, again) &&
        tried.ranked.length === plain.ranked.length &&
        tried.reason === (isExplored ? 'auto:explored' : 'auto') &&
        (!isExplored || (tried.draw !== null && choice.quality >= top - explore.qualityMargin)) &&
        (tried.draw === null || (tried.draw.probability > 0 && tried.draw.among <= tried.eligible)) &&
        // The explored candidate moves to the front, and all other candidates keep their order.
        Bun.deepEquals(
          [choice, ...fallbacks],
          [
            full.find(({ model: one }) => one === choice.model),
            ...full.filter(({ model: one }) => one !== choice.model),
          ].slice(0, plain.ranked.length),
        ) &&
        Bun.deepEquals([tried.quality, tried.baseline, tried.eligible], [plain.quality, plain.baseline, plain.eligible])
      );
    });

  test('exploration moves one model that is good enough to the front, the same model for the same seed, and nothing else', () => {
    fc.assert(holds(real), { numRuns: 800 });
  });

  const mutants: Readonly<Record<string, Explored>> = {
    'a new draw each time': (() => {
      let next = 0n;
      return (world, _, explore) => real(world, (next++).toString(16), explore);
    })(),
    'a draw among all': (world, seed, explore) => real(world, seed, explore && { ...explore, qualityMargin: 1 }),
    'fallbacks in the order of the draw': (world, seed, explore) => {
      const found = real(world, seed, explore);
      const [choice, ...rest] = found.ranked;
      return { ...found, ranked: [choice, ...rest.reverse()] };
    },
    'a choice that is not marked as drawn': (world, seed, explore) => ({
      ...real(world, seed, explore),
      reason: 'auto',
    }),
  };
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`the law of exploration detects ${name}`, () => {
      expect(fc.check(holds(mutant), { numRuns: 3000, endOnFailure: true }).failed).toBe(true);
    });
  }

  test('exploration changes no bit of a decision if the policy has no exploration settings', () => {
    fc.assert(
      fc.property(worlds, seeds, (world, seed) =>
        Bun.deepEquals(
          real(world, seed, null),
          decided(world, ({ q }) => q, { seed }),
        ),
      ),
      { numRuns: 300 },
    );
  });

  test('exploration draws no model if the strategy returned no usable score', () => {
    const from = snapshot([model('a', { q: 0.9 }), model('b', { q: 0.8 })]);
    const strategy = { reason: 'broken', score: () => {} };
    const explore = { share: 1, temperature: 1, qualityMargin: 1 };
    for (let i = 0; i < 20; i++) {
      const outcome = createDecider(from).decide(facts(), { id: 1, seed: `${i}`, reason: 'r', strategy, explore });
      expect(outcome).toMatchObject({ reason: 'r', draw: null, ranked: [{ model: 0 }, { model: 1 }] });
    }
  });
});
