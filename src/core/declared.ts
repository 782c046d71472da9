import type { Facts } from './facts.ts';
import type { PolicySnapshot } from './snapshot.ts';

/** Returns the declared qualities of a snapshot, by task, then by model. */
export const declaredByTask = ({ tasks, models }: PolicySnapshot): readonly Float64Array[] =>
  tasks.map((_, at) => Float64Array.from(models, ({ quality }) => quality[at]!));

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
