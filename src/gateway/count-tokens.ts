import type { Caller } from '../core/caller.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { estimateTokens } from '../core/tokens.ts';
import { expectedInput } from '../routing/estimate.ts';
import { chatFacts } from '../routing/facts.ts';
import { textsOf } from '../routing/texts.ts';
import { checkRequest } from './check-request.ts';
import type { Gateway } from './gateway.ts';
import { pagesOf } from './pdf-pages.ts';

/** The tokens of a prompt. */
export interface PromptCount {
  readonly inputTokens: number;
  /** Whether its texts were counted by the model's own tokenizer; what templates add stays an estimate. */
  readonly isCounted: boolean;
}

/** The model of a selector's request, which is chosen later: its figures are the usual ones. */
const ANY_MODEL = { tokenizer: null, imageTokensMax: null, audioTokensPerSecondMax: null };

/**
 * Counts the tokens of a prompt. Calls no provider and costs nothing.
 * @throws SignalboxError for a model that does not exist or that the key may not use
 */
export async function countTokens(
  { lease, counter }: Pick<Gateway, 'lease' | 'counter'>,
  request: ModelRequest,
  caller: Caller,
): Promise<PromptCount> {
  const { snapshot } = lease();
  checkRequest(request, snapshot.gateway);
  const facts = chatFacts(request, caller, snapshot, { pagesOf });
  const model = facts.pinned ? snapshot.models[snapshot.modelIndex.get(facts.model)!]! : ANY_MODEL;
  const expected = expectedInput(facts, model);
  const texts = textsOf(request.conversation.turns);
  const counted = model.tokenizer && texts.length > 0 ? await counter.count(model.tokenizer, texts) : null;
  if (counted === null) return { inputTokens: Math.ceil(expected), isCounted: false };
  const estimated = texts.reduce((sum, text) => sum + estimateTokens(text), 0);
  return { inputTokens: Math.max(counted, Math.ceil(expected - estimated + counted)), isCounted: true };
}
