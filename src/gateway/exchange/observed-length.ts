import type { Readings } from '../../core/decision/readings.ts';
import type { Model, PolicySnapshot } from '../../core/policy/snapshot.ts';
import { type Facts, isIntentRead } from '../../core/request/facts.ts';

/** A complete answer. */
interface WholeAnswer {
  /** The visible output tokens of one choice. */
  readonly tokens: number;
  /** The limit on the output tokens, which include hidden reasoning. */
  readonly cap: number;
  /** Whether a choice ended at the limit. */
  readonly isCut: boolean;
}

/**
 * Returns the length that a complete answer shows for its task, in visible output tokens of one choice; null for none.
 *
 * The limit decides whether an answer counts, never the answer's own length. A limit truncates: an
 * answer that reached it counts as at least the usual length, and an answer that ended by itself counts with its own length.
 */
export function observedLength(
  { tokens, cap, isCut }: WholeAnswer,
  { reasoningTokens }: Pick<Model, 'reasoningTokens'>,
  facts: Facts,
  { outputTokens }: Pick<Readings, 'outputTokens'>,
  { tasks, taskIndex }: Pick<PolicySnapshot, 'tasks' | 'taskIndex'>,
): number | null {
  if (!isOpenEnded(facts)) return null;
  const at = taskIndex.get(facts.task) ?? 0;
  const usual = outputTokens[at]!;
  // An answer with a lower output limit, set by the caller or by the funds, is no evidence about the usual length.
  const least = Math.min(usual, tasks[at]!.expectedOutputTokens);
  if (cap < least) return null;
  if (!isCut) return tokens;
  // A model with reasoning may have been cut off before its first visible word.
  if (reasoningTokens > 0) return null;
  return Math.max(tokens, usual);
}

/** Whether the length of an answer is typical of its task: the task is more likely than not, and the request states no length. */
function isOpenEnded(facts: Facts): boolean {
  const { mix, outputTokens, outputTokensAsked } = facts;
  const isCertain = mix.length === 0 || mix[0]!.share > 0.5;
  return isIntentRead(facts) && isCertain && outputTokens === null && outputTokensAsked === null;
}
