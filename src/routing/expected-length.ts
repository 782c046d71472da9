import type { Readings } from '../core/decision/readings.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import type { ExpectedLength, LengthSource } from '../core/request/expected-length.ts';
import type { Facts } from '../core/request/facts.ts';

/** The tasks of a policy. */
export type Tasks = Pick<PolicySnapshot, 'tasks' | 'taskIndex'>;

/** The usual answer length in output tokens by index of the task; null for the lengths that the policy declares. */
type TaskLengths = Readings['outputTokens'] | null;

/**
 * Returns the expected visible output of one choice in tokens: the request's own figure, or the expected length for its task.
 * @param readings undefined for the policy's figures
 */
export const expectedOutput = (facts: Facts, snapshot: Tasks, readings?: Pick<Readings, 'outputTokens'>): number =>
  capped(facts, snapshot, readings?.outputTokens ?? null);

/** Limits the length to the caller's cap. The limited length is at least 1 if the request may produce any output. */
function capped(facts: Facts, snapshot: Tasks, lengths: TaskLengths): number {
  const { outputTokensMax } = facts;
  const expected = uncapped(facts, snapshot, lengths);
  return Math.max(outputTokensMax === 0 ? 0 : 1, Math.min(expected, outputTokensMax ?? expected));
}

const uncapped = (facts: Facts, snapshot: Tasks, lengths: TaskLengths): number =>
  facts.outputTokens ?? facts.outputTokensAsked ?? lengthOfTask(facts, snapshot, lengths);

/**
 * Returns the answer length of the task. If the task is uncertain, the answer length is the mean over the possible tasks, weighted by their
 * shares.
 */
function lengthOfTask({ task, mix }: Facts, snapshot: Tasks, lengths: TaskLengths): number {
  if (mix.length === 0) return lengthAt(indexOf(task, snapshot), snapshot, lengths);
  let sum = 0;
  for (const one of mix) sum += one.share * lengthAt(indexOf(one.task, snapshot), snapshot, lengths);
  return sum;
}

const indexOf = (task: string, { taskIndex }: Tasks): number => taskIndex.get(task) ?? 0;

const lengthAt = (at: number, { tasks }: Tasks, lengths: TaskLengths): number =>
  lengths === null ? tasks[at]!.expectedOutputTokens : lengths[at]!;

/** Returns the expected length of an answer with its source; null for separate texts, whose answers follow from them. */
export function expectedLength(facts: Facts, snapshot: Tasks, readings: Readings): ExpectedLength | null {
  if (facts.texts !== undefined) return null;
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

/** Returns the names of the request's tasks whose answer lengths were measured. */
export function measuredTasks({ task, mix }: Facts, snapshot: Tasks, readings: Readings): string[] {
  const possible = mix.length === 0 ? [task] : mix.map((one) => one.task);
  const indexes = [...new Set(possible.map((name) => indexOf(name, snapshot)))];
  const measured = indexes.filter((at) => taskSource(at, snapshot, readings) !== 'declared');
  return measured.map((at) => snapshot.tasks[at]!.name);
}

/** A measured length that equals the declared length counts as declared. */
const taskSource = (at: number, { tasks }: Tasks, { outputTokens }: Readings): LengthSource =>
  outputTokens[at] === tasks[at]!.expectedOutputTokens ? 'declared' : 'measured';
