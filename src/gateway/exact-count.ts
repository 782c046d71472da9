import type { Decision, Refusal } from '../core/decision.ts';
import { REJECTIONS } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Tokenizer } from '../core/tokenizer.ts';
import { utf8Bytes } from '../core/tokens.ts';
import { isRefusal } from '../routing/decide.ts';
import type { TokenCounter } from '../tokenizer/counter.ts';

/** The bound of the input has a part in these. */
const BY_INPUT = REJECTIONS.context.bit | REJECTIONS.budget_limit.bit | REJECTIONS.funds.bit;

/**
 * The tokenizers whose exact count may turn an outcome: those of models that only the size of their input keeps out,
 * and of a choice that no fund can pay. Most often there are none.
 */
export function decisiveTokenizers(outcome: Decision | Refusal, isShort: boolean, { models }: PolicySnapshot) {
  const names = new Set<Tokenizer>();
  const consider = (model: number) => {
    const { tokenizer } = models[model]!;
    if (tokenizer !== null) names.add(tokenizer);
  };
  if (isRefusal(outcome)) {
    for (const { model, rejections } of outcome.rejected) if ((rejections & ~BY_INPUT) === 0) consider(model);
  } else if (isShort) consider(outcome.ranked[0].model);
  return [...names];
}

/**
 * Tokens that a template may write before a conversation: of the texts' bytes most are to spare, which a count has not.
 * What surrounds each message is in the facts.
 */
const PREAMBLE_MAX = 128;

/**
 * The input tokens that a request cannot exceed by these tokenizers, where its texts could be counted in time; null
 * where none could. What is not among the texts counts by its bytes, as in `inputTokensMax`.
 */
export async function countInput(
  counter: TokenCounter,
  names: readonly Tokenizer[],
  { inputTokensMax }: Facts,
  texts: readonly string[],
): Promise<Facts['inputTokensCounted']> {
  if (texts.length === 0) return null;
  const others = texts.reduce((rest, text) => rest - utf8Bytes(text), inputTokensMax) + PREAMBLE_MAX;
  const counts = await Promise.all(names.map(async (name) => [name, await counter.count(name, texts)] as const));
  const counted = counts.flatMap(([name, tokens]) => (tokens === null ? [] : [[name, others + tokens] as const]));
  return counted.length === 0 ? null : Object.fromEntries(counted);
}
