import fc from 'fast-check';
import type { CallerWeights, Candidates } from '../contract/strategy.ts';

/** What a strategy sees of a candidate: Q as a share, C in Credits, L in ms. */
export interface Figures {
  readonly q: number;
  readonly c: number;
  readonly l: number;
}

/** All that a ranking depends on. */
export interface Trial {
  readonly options: Readonly<Record<string, unknown>>;
  readonly figures: readonly Figures[];
  /** Credits that a good answer is worth. */
  readonly worth: number;
  readonly weights: CallerWeights | null;
}

/** At least as good in everything, and better in something. */
export const dominates = (a: Figures, b: Figures): boolean =>
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

const worth = fc.oneof(fc.constantFrom(0.02, 2, 20), fc.double({ min: 0.02, max: 2_000, noNaN: true }));

export const weights: fc.Arbitrary<CallerWeights> = fc
  .oneof(fc.constantFrom(0, 0.3, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }))
  .map((share) => ({ quality: share, cost: 1 - share }));

type Options = fc.Arbitrary<Readonly<Record<string, unknown>>>;

/** None to eight candidates, often with equal figures. */
const sets = fc
  .tuple(fc.array(figures, { maxLength: 6 }), fc.array(fc.nat(5), { maxLength: 2 }))
  .map(([own, twins]) => [...own, ...(own.length > 0 ? twins.map((at) => own[at % own.length]!) : [])]);

export const trials = (options: Options): fc.Arbitrary<Trial> =>
  fc.record({ options, figures: sets, worth, weights: fc.option(weights) });

/** What no ordinary policy has, and no request is safe from. */
const extreme = fc.record({
  q: fc.constantFrom(0, 1, Number.MIN_VALUE, 1 - Number.EPSILON),
  c: fc.constantFrom(0, Number.MIN_VALUE, 1e-12, 1e12),
  l: fc.constantFrom(0, 1e-9, 1e12),
});

export const extremeTrials = (options: Options): fc.Arbitrary<Trial> =>
  fc.record({
    options,
    figures: fc.oneof(
      fc.array(extreme, { minLength: 1, maxLength: 5 }),
      fc.tuple(extreme, fc.integer({ min: 1, max: 300 })).map(([one, n]) => Array.from({ length: n }, () => one)),
    ),
    worth: fc.constantFrom(1e-9, 1, 1e9),
    weights: fc.option(weights),
  });

/** Room behind the candidates: the host's arrays are as long as the policy has models. */
const SPARE = 3;

/** The candidates as the host hands them over. What stands behind them is left from another request. */
export function candidatesOf({ figures: all, worth: costReference }: Trial): Candidates {
  const column = (of: (one: Figures) => number) =>
    Float64Array.from([...all.map(of), ...Array.from({ length: SPARE }, () => 0.123)]);
  return {
    n: all.length,
    quality: column(({ q }) => q),
    cost: column(({ c }) => c),
    latency: column(({ l }) => l),
    costReference,
  };
}

/** Where utilities go, with what an earlier request left there. */
export const leftovers = ({ figures: all }: Trial, left: number): Float64Array =>
  new Float64Array(all.length + SPARE).fill(left);

/** Candidates are called A, B, C and so on, in the order in which they stand. */
export const nameOf = (at: number): string => (at < 26 ? String.fromCharCode(65 + at) : `candidate ${at + 1}`);

/** Candidates of a case that are told at most. */
const TOLD_MAX = 6;

const tellFigures = ({ q, c, l }: Figures): string => `Q ${q}, C ${c}, L ${l} ms`;

export function tellTrial({ options, figures: all, worth: value, weights: given }: Trial): string {
  const told = all.slice(0, TOLD_MAX).map((one, at) => `${nameOf(at)} (${tellFigures(one)})`);
  const more = all.length > TOLD_MAX ? ` and ${all.length - TOLD_MAX} more` : '';
  const who = told.length === 0 ? 'no candidates' : told.join(', ') + more;
  const weighed = given ? `, weights ${JSON.stringify(given)}` : '';
  const set = Object.keys(options).length > 0 ? `, options ${JSON.stringify(options)}` : '';
  return `${who}; costReference ${value}${weighed}${set}`;
}
