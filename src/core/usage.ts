import { type AddOns, arePlausible } from './add-ons.ts';

/** Tokens of one completion, in the one form that every adapter translates to. */
export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  /** Part of `inputTokens` read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** Part of `inputTokens` written to the provider's cache. */
  readonly cacheWriteTokens: number;
  /** All output tokens, hidden reasoning included. */
  readonly outputTokens: number;
  /** Part of `outputTokens` spent on hidden reasoning. */
  readonly reasoningTokens: number;
  /** The bill beside them; absent for nothing. */
  readonly addOns?: AddOns;
}

/** More tokens than any request can have; a figure above it is an upstream's mistake. */
const TOKENS_MAX = 1_000_000_000;

const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= TOKENS_MAX;

/** False for figures that cannot be true: negative, fractional, absurd, or parts larger than the whole. */
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

/** Whether a usage is stated that cannot be true. */
export const isImpossible = (usage: Usage | undefined): boolean => usage !== undefined && !isPlausible(usage);

/** A usage without cache or reasoning, as counted here when the upstream gives none. */
export function plainUsage(inputTokens: number, outputTokens: number): Usage {
  return { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens, reasoningTokens: 0 };
}

/** Tokens as a provider reports them; what it leaves out counts as 0. */
export interface ReportedTokens {
  readonly input: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly output: number;
  readonly reasoning?: number;
  readonly addOns?: AddOns;
}

/**
 * Converts a provider's token counts, which differ in form, to one form. `within` names the counts that are part of
 * another: `cached` and `cacheWrite` of `input`, `reasoning` of `output`. The others are added, so that each token is
 * billed once.
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
