import type { Platform, PlatformPayment, Receipt } from '../../core/decision/answer.ts';
import { CallerAttempt } from '../../core/decision/attempt.ts';
import { fallbackReason } from '../../core/decision/decision.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import type { GuardCall } from '../../core/decision/verdict.ts';
import { writerOf } from '../../core/define/fields.ts';
import { idText } from '../../core/id.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { costOf, expectedPrice } from '../../core/money/price.ts';
import type { Usage } from '../../core/money/usage.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';

const callerAttempt = writerOf(CallerAttempt);

/**
 * Returns the amount that a charge saves against the baseline for the same tokens at the service tier of the request; negative if the chosen model cost more.
 * @param usage null if no attempt is charged
 */
export function savedBy(
  charged: Microcredits,
  usage: Usage | null,
  baseline: Model,
  { named, addOns }: Pick<Facts, 'named' | 'addOns'>,
): Microcredits {
  if (named !== null) return 0;
  // If nothing was answered, the baseline would have cost nothing either, not even its fee for a request.
  return (usage === null ? 0 : costOf(expectedPrice(baseline.endpoints[0].price, addOns), usage)) - charged;
}

const NONE: readonly string[] = [];

/** The parts of a decision that an answer shows. */
interface DecisionHead extends Pick<DecisionRecord, 'id' | 'revision' | 'reason'> {
  readonly facts: Pick<Facts, 'alias'>;
}

/**
 * Makes the member `platform` of an answer.
 * @param choice the ID of the chosen model
 * @param model the ID of the model that answered, or of the chosen model if none answered
 * @param payment null if the key's own funds paid
 */
export function platformOf(
  outcome: DecisionOutcome,
  { id, revision, reason, facts }: DecisionHead,
  choice: string,
  model: string,
  dropped = NONE,
  payment: PlatformPayment | null = null,
): Platform {
  return {
    routed_model: model,
    alias: facts.alias ?? undefined,
    route_reason: model === choice ? reason : laterReason(reason, outcome),
    instead_of: outcome.insteadOf,
    credits_consumed: toCredits(outcome.charged),
    cost_saved_credits: toCredits(outcome.saved),
    decision_id: idText('dec_', id),
    policy_revision: revision,
    estimated: outcome.estimated,
    dropped,
    adapted: outcome.adapted,
    attempts: outcome.attempts.map(callerAttempt),
    output_capped_by: outcome.cappedBy ?? undefined,
    usage_replaced: outcome.usageReplaced || undefined,
    guard_credits_consumed: outcome.guardCalls && guardCredits(outcome.guardCalls),
    payment: payment ?? undefined,
  };
}

/** Returns the Credits that guards charged. */
const guardCredits = (calls: readonly GuardCall[]): number =>
  toCredits(calls.reduce((sum, { charged }) => sum + charged, 0));

/** Returns the reason for a model that was tried after the choice, because an attempt or an answer failed. */
const laterReason = (reason: string, { attempts }: Pick<DecisionOutcome, 'attempts'>): string =>
  attempts.at(-1)?.after === undefined ? fallbackReason(reason) : `${reason}:second_attempt`;

/** Returns the receipt of an exchange whose charge is neither in the database nor in the spool. */
export function withoutPrice(receipt: Receipt): Receipt {
  const { payment: _, ...known }: Omit<Platform, 'credits_consumed' | 'cost_saved_credits'> = receipt.platform;
  const attempts = known.attempts.map(({ credits_consumed: _, ...attempt }) => attempt);
  return { ...receipt, platform: { ...known, attempts, credits_consumed: null, cost_saved_credits: null } };
}
