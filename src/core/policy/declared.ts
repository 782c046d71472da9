import type { Facts } from '../request/facts.ts';
import type { PolicySnapshot } from './snapshot.ts';

/** Returns the declared qualities of a snapshot, by task, then by model. */
export const declaredByTask = ({ tasks, models }: PolicySnapshot): readonly Float64Array[] =>
  tasks.map((_, at) => Float64Array.from(models, ({ quality }) => quality[at]!));

/** In floating point, 0.93 − 0.02 is slightly above 0.91, so the comparison with the end of a class needs a tolerance. */
const EDGE_SLACK = 1e-9;

/**
 * Puts the models of a policy into classes of quality for one task, and returns the quality of each model's class. The best model that is in
 * no class begins one, which reaches `step` below it; its quality counts for all of the class. With the step 0, qualities stay exact.
 * @param quality by model, 0..1
 */
export function classed(step: number, quality: Float64Array): Float64Array {
  if (step === 0) return quality;
  const bestFirst = Array.from(quality, (_, at) => at).sort((a, b) => quality[b]! - quality[a]!);
  const counted = quality.slice();
  let best = quality[bestFirst[0]!] ?? 0;
  for (const at of bestFirst) {
    if (quality[at]! < best - step - EDGE_SLACK) best = quality[at]!;
    counted[at] = best;
  }
  return counted;
}

/** The facts of a request that its declared qualities and estimates depend on. */
export type TaskFacts = Pick<Facts, 'task' | 'mix'>;

/**
 * Returns the declared quality by model for a request: the figures of its task, or the mean weighted by the shares if the task is
 * uncertain. Do not write to the returned array.
 */
export function declaredFor(
  { task, mix }: TaskFacts,
  { taskIndex }: PolicySnapshot,
  byTask: readonly Float64Array[],
): Float64Array {
  const certain = byTask[taskIndex.get(task) ?? 0]!;
  if (mix.length === 0) return certain;
  const mean = new Float64Array(certain.length);
  for (const one of mix) {
    const quality = byTask[taskIndex.get(one.task) ?? 0]!;
    for (let i = 0; i < mean.length; i++) mean[i]! += one.share * quality[i]!;
  }
  return mean;
}
