import { refuse, SignalboxError } from '../../../core/errors.ts';
import { orElse } from '../../../core/thrown.ts';
import { parseMoment } from '../../../core/time/clock.ts';
import { isTimeZone } from '../../../core/time/zoned-time.ts';

/** A period of time, ms since 1970. `to` is exclusive. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A period of whole days. */
export interface UsagePeriod {
  readonly from: Temporal.PlainDate;
  /** The day after the last day. */
  readonly to: Temporal.PlainDate;
  /** IANA name of the time zone in which days begin. */
  readonly timeZone: string;
}

/** The query parameters of a period. Absent parameters have defaults. */
export interface StatedPeriod {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Replaces `from` and `to`. */
  readonly month?: string | undefined;
  readonly timeZone?: string | undefined;
}

/** The default number of days of a usage report. */
const DAYS = 30;
/** The most days of a usage report. */
const DAYS_MAX = 366;
/** All entries of the ledger are later than the first year, and reports end before the last year. */
const [FIRST_YEAR, LAST_YEAR] = [2_000, 2_200];

/** The part of an invalid text that an error message quotes. */
export const shown = (text: string): string => `\`${text.slice(0, 64)}\``;

/** @throws SignalboxError for a zone without an IANA name. With an offset such as +01:07, days would begin within a quarter of an hour. */
export function checkZone(timeZone: string): void {
  if (/^[A-Za-z]/.test(timeZone) && isTimeZone(timeZone)) return;
  refuse('time_zone', `The time zone ${shown(timeZone)} is unknown. Use an IANA name such as UTC or Europe/Berlin.`);
}

/** Reads a day such as `2026-11-20`; null for any other text. */
const dayIn = (text: string): Temporal.PlainDate | null =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) ? orElse(() => Temporal.PlainDate.from(text), null) : null;

/** Converts a period of whole days to ms since 1970. */
export function spanOf({ from, to, timeZone }: UsagePeriod): Stretch {
  const beginning = (date: Temporal.PlainDate) => date.toZonedDateTime({ timeZone }).epochMilliseconds;
  return { from: beginning(from), to: beginning(to) };
}

/** Returns the month that `2026-11`, `this` or `last` names; null for other texts. @param now ms since 1970 */
export function monthIn(text: string, timeZone: string, now: number): UsagePeriod | null {
  const ago = ['this', 'last'].indexOf(text);
  const named = ago < 0 ? dayIn(`${text}-01`) : todayIn(timeZone, now).with({ day: 1 }).subtract({ months: ago });
  return named && { from: named, to: named.add({ months: 1 }), timeZone };
}

const todayIn = (timeZone: string, now: number): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate();

/** Returns the period that a text names: a month or a day in a time zone, or a moment with the length 0. Null for other texts. */
export function stretchIn(text: string, timeZone: string): Stretch | null {
  const day = dayIn(text);
  if (day) return spanOf({ from: day, to: day.add({ days: 1 }), timeZone });
  const month = /^\d{4}-\d{2}$/.test(text) ? monthIn(text, timeZone, 0) : null;
  if (month) return spanOf(month);
  const moment = parseMoment(text);
  return moment === null ? null : { from: moment, to: moment };
}

/** Reads a moment. A day begins in the time zone. Null if the parameter is absent. @throws SignalboxError */
export function momentIn(param: 'from' | 'to', text: string | undefined, timeZone: string): number | null {
  if (text === undefined) return null;
  const stretch = stretchIn(text, timeZone);
  if (!stretch)
    return refuse(param, `\`${param}\` must look like 2026-11-20 or 2026-11-20T08:00Z, not ${shown(text)}.`);
  if (stretch.from >= 0 && stretch.from < Date.UTC(LAST_YEAR, 0)) return stretch.from;
  return outOfRange(param, text, ['1970-01-01', `${LAST_YEAR - 1}-12-31`]);
}

/** Refuses a day or a month that is too early or too late. @throws SignalboxError */
const outOfRange = (param: string, text: string, [first, last]: readonly [string, string]): never =>
  refuse(param, `\`${param}\` must be from ${first} to ${last}, not ${shown(text)}.`);

/**
 * Reads the period of a usage report. The default is the 30 days that end today.
 * @param now ms since 1970
 * @throws SignalboxError
 */
export function periodOf({ from, to, month, timeZone = 'UTC' }: StatedPeriod, now: number): UsagePeriod {
  checkZone(timeZone);
  const found = month === undefined ? daysOf({ from, to, timeZone }, now) : monthOf(month, from ?? to, timeZone, now);
  const { days } = found.from.until(found.to);
  if (days < 1) refuse('to', `\`to\` is ${found.to}. It must be later than \`from\`, which is ${found.from}.`);
  if (days <= DAYS_MAX) return found;
  const message = `A report covers at most ${DAYS_MAX} days. From ${found.from} to ${found.to} are ${days} days.`;
  throw new SignalboxError('out_of_range', message, { param: 'from' });
}

function daysOf({ from, to, timeZone }: StatedPeriod & Pick<UsagePeriod, 'timeZone'>, now: number): UsagePeriod {
  const day = (name: 'from' | 'to', text: string | undefined) => {
    const date = text === undefined ? null : dayIn(text);
    if (text === undefined || (date && isPlausible(date))) return date;
    if (date) return outOfRange(name, text, [`${FIRST_YEAR}-01-01`, `${LAST_YEAR}-12-31`]);
    return refuse(name, `\`${name}\` must be a day such as 2026-11-20, not ${shown(text)}.`);
  };
  const [first, last] = [day('from', from), day('to', to)];
  const end = last ?? todayIn(timeZone, now).add({ days: 1 });
  return { from: first ?? end.subtract({ days: DAYS }), to: end, timeZone };
}

function monthOf(text: string, day: string | undefined, timeZone: string, now: number): UsagePeriod {
  if (day !== undefined) refuse('month', 'Send either `month`, or `from` and `to`.');
  const found = monthIn(text, timeZone, now);
  if (found && isPlausible(found.from)) return found;
  if (found) return outOfRange('month', text, [`${FIRST_YEAR}-01`, `${LAST_YEAR}-12`]);
  return refuse('month', `\`month\` must be \`last\`, \`this\` or a month such as 2026-11, not ${shown(text)}.`);
}

const isPlausible = ({ year }: Temporal.PlainDate): boolean => year >= FIRST_YEAR && year <= LAST_YEAR;
