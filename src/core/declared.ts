import type { Facts } from './facts.ts';
import type { PolicySnapshot } from './snapshot.ts';

/** The declared qualities of a snapshot, by task, then by model. */
export const declaredByTask = ({ tasks, models }: PolicySnapshot): readonly Float64Array[] =>
  tasks.map((_, at) => Float64Array.from(models, ({ quality }) => quality[at]!));

type TaskFacts = Pick<Facts, 'task' | 'mix'>;

/** Declared quality by model for a request: the task's, or the mean by shares where it is uncertain. Not to be written to. */
export function declaredFor(facts: TaskFacts, snapshot: PolicySnapshot, byTask: readonly Float64Array[]): Float64Array {
  const certain = byTask[snapshot.taskIndex.get(facts.task) ?? 0]!;
  if (facts.mix.length === 0) return certain;
  const mean = new Float64Array(certain.length);
  writeDeclared(mean, facts, snapshot, byTask);
  return mean;
}

/** The same of one model, by its index. */
export function declaredOf(
  model: number,
  { task, mix }: TaskFacts,
  { taskIndex }: PolicySnapshot,
  byTask: readonly Float64Array[],
): number {
  if (mix.length === 0) return byTask[taskIndex.get(task) ?? 0]![model]!;
  let mean = 0;
  for (const one of mix) mean += one.share * byTask[taskIndex.get(one.task) ?? 0]![model]!;
  return mean;
}

/** Writes the same of all models to an array of the caller. */
export function writeDeclared(
  into: Float64Array,
  { task, mix }: TaskFacts,
  { taskIndex }: PolicySnapshot,
  byTask: readonly Float64Array[],
): void {
  if (mix.length === 0) {
    into.set(byTask[taskIndex.get(task) ?? 0]!);
    return;
  }
  into.fill(0);
  for (const one of mix) {
    const quality = byTask[taskIndex.get(one.task) ?? 0]!;
    for (let i = 0; i < into.length; i++) into[i]! += one.share * quality[i]!;
  }
}
