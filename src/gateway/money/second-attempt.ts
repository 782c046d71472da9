import type { Decision, RankedModel } from '../../core/decision/decision.ts';
import { isConversation } from '../../core/kinds/operations.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';

/** The parts of a request that decide about a second attempt. */
type AttemptedRequest = Pick<ModelRequest, 'operation' | 'stream' | 'conversation' | 'settings'>;

/**
 * Whether the second model of a decision is tried in the same request if the answer shows that it failed. The caller of a stream has already
 * seen a part of the answer. With stop sequences, or after the beginning of an answer that the caller wrote, the answer is only a piece, so
 * its form says nothing. A text that a model continues may need nothing more.
 */
export function mayTrySecond({ operation, stream, conversation, settings }: AttemptedRequest): boolean {
  if (!isConversation(operation) || stream || conversation.isWarmUp) return false;
  if (settings.stop !== undefined || conversation.isCompletion) return false;
  return conversation.turns.at(-1)?.role !== 'assistant';
}

/**
 * Returns the highest cost of a request whose model a guard may ask again: both attempts; null if its `budget_limit` covers only one.
 */
export function boundOfRepair({
  ranked: [choice],
  facts: { budget },
}: Pick<Decision, 'ranked' | 'facts'>): Microcredits | null {
  const both = 2 * choice.bound;
  return budget !== null && both > budget ? null : both;
}

/** Whether a request wants more of its answer than any text: JSON, or arguments that fit a function. */
export const wantsForm = ({
  conversation,
  settings: { answerFormat },
}: Pick<ModelRequest, 'conversation' | 'settings'>) =>
  (answerFormat !== undefined && answerFormat.type !== 'text') ||
  (conversation.tools.length > 0 && conversation.toolChoice !== 'none');

/**
 * Returns the highest cost of a request with a second attempt: the worst cases of both attempts; null if the hold need not cover both from
 * the beginning. An answer without a wanted form can only fail by being empty, and an empty answer leaves most of its hold.
 */
export function boundOfBoth(
  request: AttemptedRequest,
  second: RankedModel,
  { ranked: [choice], facts: { budget } }: Pick<Decision, 'ranked' | 'facts'>,
): Microcredits | null {
  if (!mayTrySecond(request) || !wantsForm(request)) return null;
  const both = choice.bound + second.bound;
  return budget !== null && both > budget ? null : both;
}
