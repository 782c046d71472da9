import type { Facts } from '../request/facts.ts';
import type { PolicySnapshot } from './snapshot.ts';

/** Returns the declared qualities of a snapshot, by task, then by model. */
export const declaredByTask = ({ tasks, models }: PolicySnapshot): readonly Float64Array[] =>
  tasks.map((_, at) => Float64Array.from(models, ({ quality }) => quality[at]!));

/** At an edge, a quotient such as 0.87 / 0.02 can be slightly below the exact value, so rounding needs a tolerance. */
const EDGE_SLACK = 1e-9;

/** Rounds a quality, 0..1, to the nearest multiple of the step; an edge rounds up. With the step 0, the quality stays exact. */
export const roundedTo = (step: number, quality: number): number =>
  step === 0 ? quality : Math.min(1, Math.floor(quality / step + 0.5 + EDGE_SLACK) * step);

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
