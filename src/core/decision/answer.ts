import type { WireOf } from '../define/field.ts';
import type { Microcredits } from '../money/credits.ts';
import type { Usage } from '../money/usage.ts';
import type { PlatformPayment as PaymentSchema, Platform as PlatformSchema } from './platform.ts';

/** The names and figures that an answer has in every dialect. */
export interface AnswerIdentity {
  /** The ID of the decision. Each surface derives the ID of its answer from the ID of the decision. */
  readonly decision: number;
  /** When the request was admitted, Unix time in seconds. */
  readonly created: number;
  /** The ID of the model that answers; before the first content part, the ID of the chosen model. */
  readonly model: string;
  /** The expected input in tokens, for dialects that report it before the first content. Absent if no count is known. */
  readonly inputTokens?: number;
  /**
   * Whether the gateway may end or edit the answer before its provider ends it. If this field is absent, the gateway may end or edit the
   * answer.
   */
  readonly mayBeCut?: boolean;
  /**
   * The fields of the request that were not sent to the model, as `platform.dropped` names them, once the model answers; absent or empty
   * for none.
   */
  readonly dropped?: readonly string[];
}

/** The member `platform` of an answer. JSON answers and streams have the same `platform`. */
export interface Platform extends WireOf<typeof PlatformSchema> {
  readonly credits_consumed: number;
  readonly cost_saved_credits: number;
}

/** `platform` without a price, because the charge could not be stored: after a crash, the charge could be different. */
interface UnpricedPlatform extends Omit<WireOf<typeof PlatformSchema>, 'payment'> {
  readonly credits_consumed: null;
  readonly cost_saved_credits: null;
}

/** `platform.payment`: how a wallet paid for an answer. */
export type PlatformPayment = WireOf<typeof PaymentSchema>;

/** How an exchange ended, in tokens and Credits. */
export interface Receipt {
  readonly usage: Usage;
  readonly platform: Platform | UnpricedPlatform;
  /** The saving against the baseline, for the tokens that were really used; negative if the chosen model cost more. */
  readonly saved: Microcredits;
}

/** Returns the service tier of an answer, as its attempt states it; undefined for none. */
export const servedTierIn = ({ attempts }: Pick<Receipt['platform'], 'attempts'>): string | undefined =>
  attempts.at(-1)?.service_tier;

/** The number of tokens of a prompt, and how it was found. */
export interface PromptCount {
  readonly inputTokens: number;
  /**
   * `counted`: the model's own tokenizer counted the texts; the tokens that templates add stay an estimate. `provider`: the provider of the
   * model counted. `estimated`: neither could count.
   */
  readonly basis: 'counted' | 'provider' | 'estimated';
}
