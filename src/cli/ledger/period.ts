import { UsageError } from '../../core/usage-error.ts';
import { isTimeZone } from '../../core/zoned-time.ts';
import { monthPeriod, type UsagePeriod } from '../../operate/usage.ts';
import { needed } from '../arguments.ts';

const MONTH = /^\d{4}-\d{2}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Reads `--from` and `--to`, as milliseconds since 1970; `to` is exclusive, and Infinity for no end. Without `--to` a month is that
 * month, anything else has no end. Throws UsageError.
 */
export function periodOf(from: string | undefined, to: string | undefined, timeZone: string) {
  checkZone(timeZone);
  const first = from === undefined ? null : spanOf(from, timeZone);
  const last = to === undefined ? null : spanOf(to, timeZone);
  const end = first?.isMonth ? first.ends : Number.POSITIVE_INFINITY;
  const period = { from: first?.starts ?? 0, to: last ? last.starts : end };
  if (period.from >= period.to) throw new UsageError(`--to ${to} must be later than --from ${from ?? '1970-01-01'}.`);
  return period;
}

/** The span that `T` names: a month, a day, or a moment without length. */
function spanOf(text: string, timeZone: string) {
  try {
    if (MONTH.test(text)) return daysFrom(Temporal.PlainDate.from(`${text}-01`), { months: 1 }, timeZone);
    if (DAY.test(text)) return daysFrom(Temporal.PlainDate.from(text), { days: 1 }, timeZone);
    const moment = Temporal.Instant.from(text).epochMilliseconds;
    return { starts: moment, ends: moment, isMonth: false };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new UsageError(`Write a time such as 2026-11, 2026-11-20 or 2026-11-20T08:00:00Z, not "${text}".`);
  }
}

function daysFrom(first: Temporal.PlainDate, length: { months?: number; days?: number }, timeZone: string) {
  const beginning = (date: Temporal.PlainDate) => date.toZonedDateTime({ timeZone }).epochMilliseconds;
  return { starts: beginning(first), ends: beginning(first.add(length)), isMonth: length.months !== undefined };
}

/** Reads `--month`, which stands in place of `--from` and `--to`; null without it. @param now ms since 1970. Throws UsageError. */
export function monthOf(
  { month, from, to }: { readonly month?: string; readonly from?: string; readonly to?: string },
  timeZone: string,
  now: number,
): UsagePeriod | null {
  if (month === undefined) return null;
  checkZone(timeZone);
  if (from !== undefined || to !== undefined) throw new UsageError('Write --month, or --from and --to, not both.');
  const form = `--month takes last, this or a month such as 2026-11, not "${month}".`;
  return needed(monthPeriod(month, timeZone, now), form);
}

/** Throws UsageError for an unknown time zone. */
function checkZone(timeZone: string): void {
  if (isTimeZone(timeZone)) return;
  throw new UsageError(`There is no time zone "${timeZone}"; write one such as UTC or Europe/Berlin.`);
}
