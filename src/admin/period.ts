import { Type } from '@sinclair/typebox';
import { SignalboxError } from '../core/errors.ts';
import { isTimeZone } from '../core/zoned-time.ts';
import { monthPeriod, parseDay, type UsagePeriod, usagePeriod } from '../operate/usage.ts';
import * as f from './kit/fields.ts';

/** Days of a report at most. */
const DAYS_MAX = 366;
/** The entries of the books begin later, and no report reaches further. */
const YEAR_MIN = 2_000;
const YEAR_MAX = 2_200;

/** A day, or a moment that begins with one. */
const MOMENT = { pattern: '^\\d{4}-\\d{2}-\\d{2}' };

/** The members of an input that state the period of a report. */
export const period = f.allOptional({
  from: f.inCommand(f.formed('The first day, such as `2026-11-01`; 30 days before `to` unless given.', MOMENT), {
    form: 'DAY',
  }),
  to: f.inCommand(f.formed('The day after the last one, such as `2026-12-01`; tomorrow unless given.', MOMENT), {
    form: 'DAY',
  }),
  month: f.inCommand(
    f.formed('In place of `from` and `to`: `last`, `this`, or a month such as `2026-11`.', {
      pattern: '^(last|this|\\d{4}-\\d{2})$',
    }),
    { form: 'last' },
  ),
  time_zone: f.inCommand(
    f.text('IANA name of the zone in which days begin, such as `Europe/Berlin`; UTC unless given.'),
    { form: 'ZONE' },
  ),
});

interface StatedPeriod {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly month?: string | undefined;
  readonly timeZone?: string | undefined;
}

/**
 * Reads the period of a report.
 * @param now ms since 1970
 * @throws SignalboxError
 */
export function periodOf({ from, to, month, timeZone = 'UTC' }: StatedPeriod, now: number): UsagePeriod {
  checkZone(timeZone);
  const found =
    month === undefined
      ? usagePeriod({ from: dayOf('from', from), to: dayOf('to', to) }, timeZone, now)
      : monthOf(month, (from ?? to) !== undefined, timeZone, now);
  const days = found.from.until(found.to).days;
  if (days < 1) f.refuse('to', `\`to\` is ${found.to}. It must be later than \`from\`, which is ${found.from}.`);
  if (days <= DAYS_MAX) return found;
  const message = `A report covers at most ${DAYS_MAX} days; from ${found.from} to ${found.to} are ${days}.`;
  throw new SignalboxError('out_of_range', message, { param: 'from' });
}

function monthOf(text: string, hasDays: boolean, timeZone: string, now: number): UsagePeriod {
  if (hasDays) f.refuse('month', '`month` stands in place of `from` and `to`.');
  const found = monthPeriod(text, timeZone, now);
  if (found && isPlausible(found.from)) return found;
  return f.refuse(
    'month',
    `\`month\` must be \`last\`, \`this\` or a month such as 2026-11, not \`${text.slice(0, 64)}\`.`,
  );
}

function checkZone(timeZone: string): void {
  // The days of an offset such as +01:07 begin amid a quarter of an hour that sums are kept by.
  if (/^[A-Za-z]/.test(timeZone) && isTimeZone(timeZone)) return;
  const shown = timeZone.slice(0, 64);
  f.refuse('time_zone', `The time zone \`${shown}\` is unknown. Use an IANA name such as UTC or Europe/Berlin.`);
}

const isPlausible = ({ year }: Temporal.PlainDate): boolean => year >= YEAR_MIN && year <= YEAR_MAX;

function dayOf(name: 'from' | 'to', text: string | undefined): Temporal.PlainDate | null {
  if (text === undefined) return null;
  const date = parseDay(text);
  if (date && isPlausible(date)) return date;
  return f.refuse(name, `\`${name}\` must be a day such as 2026-11-20, not \`${text.slice(0, 64)}\`.`);
}

/** A day in an answer. */
export const day = (description: string, example: string) =>
  Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: [example] });

/** The members of an answer that tell its period. */
export const reported = {
  object: f.always('usage'),
  from: day('The first day.', '2026-10-22'),
  to: day('The day after the last one.', '2026-11-21'),
  time_zone: f.text('IANA name of the zone in which days begin.', 'UTC'),
};
