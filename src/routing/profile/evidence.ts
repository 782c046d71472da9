import { FEATURE_NAMES, type View, visitFeatures } from './features.ts';
import { TASKS } from './tasks.ts';
import { WEIGHTS } from './weights.ts';

/** Logits of each task, in the order of `TASKS`; only their differences count. */
export type Evidence = Float64Array;

/** By feature, then by task. */
const FITTED = Float64Array.from(FEATURE_NAMES.flatMap((name) => WEIGHTS[name] ?? TASKS.map(() => 0)));

/** What a question says for each task: the sum of what its features do. `weights` as `FITTED`, which they are but while they are fitted. */
export function evidenceOf(view: View, weights: Float64Array = FITTED): Evidence {
  const evidence = new Float64Array(TASKS.length);
  visitFeatures(view, (at, value) => {
    const row = at * TASKS.length;
    for (let task = 0; task < TASKS.length; task++) evidence[task]! += value * weights[row + task]!;
  });
  return evidence;
}
