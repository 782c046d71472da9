import { type AddOns, arePlausible } from './add-ons.ts';

/** The tokens of one completion, in the one form that every adapter translates to. */
export interface Usage {
  /** All input tokens, cached tokens included. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that was read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** The part of `inputTokens` that was written to the provider's cache. */
  readonly cacheWriteTokens: number;
  /** All output tokens, hidden reasoning included. */
  readonly outputTokens: number;
  /** The part of `outputTokens` that was spent on hidden reasoning. */
  readonly reasoningTokens: number;
  /** Items that the service bills in addition to tokens; absent for none. */
  readonly addOns?: AddOns;
}

/** No request has more tokens than this. A higher number of tokens is an error of the upstream. */
const TOKENS_MAX = 1_000_000_000;

const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= TOKENS_MAX;

/** Returns false for figures that cannot be true: negative, fractional or absurdly large figures, or parts larger than the whole. */
export function isPlausible(usage: Usage): boolean {
  return (
    isCount(usage.inputTokens) &&
    isCount(usage.outputTokens) &&
    isCount(usage.cachedInputTokens) &&
    isCount(usage.cacheWriteTokens) &&
    isCount(usage.reasoningTokens) &&
    usage.cachedInputTokens + usage.cacheWriteTokens <= usage.inputTokens &&
    usage.reasoningTokens <= usage.outputTokens &&
    (usage.addOns === undefined || arePlausible(usage.addOns, usage.cacheWriteTokens))
  );
}

/** Whether a usage is stated and cannot be true. */
export const isImpossible = (usage: Usage | undefined): boolean => usage !== undefined && !isPlausible(usage);

/** Makes a usage without cache or reasoning, for counts that Signalbox makes if the upstream reports none. */
export function plainUsage(inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens, reasoningTokens: 0 };
}

/** Tokens as a provider reports them. A count that the provider leaves out is 0. */
export interface ReportedTokens {
  readonly input: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly output: number;
  readonly reasoning?: number;
  readonly addOns?: AddOns;
}

/**
 * Converts a provider's token counts to the one form. Providers differ in which token counts include other counts. `within` names the
 * counts that are part of another count: `cached` and `cacheWrite` of `input`, `reasoning` of `output`. Counts that `within` does not name
 * are added, so that each token is billed once.
 */
export function canonicalUsage(
  { input, cachedInput = 0, cacheWrite = 0, output, reasoning = 0, addOns }: ReportedTokens,
  within: { readonly cached: boolean; readonly cacheWrite: boolean; readonly reasoning: boolean },
): Usage {
  return {
    inputTokens: input + (within.cached ? 0 : cachedInput) + (within.cacheWrite ? 0 : cacheWrite),
    cachedInputTokens: cachedInput,
    cacheWriteTokens: cacheWrite,
    outputTokens: output + (within.reasoning ? 0 : reasoning),
    reasoningTokens: reasoning,
    ...(addOns && { addOns }),
  };
}
