import type { PlatformPayment } from '../../core/decision/answer.ts';
import type { AttemptRecord } from '../../core/decision/attempt.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { plainUsage } from '../../core/money/usage.ts';
import { type Timers, within } from '../../core/time/timers.ts';
import { outputCappedBy } from '../../routing/output-maximum.ts';
import type { MeasuredUsage } from '../money/meter.ts';
import { platformOf, savedBy } from '../money/receipt.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptShare } from './attempt-share.ts';
import type { Attempts } from './attempts.ts';
import type { ExchangeParts, RunnableRequest } from './runnable-request.ts';

/** How long an answer waits for its price, ms: twice the time in which a process that has lost its lease gets another lease. */
const BOOKED_WITHIN_MS = 10_000;

/** How an exchange ended. The other facts of the outcome follow from the decision and from the attempt that answered. */
interface ExchangeEnd extends Pick<DecisionOutcome, 'status' | 'error' | 'charged'> {
  readonly attempts: Pick<Attempts, 'records' | 'insteadOf'> & { readonly share: Pick<AttemptShare, 'full'> | null };
  /** Null if no usage is known. */
  readonly measured: MeasuredUsage | null;
  /** The fund that lacked money, so that the answer ended; null for none. */
  readonly cutBy: string | null;
}

/**
 * Returns the outcome of an exchange.
 * @param running the attempt that answered; null for none
 */
export function outcomeOf(
  { decision, runtime: { snapshot }, clock, startedAt, guardCalls }: RunnableRequest,
  running: Attempt | null,
  { status, error, attempts, measured, charged, cutBy }: ExchangeEnd,
): DecisionOutcome {
  const usage = measured?.usage ?? null;
  const firstAt = running?.meter.firstContentAt ?? null;
  const adapted = running?.fitted.adapted;
  return {
    status,
    error,
    attempts: withCharges(attempts.records, charged),
    usage,
    estimated: measured?.estimated ?? true,
    charged,
    saved: savedBy(charged, usage, snapshot.models[decision.baseline]!, decision.facts),
    cappedBy: cutBy ?? (running && outputCappedBy(running.way.ranked, running.model, decision.facts)),
    usageReplaced: running?.meter.isUsageReplaced ?? false,
    adapted: adapted?.length ? adapted : undefined,
    full: attempts.share?.full,
    insteadOf: attempts.insteadOf,
    guardCalls: guardCalls?.length ? [...guardCalls] : undefined,
    firstPartMs: firstAt === null ? null : Math.round(firstAt - startedAt),
    totalMs: Math.round(clock() - startedAt),
  };
}

/** Adds the charge of the last attempt, which is the rest, if earlier attempts were charged. */
function withCharges(attempts: readonly AttemptRecord[], charged: Microcredits): readonly AttemptRecord[] {
  if (attempts.every(isUncharged)) return [...attempts];
  const earlier = attempts.slice(0, -1);
  const last = attempts.at(-1);
  if (!last || earlier.every(isUncharged)) return attempts.map(withoutCharge);
  const rest = earlier.reduce((left, attempt) => left - (attempt.charged ?? 0), charged);
  return [...earlier, rest > 0 ? { ...last, charged: rest } : withoutCharge(last)];
}

const isUncharged = ({ charged }: AttemptRecord): boolean => charged === undefined;

function withoutCharge(attempt: AttemptRecord): AttemptRecord {
  if (isUncharged(attempt)) return attempt;
  const { charged: _, ...others } = attempt;
  return others;
}

/**
 * Returns the receipt of an exchange.
 * @param running the attempt that answered; null for none
 */
export function receiptOf(
  { decision, runtime: { snapshot } }: RunnableRequest,
  running: Attempt | null,
  outcome: DecisionOutcome,
  payment: PlatformPayment | null,
) {
  const choice = snapshot.models[decision.ranked[0].model]!.id;
  const model = running?.model.id ?? choice;
  const platform = platformOf(outcome, decision, choice, model, running?.dropped, payment);
  return { usage: outcome.usage ?? plainUsage(0, 0), platform, saved: outcome.saved };
}

/**
 * Returns a promise of whether a charge is known and durable. An instance that has lost the store or its lease answers without a price.
 * @param answering resolves once the books have answered; null if the books have already answered
 */
export function isBookedInTime(
  answering: Promise<unknown> | null,
  ledger: ExchangeParts['ledger'],
  timers: Timers,
): Promise<boolean> {
  return answering ? within(timers, BOOKED_WITHIN_MS, writtenAfter(answering, ledger), false) : ledger.written();
}

const writtenAfter = (answering: Promise<unknown>, ledger: ExchangeParts['ledger']): Promise<boolean> =>
  answering.then(() => ledger.written());
