import type { Microcredits } from './credits.ts';
import type { ActiveRules } from './rules.ts';

/** All that a decision knows about a request. Holds no text of it. */
export interface Facts {
  /** The `model` of the request: a selector's name or, when `pinned`, a model's ID. */
  readonly model: string;
  readonly pinned: boolean;
  readonly task: string;
  /** Expected input tokens, by a neutral count. */
  readonly inputTokens: number;
  /**
   * Input tokens that the request's text cannot exceed under any tokenizer: its bytes, and what dialects wrap around
   * messages and tools. Images are not in it.
   */
  readonly inputTokensMax: number;
  readonly images: number;
  /** Bytes of audio input, decoded. Its tokens are in neither of the figures above. */
  readonly audioBytes: number;
  /** Other media (files), for which no bound is known. */
  readonly unboundedMedia: number;
  /** Expected visible output tokens of one choice, not capped; null for the task's. */
  readonly outputTokens: number | null;
  /** The caller's own cap on output tokens of one choice. */
  readonly outputTokensMax: number | null;
  readonly choices: number;
  /** Bits of `CAPABILITIES`. */
  readonly needs: number;
  /** Programming languages that the model must handle, in canonical names. */
  readonly languages: readonly string[];
  /** `route_strategy`, completed with the policy's defaults; null without one. */
  readonly weights: { readonly cost: number; readonly quality: number } | null;
  readonly ceilings: { readonly costCredits: number | null; readonly latencyMs: number | null };
  /** `budget_limit`. */
  readonly budget: Microcredits | null;
  /** What the policy's budgets and the key's balance leave; null where none applies. */
  readonly funds: FundFacts | null;
  /** The policy's rules that apply to the request. */
  readonly rules: ActiveRules;
  /** The key's model list. */
  readonly allowedModels: readonly string[] | null;
}

/** Funds bind hard: whatever cannot be bounded may not draw on one. */
export interface FundFacts {
  /** The most that a request may cost at its worst for a fund that downgrades to pay it; null without such a fund. */
  readonly free: Microcredits | null;
}
