import { afterAll, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { StrategyPlugin } from '../../src/contract/strategy.ts';
import type { Decision } from '../../src/core/decision/decision.ts';
import { latency, quality } from '../../src/tools/conformance/candidates.ts';
import { tries } from '../deep/effort.ts';
import { decisionOf, facts, GENERAL, model, price, snapshot } from '../routing/build.ts';

/** A candidate of a strategy: ID, Q, C in microcredits and L in ms. */
export interface Candidate {
  readonly id: string;
  readonly q: number;
  readonly c: number;
  readonly l: number;
}

export interface Weights {
  readonly cost: number;
  readonly quality: number;
  readonly latency?: number;
}

/** All inputs of a ranking. */
export interface Trial {
  readonly candidates: readonly Candidate[];
  /** The reference of the request in Credits. */
  readonly reference: number;
  readonly weights: Weights | null;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Candidates with their utilities, best first. */
export type Ranking = readonly (Candidate & { readonly utility: number })[];
export type Ranker = (trial: Trial) => Ranking;

/** How many references a good answer is worth to `weighted`. */
export const WORTH = 20;

/** The tokens of each request, and what they cost at the prices of the reference, in USD. */
const INPUT_TOKENS = 500;
const REFERENCE_USD = (INPUT_TOKENS * 1 + 1 * 4) / 1_000_000;

/**
 * Ranks with the host's real code: a catalog whose estimates are exactly the candidates' figures (a fee per request, a first token after L,
 * output that takes no time), and `decide`.
 */
export function through(plugin: StrategyPlugin): Ranker {
  return (trial) => {
    const { ranked } = decideWith(plugin, trial);
    const ordered = [...trial.candidates].sort((a, b) => (a.id < b.id ? -1 : 1));
    return ranked.map((one) => ({ ...ordered[one.model]!, utility: one.utility }));
  };
}

export function decideWith(plugin: StrategyPlugin, trial: Trial): Decision {
  const models = trial.candidates.map(({ id, q, c, l }) =>
    model(id, {
      q,
      cost: price(0, 0, { perRequest: c }),
      latency: { ttftMs: l, outputTokensPerSecond: Number.POSITIVE_INFINITY },
    }),
  );
  const from = snapshot(models, {
    gateway: { ...snapshot(models).gateway, alternatives: models.length },
    tasks: [{ ...GENERAL, expectedOutputTokens: 1 }],
    // The value of a Credit gives the request its reference. It changes no other figure of a built snapshot.
    usdPerCredit: String(REFERENCE_USD / trial.reference),
  });
  const options = Value.Default(plugin.options, { ...trial.options }) as Record<string, unknown>;
  const asked = facts({ weights: trial.weights, inputTokens: INPUT_TOKENS });
  return decisionOf(from, asked, plugin.prepare(options));
}

/** Counts of generated edge cases. */
const coverage = { sets: 0, ties: 0, twins: 0, free: 0, singles: 0, zeros: 0, tooClose: 0 };
const COUNTED = Object.keys(coverage) as (keyof typeof coverage)[];

/** Prints the counts after the tests of a file, and requires that each edge case occurs in more than 1 % of the cases. */
export function reportCoverage(): void {
  afterAll(() => {
    const { sets, ...rest } = coverage;
    const shown = Object.entries(rest).map(([kind, count]) => `${kind} ${Math.round((100 * count) / sets)} %`);
    console.log(`${sets} cases: ${shown.join(', ')}`);
    const { ties, twins, free, singles, zeros } = coverage;
    for (const count of [ties, twins, free, singles, zeros]) expect(count).toBeGreaterThan(sets / 100);
    for (const kind of COUNTED) coverage[kind] = 0;
  });
}

function note(trial: Trial): Trial {
  const { candidates, weights, options } = trial;
  const count = (key: (one: Candidate) => unknown) => new Set(candidates.map(key)).size;
  const n = candidates.length;
  coverage.sets++;
  if (n === 1) coverage.singles++;
  if (candidates.some(({ c }) => c === 0)) coverage.free++;
  if (count(({ q, c, l }) => `${q} ${c} ${l}`) < n) coverage.twins++;
  if (count(({ q }) => q) < n || count(({ c }) => c) < n || count(({ l }) => l) < n) coverage.ties++;
  const given = weights ?? options;
  if (['cost', 'quality', 'latency'].some((name) => Reflect.get(given, name) === 0)) coverage.zeros++;
  return trial;
}

const cost = fc.oneof(
  fc.constantFrom(0, 1, 1000, 500_000, 1_000_000),
  fc.integer({ min: 0, max: 1_000_000 }),
  fc.integer({ min: 0, max: 100_000_000 }),
);
const figures = fc.record({ q: quality, c: cost, l: latency });

const pad = (n: number) => `m${String(n).padStart(2, '0')}`;

/** One to nine candidates, often with equal figures, sometimes identical; IDs in any order. */
export const candidates: fc.Arbitrary<readonly Candidate[]> = fc
  .record({
    own: fc.array(figures, { minLength: 1, maxLength: 7 }),
    twins: fc.array(fc.nat(6), { maxLength: 2 }),
    ids: fc.shuffledSubarray([...Array(9).keys()], { minLength: 9 }),
  })
  .map(({ own, twins, ids }) =>
    [...own, ...twins.map((at) => own[at % own.length]!)].map((one, at) => ({ ...one, id: pad(ids[at]!) })),
  );

export const newcomer = fc.record({ q: quality, c: cost, l: latency, id: fc.constantFrom('a', 'm04x', 'z') });

/** The Credits of a reference cost. */
export const reference = fc.oneof(
  fc.constantFrom(0.01, 0.1, 1),
  fc.double({ min: 0.001, max: 100, noNaN: true, noDefaultInfinity: true }),
);

export const weight = fc.oneof(
  fc.constantFrom(0, 0.1, 0.3, 0.7, 1, 100),
  fc.double({ min: 1e-3, max: 1e3, noNaN: true, noDefaultInfinity: true }),
);
export const weights: fc.Arbitrary<Weights> = fc
  .record({ cost: weight, quality: weight })
  .filter((given) => given.cost + given.quality > 0);

export const rawWeights = fc
  .record({ quality: weight, cost: weight, latency: weight })
  .filter((given) => given.quality + given.cost + given.latency > 0);

/** Generates cases with the given weights and options, and counts edge cases. */
export function trials(more: {
  readonly weights?: fc.Arbitrary<Weights>;
  readonly options?: fc.Arbitrary<Readonly<Record<string, unknown>>>;
}): fc.Arbitrary<Trial> {
  return fc
    .record({
      candidates,
      reference,
      weights: more.weights ?? fc.constant(null),
      options: more.options ?? fc.constant({}),
    })
    .map(note);
}

/** Whether the two best utilities are so close that rounding may decide between them. */
export function isTooClose([first, second]: Ranking): boolean {
  const close = first !== undefined && second !== undefined && first.utility - second.utility <= 2e-9;
  if (close) coverage.tooClose++;
  return close;
}

export const order = (ranking: Ranking): string[] => ranking.map(({ id }) => id);

export interface Law {
  /** The property that the law promises. */
  readonly says: string;
  /** The property to check in each random case. */
  holds(rank: Ranker): fc.IProperty<unknown>;
  /** Wrong implementations by name. Each must break the law. */
  readonly mutants: Readonly<Record<string, Ranker>>;
}

/** Tests that a strategy satisfies the law, and that each mutant breaks it. A failed law prints its seed. */
export function prove(strategy: string, real: Ranker, { says, holds, mutants }: Law): void {
  test(says, () => {
    fc.assert(holds(real), tries(`${strategy}: ${says}`, 300, 20_000));
  });
  for (const [name, mutant] of Object.entries(mutants)) {
    test(`${says}: the law detects ${name}`, () => {
      const found = fc.check(holds(mutant), { numRuns: 20_000, endOnFailure: true });
      expect(found.failed).toBe(true);
    });
  }
}
