import { monthIn, type Stretch, spanOf, stretchIn } from '../../admin/use-cases/report/period.ts';
import { SignalboxError } from '../../core/errors.ts';
import { isTimeZone } from '../../core/time/zoned-time.ts';
import { UsageError } from '../../core/usage-error.ts';
import { needed } from '../arguments.ts';

/** Explains the form of a time in the help. */
export const MOMENT = 'T is a month (2026-11), a day (2026-11-20) or a time (2026-11-20T08:00Z).';

/**
 * Reads `--from` and `--to`. Without `--to`, a month in `--from` is the whole period; any other `--from` has the end Infinity. Throws
 * UsageError.
 */
export function flagPeriod(from: string | undefined, to: string | undefined, timeZone: string): Stretch {
  if (!isTimeZone(timeZone)) {
    throw new UsageError(`There is no time zone "${timeZone}". Use an IANA name such as UTC or Europe/Berlin.`);
  }
  const [first, last] = [from, to].map((text) => {
    const form = `Write a time such as 2026-11, 2026-11-20 or 2026-11-20T08:00:00Z, not "${text}".`;
    return text === undefined ? null : needed(stretchIn(text, timeZone), form);
  });
  const end = from?.length === '2026-11'.length ? first?.to : undefined;
  const period = { from: first?.from ?? 0, to: last?.from ?? end ?? Number.POSITIVE_INFINITY };
  if (period.from >= period.to) throw new UsageError(`--to ${to} must be later than --from ${from ?? '1970-01-01'}.`);
  return period;
}

/**
 * Reads `--month`, which replaces `--from` and `--to`.
 * @param now ms since 1970
 * @returns null without `--month`
 * @throws UsageError
 */
export function flagMonth(
  { month, from, to }: { readonly month?: string; readonly from?: string; readonly to?: string },
  timeZone: string,
  now: number,
): Stretch | null {
  if (month === undefined) return null;
  const days = flagPeriod(from, to, timeZone);
  if (days.from > 0 || days.to < Number.POSITIVE_INFINITY) {
    throw new UsageError('--month contradicts --from and --to. Give either --month, or --from and --to.');
  }
  const form = `--month must be last, this or a month such as 2026-11, not "${month}".`;
  return spanOf(needed(monthIn(month, timeZone, now), form));
}

/**
 * Runs a function that reads input of the API.
 * @throws UsageError, with the names of flags instead of the names of JSON members
 */
export function inFlags<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof SignalboxError)) throw cause;
    throw new UsageError(
      cause.message.replaceAll(/`([a-z_]+)`/g, (_, name: string) => `--${name.replaceAll('_', '-')}`),
    );
  }
}
