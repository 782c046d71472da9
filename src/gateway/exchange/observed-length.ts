import { type Facts, isIntentRead } from '../../core/facts.ts';
import type { Readings } from '../../core/readings.ts';
import type { Model, PolicySnapshot } from '../../core/snapshot.ts';

/** A whole answer with its end. */
interface WholeAnswer {
  /** Visible output tokens of one choice. */
  readonly tokens: number;
  /** The cap on them, with hidden reasoning. */
  readonly cap: number;
  /** Whether a choice ended at the cap. */
  readonly isCut: boolean;
}

/**
 * The length that a whole answer shows of its task, in visible output tokens of one choice; null for none.
 *
 * Where the measured length counts alone, an answer counts by its cap and never by its own length. A cap truncates: an answer that
 * reached it counts as no shorter than usual, and one that ended by itself counts as it is.
 */
export function observedLength(
  { tokens, cap, isCut }: WholeAnswer,
  { reasoningTokens }: Pick<Model, 'reasoningTokens'>,
  facts: Facts,
  { outputTokens }: Pick<Readings, 'outputTokens'>,
  { tasks, taskIndex, answerLength }: Pick<PolicySnapshot, 'tasks' | 'taskIndex' | 'answerLength'>,
): number | null {
  const at = taskIndex.get(facts.task) ?? 0;
  const usual = outputTokens[at]!;
  const isBlended = answerLength === 'blended';
  // A lower cap, by the caller or by the funds, teaches nothing new.
  const least = isBlended ? usual : Math.min(usual, tasks[at]!.expectedOutputTokens);
  if (!isOpenEnded(facts) || cap < least) return null;
  if (!isCut) return tokens;
  // A model that reasons may have been cut before its first visible word.
  if (reasoningTokens > 0 || (isBlended && tokens < usual)) return null;
  return Math.max(tokens, usual);
}

/** Whether the length of an answer is typical of its task: the task is more likely than not, and no length is stated. */
function isOpenEnded(facts: Facts): boolean {
  const { mix, outputTokens, outputTokensAsked } = facts;
  const isCertain = mix.length === 0 || mix[0]!.share > 0.5;
  return isIntentRead(facts) && isCertain && outputTokens === null && outputTokensAsked === null;
}
