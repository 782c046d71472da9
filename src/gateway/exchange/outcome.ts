import type { DecisionOutcome } from '../../core/decision-record.ts';
import { type Timers, within } from '../../core/timers.ts';
import { outputCappedBy } from '../../routing/output-maximum.ts';
import type { FundedHold } from '../money/funding.ts';
import type { MeasuredUsage } from '../money/meter.ts';
import { type Receipt, type ExchangeEnd as ReceiptFacts, receiptOf } from '../money/receipt.ts';
import type { Attempt } from './attempt.ts';
import type { GrowingAnswer } from './growing-answer.ts';
import type { ExchangeParts, RunnableRequest } from './runnable-request.ts';

/** How long an answer waits for its price, ms: twice what a process that has lost its lease needs for another. */
const BOOKED_WITHIN_MS = 10_000;

/** What a receipt shows beside the decision and the attempt that answered. */
interface AttemptFacts extends Pick<ReceiptFacts, 'measured' | 'charged' | 'attempts'> {
  readonly funded: FundedHold;
  readonly growing: GrowingAnswer | null;
}

/** The receipt of an exchange. @param running the attempt that answered; null for none */
export function attemptReceipt(
  { decision, runtime: { snapshot } }: RunnableRequest,
  running: Attempt | null,
  { measured, charged, attempts, funded, growing }: AttemptFacts,
) {
  const choice = decision.ranked[0].model;
  return receiptOf({
    decision,
    baseline: snapshot.models[decision.baseline]!,
    model: (running?.model ?? snapshot.models[choice]!).id,
    fallback: running !== null && running.way.ranked.model !== choice,
    measured,
    charged,
    dropped: running?.dropped ?? [],
    adapted: running?.fitted.adapted ?? [],
    attempts,
    payment: funded.shown(charged),
    cappedBy: growing?.cutBy ?? (running && outputCappedBy(running.way.ranked, running.model, decision.facts)),
    usageReplaced: running?.meter.isUsageReplaced ?? false,
  });
}

/** The end of an exchange, beside its receipt. */
interface ExchangeEnd
  extends Pick<DecisionOutcome, 'status' | 'error' | 'attempts' | 'charged' | 'firstPartMs' | 'totalMs'> {
  /** Null where nothing is known to be used. */
  readonly measured: MeasuredUsage | null;
}

/**
 * Resolves with whether a charge is known, and outlives this process. An instance that has lost the store or its lease answers
 * without a price.
 * @param answering resolves once the books have answered; null where they have
 */
export function isBookedInTime(
  answering: Promise<unknown> | null,
  ledger: ExchangeParts['ledger'],
  timers: Timers,
): Promise<boolean> {
  if (!answering) return ledger.written();
  const written = answering.then(() => ledger.written());
  return within(timers, BOOKED_WITHIN_MS, written, false);
}

/** The end of a chat, as the record of its decision keeps it. */
export const outcomeOf = (
  { usage, saved, platform }: Receipt,
  { status, error, attempts, measured, charged, firstPartMs, totalMs }: ExchangeEnd,
): DecisionOutcome => ({
  status,
  error,
  attempts,
  usage: measured && usage,
  estimated: platform.estimated,
  charged,
  saved,
  cappedBy: platform.output_capped_by ?? null,
  usageReplaced: platform.usage_replaced ?? false,
  ...(platform.adapted && { adapted: platform.adapted }),
  firstPartMs,
  totalMs,
});
