import type { ExpectedLength, LengthSource } from '../core/expected-length.ts';
import type { Facts } from '../core/facts.ts';
import type { Readings } from '../core/readings.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';

/** The tasks of a policy. */
export type Tasks = Pick<PolicySnapshot, 'tasks' | 'taskIndex'>;

/** By index of the task, output tokens of a usual answer; null for those that the policy declares. */
type TaskLengths = Readings['outputTokens'] | null;

/** Visible output tokens of one choice: the request's own figure, else the expected length of its task. */
export const expectedOutput = (facts: Facts, snapshot: Tasks, { outputTokens }: Readings): number =>
  capped(facts, snapshot, outputTokens);

/**
 * The length that reference costs, patience per token and conditions of rules use. It differs only where lengths are blended.
 * @param readings undefined for the policy's figures
 */
export const referenceOutput = (facts: Facts, snapshot: Tasks, readings?: Pick<Readings, 'referenceTokens'>): number =>
  capped(facts, snapshot, readings?.referenceTokens ?? null);

/** At least 1 where anything may be written, at most the caller's cap. */
function capped(facts: Facts, snapshot: Tasks, lengths: TaskLengths): number {
  const { outputTokensMax } = facts;
  const expected = uncapped(facts, snapshot, lengths);
  return Math.max(outputTokensMax === 0 ? 0 : 1, Math.min(expected, outputTokensMax ?? expected));
}

const uncapped = (facts: Facts, snapshot: Tasks, lengths: TaskLengths): number =>
  facts.outputTokens ?? facts.outputTokensAsked ?? lengthOfTask(facts, snapshot, lengths);

/** The length of the task's answers; the mean by shares where the task is uncertain. */
function lengthOfTask({ task, mix }: Facts, snapshot: Tasks, lengths: TaskLengths): number {
  if (mix.length === 0) return lengthAt(indexOf(task, snapshot), snapshot, lengths);
  let sum = 0;
  for (const one of mix) sum += one.share * lengthAt(indexOf(one.task, snapshot), snapshot, lengths);
  return sum;
}

const indexOf = (task: string, { taskIndex }: Tasks): number => taskIndex.get(task) ?? 0;

const lengthAt = (at: number, { tasks }: Tasks, lengths: TaskLengths): number =>
  lengths === null ? tasks[at]!.expectedOutputTokens : lengths[at]!;

/** The expected length of an answer with its source; null for embeddings, which write nothing. */
export function expectedLength(facts: Facts, snapshot: Tasks, readings: Readings): ExpectedLength | null {
  if (facts.embedding !== undefined) return null;
  return { tokens: expectedOutput(facts, snapshot, readings), source: sourceOf(facts, snapshot, readings) };
}

function sourceOf(facts: Facts, snapshot: Tasks, readings: Readings): LengthSource {
  const { outputTokens, outputTokensAsked, outputTokensMax, task, mix } = facts;
  if (outputTokensMax !== null && outputTokensMax < uncapped(facts, snapshot, readings.outputTokens))
    return 'max_tokens';
  if (outputTokens !== null) return 'request';
  if (outputTokensAsked !== null) return 'prompt';
  if (mix.length === 0) return taskSource(indexOf(task, snapshot), snapshot, readings);
  for (const one of mix) {
    const source = taskSource(indexOf(one.task, snapshot), snapshot, readings);
    if (source !== 'declared') return source;
  }
  return 'declared';
}

/** The tasks of a request whose answers were measured, by name. */
export function measuredTasks({ task, mix }: Facts, snapshot: Tasks, readings: Readings): string[] {
  const possible = mix.length === 0 ? [task] : mix.map((one) => one.task);
  const indexes = [...new Set(possible.map((name) => indexOf(name, snapshot)))];
  const measured = indexes.filter((at) => taskSource(at, snapshot, readings) !== 'declared');
  return measured.map((at) => snapshot.tasks[at]!.name);
}

/** A measured length that equals the declared one counts as declared. */
function taskSource(at: number, { tasks }: Tasks, { outputTokens, referenceTokens }: Readings): LengthSource {
  if (outputTokens[at] === tasks[at]!.expectedOutputTokens) return 'declared';
  return outputTokens[at] === referenceTokens[at] ? 'measured' : 'blended';
}
