import type { DecisionOutcome } from '../core/decision-record.ts';
import type { MeasuredUsage } from '../money/meter.ts';
import type { Receipt } from '../money/receipt.ts';

/** The end of an exchange, beside its receipt. */
interface ExchangeEnd
  extends Pick<DecisionOutcome, 'status' | 'error' | 'attempts' | 'charged' | 'firstPartMs' | 'totalMs'> {
  /** Null where nothing is known to be used. */
  readonly measured: MeasuredUsage | null;
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
  firstPartMs,
  totalMs,
});
