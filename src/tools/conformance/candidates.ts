import fc from 'fast-check';
import type { CallerWeights, Candidates } from '../../contract/strategy.ts';

/** The inputs of a strategy for a candidate: quality as a share, cost in Credits, latency in ms. */
interface CandidateMetrics {
  readonly q: number;
  readonly c: number;
  readonly l: number;
}

/** All inputs of a ranking. */
export interface RankingCase {
  readonly figures: readonly CandidateMetrics[];
  /** The reference of the request in Credits. */
  readonly reference: number;
  readonly weights: CallerWeights | null;
}

/** Whether `a` is at least as good as `b` in every metric, and better in at least one. */
export const dominates = (a: CandidateMetrics, b: CandidateMetrics): boolean =>
  a.q >= b.q && a.c <= b.c && a.l <= b.l && (a.q > b.q || a.c < b.c || a.l < b.l);

export const quality = fc.oneof(
  fc.constantFrom(0, 0.25, 0.5, 0.75, 0.9, 1),
  fc.integer({ min: 0, max: 100 }).map((n) => n / 100),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const cost = fc.oneof(
  fc.constantFrom(0, 0.001, 0.5, 1),
  fc.integer({ min: 0, max: 1_000 }).map((n) => n / 100),
  fc.double({ min: 0, max: 100, noNaN: true }),
);
export const latency = fc.oneof(
  fc.constantFrom(0, 500, 1000, 20_000),
  fc.integer({ min: 0, max: 120_000 }),
  fc.double({ min: 0, max: 120_000, noNaN: true }),
);
export const figures = fc.record({ q: quality, c: cost, l: latency });

const reference = fc.oneof(fc.constantFrom(0.02, 2, 20), fc.double({ min: 0.02, max: 2_000, noNaN: true }));

const weights: fc.Arbitrary<CallerWeights> = fc
  .oneof(fc.constantFrom(0, 0.3, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }))
  .map((share) => ({ quality: share, cost: 1 - share }));

/** Up to eight candidates, often with equal metrics. */
const sets = fc
  .tuple(fc.array(figures, { maxLength: 6 }), fc.array(fc.nat(5), { maxLength: 2 }))
  .map(([own, twins]) => [...own, ...(own.length > 0 ? twins.map((at) => own[at % own.length]!) : [])]);

export const rankingCases: fc.Arbitrary<RankingCase> = fc.record({
  figures: sets,
  reference,
  weights: fc.option(weights),
});

/** Ranking cases that always have weights from the caller. */
export const weightedCases: fc.Arbitrary<RankingCase> = fc
  .tuple(rankingCases, weights)
  .map(([trial, own]) => ({ ...trial, weights: own }));

/** Extreme values that real requests can still have. */
const extreme = fc.record({
  q: fc.constantFrom(0, 1, Number.MIN_VALUE, 1 - Number.EPSILON),
  c: fc.constantFrom(0, Number.MIN_VALUE, 1e-12, 1e12),
  l: fc.constantFrom(0, 1e-9, 1e12),
});

export const extremeRankingCases: fc.Arbitrary<RankingCase> = fc.record({
  figures: fc.oneof(
    fc.array(extreme, { minLength: 1, maxLength: 5 }),
    fc.tuple(extreme, fc.integer({ min: 1, max: 300 })).map(([one, n]) => Array.from({ length: n }, () => one)),
  ),
  reference: fc.constantFrom(1e-9, 1, 1e9),
  weights: fc.option(weights),
});

/** The number of unused array entries. The host's arrays have an entry for each model of the policy. */
const SPARE = 3;

/** The candidates in the form in which the host passes them. After the last candidate, the arrays contain values of another request. */
export function candidatesOf({ figures: all, reference }: RankingCase): Candidates {
  const column = (of: (one: CandidateMetrics) => number) =>
    Float64Array.from([...all.map(of), ...Array.from({ length: SPARE }, () => 0.123)]);
  return {
    n: all.length,
    quality: column(({ q }) => q),
    cost: column(({ c }) => c),
    latency: column(({ l }) => l),
    reference,
  };
}

/** A buffer for utilities that still contains values of an earlier request. */
export const usedBuffer = ({ figures: all }: RankingCase, left: number): Float64Array =>
  new Float64Array(all.length + SPARE).fill(left);

/** Candidates are named A, B, C and so on. */
export const nameOf = (at: number): string => (at < 26 ? String.fromCharCode(65 + at) : `candidate ${at + 1}`);

/** The most candidates that a report describes. */
const DESCRIBED_MAX = 6;

export function describeRankingCase(trial: RankingCase): string {
  const { figures: all, reference: value, weights: given } = trial;
  const described = all.slice(0, DESCRIBED_MAX).map(({ q, c, l }, at) => `${nameOf(at)} (Q ${q}, C ${c}, L ${l} ms)`);
  const more = all.length > DESCRIBED_MAX ? ` and ${all.length - DESCRIBED_MAX} more` : '';
  const who = described.length === 0 ? 'no candidates' : described.join(', ') + more;
  const weighed = given ? `, weights ${JSON.stringify(given)}` : '';
  return `${who}; reference ${value}${weighed}`;
}
