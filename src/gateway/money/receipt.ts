import { type Microcredits, toCredits } from '../../core/credits.ts';
import type { AttemptRecord, DecisionOutcome, DecisionRecord } from '../../core/decision-record.ts';
import type { Facts } from '../../core/facts.ts';
import { idText } from '../../core/id.ts';
import { costOf } from '../../core/price.ts';
import type { Model } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';

/** The member `platform` of an answer has the answer's model, price and attempts. JSON answers and streams have the same `platform`. */
export interface Platform {
  readonly routed_model: string;
  readonly route_reason: string;
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
  /** How a wallet paid for the answer; absent if the key's own funds paid. */
  readonly payment?: PlatformPayment;
}

/** `platform` without a price, because the charge could not be stored: after a crash, the charge could be different. */
interface UnpricedPlatform extends Omit<Platform, 'credits_consumed' | 'cost_saved_credits' | 'payment'> {
  readonly credits_consumed: null;
  readonly cost_saved_credits: null;
}

type PlatformAttempt = {
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

function platformAttempt(attempt: AttemptRecord): PlatformAttempt {
  const { model, provider, ms, failure, requestId, finishReasons } = attempt;
  return { model, provider, ms, failure, request_id: requestId, finish_reasons: finishReasons };
}

/**
 * Returns the amount that a charge saves against the baseline for the same tokens; negative if the chosen model cost more.
 * @param usage null if no attempt is charged
 */
export function savedBy(
  charged: Microcredits,
  usage: Usage | null,
  baseline: Model,
  { pinned }: Pick<Facts, 'pinned'>,
): Microcredits {
  if (pinned) return 0;
  // If nothing was answered, the baseline would have cost nothing either, not even its fee for a request.
  return (usage === null ? 0 : costOf(baseline.endpoints[0].price, usage)) - charged;
}

const NONE: readonly string[] = [];

/**
 * Makes the member `platform` of an answer.
 * @param model the ID of the model that answered, or of the chosen model if none answered
 * @param payment null if the key's own funds paid
 */
export function platformOf(
  outcome: DecisionOutcome,
  { id, revision, reason, choice }: Pick<DecisionRecord, 'id' | 'revision' | 'reason' | 'choice'>,
  model: string,
  dropped = NONE,
  payment: PlatformPayment | null = null,
): Platform {
  return {
    routed_model: model,
    route_reason: model === choice ? reason : `${reason}:fallback`,
    credits_consumed: toCredits(outcome.charged),
    cost_saved_credits: toCredits(outcome.saved),
    decision_id: idText('dec_', id),
    policy_revision: revision,
    estimated: outcome.estimated,
    dropped,
    adapted: outcome.adapted,
    attempts: outcome.attempts.map(platformAttempt),
    output_capped_by: outcome.cappedBy ?? undefined,
    usage_replaced: outcome.usageReplaced || undefined,
    payment: payment ?? undefined,
  };
}

/** Returns the receipt of an exchange whose charge is neither in the database nor in the spool. */
export function withoutPrice(receipt: Receipt): Receipt {
  const { payment: _, ...known }: Omit<Platform, 'credits_consumed' | 'cost_saved_credits'> = receipt.platform;
  return { ...receipt, platform: { ...known, credits_consumed: null, cost_saved_credits: null } };
}
