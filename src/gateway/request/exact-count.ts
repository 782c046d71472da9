import type { Decision, Refusal } from '../../core/decision/decision.ts';
import { REJECTIONS } from '../../core/decision/decision.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import { TOKEN_BYTES_MAX, type Tokenizer } from '../../core/request/tokenizer.ts';
import { utf8Bytes } from '../../core/request/tokens.ts';
import type { TokenCounter } from '../../providers/tokenizer/counter.ts';
import { isRefusal } from '../../routing/decide.ts';

/** The rejections that depend on the upper bound of the input tokens. */
const BY_INPUT = REJECTIONS.context.bit | REJECTIONS.budget_limit.bit | REJECTIONS.funds.bit;

/**
 * Returns the tokenizers whose exact count may change the outcome; usually none. The result has the tokenizers of models that only the size
 * of the input rejects, and the tokenizer of a chosen model that no fund can pay. A model whose window is too small for any possible count
 * is skipped.
 * @param texts the texts of the prompt that would be counted
 */
export function decisiveTokenizers(
  outcome: Decision | Refusal,
  isShort: boolean,
  snapshot: PolicySnapshot,
  texts: readonly string[],
): readonly Tokenizer[] {
  if (!isRefusal(outcome)) return isShort ? tokenizersOf([outcome.ranked[0]], snapshot) : NO_TOKENIZERS;
  const { rejected, facts } = outcome;
  const byInput = rejected.filter(isRejectedByInput);
  if (!byInput.some(isRejectedByWindow)) return tokenizersOf(byInput, snapshot);
  const least = leastInput(facts, texts);
  const mayFit = (one: RejectedModel) => !isRejectedByWindow(one) || least <= snapshot.models[one.model]!.contextWindow;
  return tokenizersOf(byInput.filter(mayFit), snapshot);
}

type RejectedModel = Refusal['rejected'][number];

const isRejectedByWindow = ({ rejections }: RejectedModel): boolean => (rejections & REJECTIONS.context.bit) !== 0;

/** The fewest input tokens that a request is expected to have after its texts are counted, even if the count is very low. */
function leastInput({ inputTokens, inputTokensMax }: Facts, texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + utf8Bytes(text), 0);
  return Math.min(inputTokens, inputTokensMax - bytes + Math.ceil(bytes / TOKEN_BYTES_MAX));
}

function tokenizersOf(
  decisive: readonly { readonly model: number }[],
  { models }: PolicySnapshot,
): readonly Tokenizer[] {
  const names = new Set(decisive.map(({ model }) => models[model]!.tokenizer));
  return [...names].filter((name) => name !== null);
}

const NO_TOKENIZERS: readonly Tokenizer[] = [];

/** Whether a model is rejected only because of the size of the input. */
export const isRejectedByInput = ({ rejections }: RejectedModel): boolean => (rejections & ~BY_INPUT) === 0;

/**
 * The most tokens that a template may write before a conversation. A bound from bytes has room for them, but an exact count does not. The
 * facts already include the tokens around each message.
 */
const PREAMBLE_MAX = 128;

/**
 * Counts the upper bound of a request's input tokens with each tokenizer. All parts of the request except texts count by their bytes, as in
 * `inputTokensMax`.
 * @returns null if no text could be counted in time
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
