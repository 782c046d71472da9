import { FEATURES, type FeatureCondition, type Holds, type QuestionView } from './features.ts';
import { SIGNS } from './lexicon/signs.ts';

const VALUES = FEATURES.map(([, of]) => of);

/** Indexes of neighbouring features with the same `holds`; null where they have none. */
interface FeatureRun {
  readonly holds: Holds | null;
  readonly places: readonly number[];
}

/** The features by the condition that they require. */
const BY_CONDITION = Map.groupBy(FEATURES.keys(), (at) => FEATURES[at]![2]);

function runsOf(condition: FeatureCondition | undefined): readonly FeatureRun[] {
  const runs: { holds: Holds | null; places: number[] }[] = [];
  for (const at of BY_CONDITION.get(condition) ?? []) {
    const holds = FEATURES[at]![3] ?? null;
    const last = runs.at(-1);
    if (last?.holds === holds) last.places.push(at);
    else runs.push({ holds, places: [at] });
  }
  return runs;
}

const ALWAYS = runsOf(undefined);
const AFTER = runsOf('before');
const WITH_TOOLS = runsOf('tools');
const UNDER = runsOf('system prompt');
const OF_SYSTEM_PROMPT = runsOf('system prompt itself');
const BY_SIGN = SIGNS.map(runsOf);

/** Visits the features of a question that are not 0; most are 0. `at` is the index in `FEATURE_NAMES`. */
export function visitFeatures(view: QuestionView, visit: (at: number, value: number) => void): void {
  const { signs } = view.reading;
  visitAll(ALWAYS, view, visit);
  if (view.before !== null) visitAll(AFTER, view, visit);
  if (view.tools !== null) visitAll(WITH_TOOLS, view, visit);
  if (view.system !== null) visitAll(UNDER, view, visit);
  if (view.isSystemPrompt) visitAll(OF_SYSTEM_PROMPT, view, visit);
  for (let sign = 0; sign < signs.length; sign++) if (signs[sign]! > 0) visitAll(BY_SIGN[sign]!, view, visit);
}

function visitAll(runs: readonly FeatureRun[], view: QuestionView, visit: (at: number, value: number) => void): void {
  for (let i = 0; i < runs.length; i++) {
    const { holds, places } = runs[i]!;
    if (holds !== null && !holds(view)) continue;
    for (let j = 0; j < places.length; j++) {
      const at = places[j]!;
      const value = VALUES[at]!(view);
      if (value !== 0) visit(at, value);
    }
  }
}
