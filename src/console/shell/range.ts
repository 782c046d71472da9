import { computed } from '@preact/signals';
import { DAY_MS, HOUR_MS } from '../design/format.ts';
import { recall, remember } from './memory.ts';
import { AddressError, param, setParams } from './router.ts';

export const RANGES = {
  '1h': { label: 'Last hour', ms: HOUR_MS },
  '24h': { label: 'Last 24 hours', ms: DAY_MS },
  '7d': { label: 'Last 7 days', ms: 7 * DAY_MS },
  '30d': { label: 'Last 30 days', ms: 30 * DAY_MS },
  '90d': { label: 'Last 90 days', ms: 90 * DAY_MS },
} as const;
export type RangeName = keyof typeof RANGES;

const isRangeName = (name: string): name is RangeName => Object.hasOwn(RANGES, name);

/** The period that all views show: a range that ends now, or days that the viewer chose. */
export interface TimeRange {
  readonly name: RangeName | 'days';
  /** "Last 7 days", "3 Nov to 9 Nov", "October 2026". */
  readonly label: string;
  /** The range in a sentence: "the last 7 days", "3 Nov to 9 Nov". */
  readonly phrase: string;
  /** Its length, ms. */
  readonly ms: number;
  /** The first and the last day, `YYYY-MM-DD`, if the viewer chose days; otherwise null. */
  readonly days: { readonly from: string; readonly to: string } | null;
}

/**
 * Parses a day as midnight UTC.
 * @throws AddressError if the text is not a day
 */
function dayIn(name: 'from' | 'to'): Date {
  const text = param(name);
  const day = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00Z` : Number.NaN);
  // Some JavaScript engines parse 30 February as a day in March.
  if (!Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)) return day;
  const found = text === '' ? `has no \`${name}\`` : `has \`${name}=${text}\`, which is not a day`;
  throw new AddressError(`The address ${found}. A valid period looks like \`from=2026-11-01&to=2026-11-30\`.`);
}

const monthLabel = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayLabel = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Names a period by its first and last day: one day, a whole month, or both days. */
function daysLabel(first: Date, last: Date): string {
  const next = new Date(last.getTime() + DAY_MS);
  const isMonth = first.getUTCDate() === 1 && next.getUTCDate() === 1 && first.getUTCMonth() === last.getUTCMonth();
  if (isMonth && first.getUTCFullYear() === last.getUTCFullYear()) return monthLabel.format(first);
  return first.getTime() === last.getTime()
    ? dayLabel.format(first)
    : `${dayLabel.format(first)} to ${dayLabel.format(last)}`;
}

export const viewerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * The selected range: from the address, or else the last range of this browser, or else the last 24 hours. Reading `range` throws
 * AddressError if the range in the address is invalid.
 */
export const range = computed((): TimeRange => {
  const [from, to] = [param('from'), param('to')];
  if (from !== '' || to !== '') {
    const [first, last] = [dayIn('from'), dayIn('to')];
    if (first > last)
      throw new AddressError(
        `The address has a period from ${from} to ${to}, which ends before it begins. Swap the two days.`,
      );
    const label = daysLabel(first, last);
    return { name: 'days', label, phrase: label, ms: last.getTime() + DAY_MS - first.getTime(), days: { from, to } };
  }
  const named = [param('range'), recall('range') ?? ''].find(isRangeName) ?? '24h';
  return { name: named, ...RANGES[named], phrase: `the ${RANGES[named].label.toLowerCase()}`, days: null };
});

export function chooseRange(name: RangeName): void {
  remember('range', name);
  setParams({ range: name, from: null, to: null }, false);
}

export const chooseDays = (from: string, to: string): void => setParams({ range: null, from, to }, false);

/** Whether the address contains a range. A component that reads the range is rendered again when the address changes. */
export const isRangeStated = (): boolean => range.value.name === 'days' || param('range') === range.value.name;

/** Writes a range into the address, so that a link shows the same period. */
export function stateRange(name: RangeName | 'days' = range.value.name): void {
  if (name !== 'days' && param('range') !== name) setParams({ range: name, from: null, to: null });
}

/**
 * Returns the beginning and the end of a range. The end is null if the range ends now, because the server uses its own clock.
 * @param now ms since 1970
 */
export function endsOf(
  { days, ms }: Pick<TimeRange, 'ms' | 'days'>,
  now: number,
): { readonly from: number; readonly to: number | null } {
  if (!days) return { from: now - ms, to: null };
  // Days begin at midnight in the viewer's time zone.
  const next = new Date(`${days.to}T00:00`);
  next.setDate(next.getDate() + 1);
  return { from: new Date(`${days.from}T00:00`).getTime(), to: next.getTime() };
}
