import type { TObject } from '@sinclair/typebox';
import { type Candidates, defineStrategy, Type } from '../../src/contract/plugin.ts';
import type { CallerWeights } from '../../src/contract/strategy.ts';
import { type Candidate, type Ranker, type Ranking, type Trial, through, WORTH } from './generators.ts';

type Options = Readonly<Record<string, number | undefined>>;
type Utility = (at: number, candidates: Candidates, weights: CallerWeights, options: Options) => number;

/** Accepts any options. */
const anything = Type.Object({}, { additionalProperties: true });

/** Makes a plausible wrong strategy, ranked by the real host. */
export function mutant(utility: Utility, options: TObject = anything): Ranker {
  return through(
    defineStrategy({
      name: 'mutant',
      status: 'alpha',
      options,
      prepare: (given) => ({
        reason: 'mutant',
        score(candidates, out, weights = { quality: 0.5, cost: 0.5 }) {
          for (let i = 0; i < candidates.n; i++) out[i] = utility(i, candidates, weights, given as Options);
        },
      }),
    }),
  );
}

type Compare = (a: Scored, b: Scored) => number;
type Scored = Ranking[number] & { readonly at: number };
type Score = (one: Candidate, trial: Trial) => number;

/** Makes a host with another score, rounding or order of ties. */
export function host(score: Score, ties: Compare, grain = 1e9): Ranker {
  return (trial) =>
    trial.candidates
      .map((one, at) => ({ ...one, at, utility: Math.round(score(one, trial) * grain) / grain }))
      .sort((a, b) => b.utility - a.utility || ties(a, b));
}

const byId: Compare = (a, b) => (a.id < b.id ? -1 : 1);
export const ties = {
  byIdAlone: byId,
  byCatalogOrder: ((a, b) => a.at - b.at) satisfies Compare,
  withoutLatency: ((a, b) => b.q - a.q || a.c - b.c || byId(a, b)) satisfies Compare,
  right: ((a, b) => b.q - a.q || a.c - b.c || a.l - b.l || byId(a, b)) satisfies Compare,
};

const share = ({ c }: Candidate, { reference }: Trial) => c / 1e6 / (WORTH * reference);

/** Correct scores, for hosts that have another mistake. */
export const scores = {
  weighted: (one: Candidate, trial: Trial) => {
    const { cost, quality } = trial.weights ?? { cost: 1, quality: 1 };
    return (quality * one.q - cost * share(one, trial)) / (cost + quality);
  },
  /** Weights that are not scaled to a sum of 1. */
  weightedRaw: (one: Candidate, trial: Trial) => {
    const { cost, quality } = trial.weights ?? { cost: 1, quality: 1 };
    return quality * one.q - cost * share(one, trial);
  },
  quality: (one: Candidate) => one.q,
};

const extremes = (n: number, column: Float64Array) => {
  const used = column.subarray(0, n);
  return { min: Math.min(...used), max: Math.max(...used) };
};

/** Scales a figure to 0..1 over the candidates, so that each result depends on the other candidates. */
export function minMax(n: number, column: Float64Array, at: number): number {
  const { min, max } = extremes(n, column);
  return max === min ? 0 : (column[at]! - min) / (max - min);
}

export const mean = (n: number, column: Float64Array): number =>
  column.subarray(0, n).reduce((sum, value) => sum + value, 0) / n;

export const least = (n: number, column: Float64Array): number => extremes(n, column).min;
export const most = (n: number, column: Float64Array): number => extremes(n, column).max;
