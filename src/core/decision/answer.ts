import type { Microcredits } from '../money/credits.ts';
import type { Usage } from '../money/usage.ts';
import type { AnswerSignal } from '../request/failure-kinds.ts';
import type { InsteadOf } from './decision.ts';

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

/** The member `platform` of an answer has the answer's model, price and attempts. JSON answers and streams have the same `platform`. */
export interface Platform {
  readonly routed_model: string;
  /** The alias that the request used as `model`; absent for none. */
  readonly alias?: string;
  readonly route_reason: string;
  /** The model that the request names, if it was left out and a fallback was tried; absent otherwise. */
  readonly instead_of?: InsteadOf;
  readonly credits_consumed: number;
  readonly cost_saved_credits: number;
  readonly decision_id: string;
  readonly policy_revision: string;
  /** True if Signalbox counted tokens because the upstream did not report them. */
  readonly estimated: boolean;
  /** Fields of the request that neither Signalbox nor the model accepted. */
  readonly dropped: readonly string[];
  /** Fields that reached the model in another form, such as `tool_choice` as a JSON schema of the answer; absent for none. */
  readonly adapted?: readonly string[];
  /** The attempts in order. The last attempt answered the request unless that attempt has a `failure`. */
  readonly attempts: readonly PlatformAttempt[];
  /**
   * The reason why the limit on the output was lowered, whether or not the answer reached it: a budget's name, `balance`, or `model`;
   * absent for none.
   */
  readonly output_capped_by?: string;
  /**
   * True if Signalbox replaced the usage by its own count, because the provider's figures are impossible. The usage is the only part that
   * Signalbox changes in an answer that is passed through. Absent for no change.
   */
  readonly usage_replaced?: true;
  /** The Credits that guards of the policy charged for calls of models, in addition to `credits_consumed`. Absent for no call. */
  readonly guard_credits_consumed?: number;
  /** How a wallet paid for the answer; absent if the key's own funds paid. */
  readonly payment?: PlatformPayment;
}

/** `platform` without a price, because the charge could not be stored: after a crash, the charge could be different. */
interface UnpricedPlatform extends Omit<Platform, 'credits_consumed' | 'cost_saved_credits' | 'payment'> {
  readonly credits_consumed: null;
  readonly cost_saved_credits: null;
}

export type PlatformAttempt = {
  readonly model: string;
  /** The provider's name in the policy. */
  readonly provider: string;
  /** The time from sending the request to the end, ms. */
  readonly ms: number;
  /** The kind of failure; null for none. */
  readonly failure: string | null;
  /** The provider's own ID of the request; null if the provider gave no ID. */
  readonly request_id: string | null;
  /** Why each choice ended, in the provider's own words. */
  readonly finish_reasons: readonly string[];
  /** The fault of the earlier answer to the same request, for a second attempt; absent for other attempts. */
  readonly after?: AnswerSignal;
  /** The charge for this attempt, Credits; absent if it was not charged, or if no attempt before the last one was charged. */
  readonly credits_consumed?: number;
};

/** `platform.payment`: how a wallet paid for an answer. */
export type PlatformPayment = {
  /** The ID of the payment; null if the balance paid for the request. */
  readonly id: string | null;
  readonly source: 'x402' | 'wallet_credits';
  readonly payer: string;
  /** The state of the payment when the answer was sent; `GET /v1/payments/{id}` returns later states. Null if the balance paid. */
  readonly state: string | null;
  readonly scheme: 'exact' | null;
  readonly network: string | null;
  readonly asset: string | null;
  /** The amount paid, in atomic units of the asset. */
  readonly paid_atomic: string | null;
  readonly transaction: string | null;
  readonly paid_credits: number;
  /** The part of the price that the settlement of the payment cost; 0 if nothing was charged. */
  readonly fee_credits: number;
  /** The change of the wallet's balance through this request; negative for a withdrawal. */
  readonly balance_added_credits: number;
};

/** How an exchange ended, in tokens and Credits. */
export interface Receipt {
  readonly usage: Usage;
  readonly platform: Platform | UnpricedPlatform;
  /** The saving against the baseline, for the tokens that were really used; negative if the chosen model cost more. */
  readonly saved: Microcredits;
}

/** The number of tokens of a prompt, and how it was found. */
export interface PromptCount {
  readonly inputTokens: number;
  /**
   * `counted`: the model's own tokenizer counted the texts; the tokens that templates add stay an estimate. `provider`: the provider of the
   * model counted. `estimated`: neither could count.
   */
  readonly basis: 'counted' | 'provider' | 'estimated';
}
