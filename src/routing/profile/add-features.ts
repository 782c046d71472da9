import { FEATURES, type Feature, type FeatureCondition, type FigureTest } from './features.ts';
import { readFigures } from './figures.ts';
import { SIGNS } from './lexicon/signs.ts';
import type { QuestionView } from './question-view.ts';
import type { ReadingTables } from './reading-tables.ts';
import type { WeightedSum } from './weighted-sum.ts';

/** A feature and the row of its weights. */
interface PlacedFeature extends Feature {
  readonly row: number;
}

/** Neighbouring features that share the same tests. */
interface FeatureRun {
  readonly tests: readonly FigureTest[];
  readonly features: PlacedFeature[];
}

/**
 * The conditions in the order in which their features are computed: first features of all questions, then of a context, then of each sign.
 */
const CONDITIONS: readonly (FeatureCondition | undefined)[] = [
  ...([undefined, 'before', 'tools', 'system prompt', 'system prompt itself'] as const),
  ...SIGNS,
];
const [ALWAYS, AFTER, WITH_TOOLS, UNDER, OF_SYSTEM_PROMPT, OF_SIGNS] = [0, 1, 2, 3, 4, 5] as const;

const PLACED = Map.groupBy(
  FEATURES.map((feature, row): PlacedFeature => ({ ...feature, row })),
  ({ requires }) => requires,
);
const RUNS: readonly (readonly FeatureRun[])[] = CONDITIONS.map((condition) => {
  const runs: FeatureRun[] = [];
  for (const feature of PLACED.get(condition) ?? []) {
    const last = runs.at(-1);
    if (last?.tests === feature.tests) last.features.push(feature);
    else runs.push({ tests: feature.tests, features: [feature] });
  }
  return runs;
});

// The runs as flat arrays of numbers, so that one loop without function calls computes all features of a question.
const ALL_RUNS = RUNS.flat();
const ALL_TESTS = ALL_RUNS.flatMap(({ tests }) => tests);
const ALL_FEATURES = ALL_RUNS.flatMap(({ features }) => features);
/** Returns the index at which each item's parts begin, and the index after the last part. */
const starts = (sizes: readonly number[]): Uint16Array => {
  const all = new Uint16Array(sizes.length + 1);
  for (const [at, size] of sizes.entries()) all[at + 1] = all[at]! + size;
  return all;
};
/** The runs of each condition, and the tests and features of each run. */
const RUNS_OF = starts(RUNS.map(({ length }) => length));
const TESTS_OF = starts(ALL_RUNS.map(({ tests }) => tests.length));
const FEATURES_OF = starts(ALL_RUNS.map(({ features }) => features.length));
const TESTED = Uint8Array.from(ALL_TESTS, ({ figure }) => figure);
const LOW = Float64Array.from(ALL_TESTS, ({ low }) => low);
const HIGH = Float64Array.from(ALL_TESTS, ({ high }) => high);
const FIGURES = Uint8Array.from(ALL_FEATURES, ({ figure }) => figure);
const MOST = Float64Array.from(ALL_FEATURES, ({ most }) => most);
const ROWS = Uint16Array.from(ALL_FEATURES, ({ row }) => row);

/** Adds the features of a question that are not 0 to `terms`. Most features are 0. A row of weights is an index in `FEATURE_NAMES`. */
export function addFeatures(view: QuestionView, { figures, terms: sum }: ReadingTables): void {
  readFigures(view, figures);
  addAll(ALWAYS, figures, sum);
  if (view.before !== null) addAll(AFTER, figures, sum);
  if (view.tools !== null) addAll(WITH_TOOLS, figures, sum);
  if (view.system !== null) addAll(UNDER, figures, sum);
  if (view.isSystemPrompt) addAll(OF_SYSTEM_PROMPT, figures, sum);
  for (let sign = 0; sign < SIGNS.length; sign++) if (figures[sign]! > 0) addAll(OF_SIGNS + sign, figures, sum);
}

function addAll(condition: number, figures: Float64Array, sum: WeightedSum): void {
  const lastRun = RUNS_OF[condition + 1]!;
  for (let run = RUNS_OF[condition]!; run < lastRun; run++) {
    if (!holds(run, figures)) continue;
    const end = FEATURES_OF[run + 1]!;
    for (let at = FEATURES_OF[run]!; at < end; at++) {
      const value = Math.min(MOST[at]!, figures[FIGURES[at]!]!);
      if (value !== 0) sum.add(ROWS[at]!, value);
    }
  }
}

function holds(run: number, figures: Float64Array): boolean {
  const end = TESTS_OF[run + 1]!;
  for (let at = TESTS_OF[run]!; at < end; at++) {
    const figure = figures[TESTED[at]!]!;
    if (!(figure > LOW[at]! && figure <= HIGH[at]!)) return false;
  }
  return true;
}
