import { type Microcredits, toCredits } from '../../core/credits.ts';
import type { AttemptRecord, DecisionOutcome, DecisionRecord } from '../../core/decision-record.ts';
import type { Facts } from '../../core/facts.ts';
import { idText } from '../../core/id.ts';
import { costOf } from '../../core/price.ts';
import type { Model } from '../../core/snapshot.ts';
import type { Usage } from '../../core/usage.ts';

/** `platform` beside an answer: its model, price and attempts. The same in JSON and in a stream. */
export interface Platform {
  readonly routed_model: string;
  readonly route_reason: string;
  readonly credits_consumed: number;
  readonly cost_saved_credits: number;
  readonly decision_id: string;
  readonly policy_revision: string;
  /** True when tokens were counted here rather than reported by the upstream. */
  readonly estimated: boolean;
  /** Fields of the request that neither Signalbox nor the model took. */
  readonly dropped: readonly string[];
  /** Fields that reached the model in another form, such as `tool_choice` as a schema of the answer; absent for none. */
  readonly adapted?: readonly string[];
  /** The attempts made, in their order; the last one answered unless it has a `failure`. */
  readonly attempts: readonly PlatformAttempt[];
  /** What lowered the cap on the output, reached or not: a budget's name, `balance`, or `model`; absent for none of them. */
  readonly output_capped_by?: string;
  /** The one change of an answer that goes out as it came: its service's usage cannot be true, so the count made here stands there. Absent for none. */
  readonly usage_replaced?: true;
  /** How a wallet paid for it; absent for a key's own funds. */
  readonly payment?: PlatformPayment;
}

/** The same without a price, because the charge could not be written down: a crash would change it. */
interface UnpricedPlatform extends Omit<Platform, 'credits_consumed' | 'cost_saved_credits' | 'payment'> {
  readonly credits_consumed: null;
  readonly cost_saved_credits: null;
}

type PlatformAttempt = {
  readonly model: string;
  /** The policy's name of the provider. */
  readonly provider: string;
  /** Milliseconds from sending to the end. */
  readonly ms: number;
  /** The kind of failure; null for none. */
  readonly failure: string | null;
  /** The provider's own name of the request; null where it gave none. */
  readonly request_id: string | null;
  /** Why each choice ended, in the provider's own words. */
  readonly finish_reasons: readonly string[];
};

/** `platform.payment`: how a wallet paid for an answer. */
export type PlatformPayment = {
  /** Of the payment; null where the request ran on balance. */
  readonly id: string | null;
  readonly source: 'x402' | 'wallet_credits';
  readonly payer: string;
  /** As it stands with the answer; `GET /v1/payments/{id}` tells later ones. Null for balance. */
  readonly state: string | null;
  readonly scheme: 'exact' | null;
  readonly network: string | null;
  readonly asset: string | null;
  /** The amount paid, in atomic units of the asset. */
  readonly paid_atomic: string | null;
  readonly transaction: string | null;
  readonly paid_credits: number;
  /** The part of it that the settlement cost; 0 where nothing was charged. */
  readonly fee_credits: number;
  /** The change of the wallet's balance by this request; negative for a withdrawal. */
  readonly balance_added_credits: number;
};

/** How an exchange ended, in tokens and Credits. */
export interface Receipt {
  readonly usage: Usage;
  readonly platform: Platform | UnpricedPlatform;
  /** Against the baseline, on the tokens really used; negative when the choice cost more. */
  readonly saved: Microcredits;
}

function platformAttempt(attempt: AttemptRecord): PlatformAttempt {
  const { model, provider, ms, failure, requestId, finishReasons } = attempt;
  return { model, provider, ms, failure, request_id: requestId, finish_reasons: finishReasons };
}

/**
 * Returns the amount that a charge saves against the baseline on the same tokens: negative when the choice cost more.
 * @param usage null when no attempt is charged
 */
export function savedBy(
  charged: Microcredits,
  usage: Usage | null,
  baseline: Model,
  { pinned }: Pick<Facts, 'pinned'>,
): Microcredits {
  if (pinned) return 0;
  // Where nothing was answered the baseline had cost nothing either, not even its fee for a request.
  return (usage === null ? 0 : costOf(baseline.endpoints[0].price, usage)) - charged;
}

const NONE: readonly string[] = [];

/**
 * Returns `platform` of an answer.
 * @param model ID of the model that answered; of the choice when none did
 * @param payment null for a key's own funds
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
