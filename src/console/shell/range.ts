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

/** The period that all views show: one that ends now, or days that were chosen. */
export interface TimeRange {
  readonly name: RangeName | 'days';
  /** "Last 7 days", "3 Nov to 9 Nov". */
  readonly label: string;
  /** Its length, ms. */
  readonly ms: number;
  /** Its first and its last day, `YYYY-MM-DD`, of chosen days; null else. */
  readonly days: { readonly from: string; readonly to: string } | null;
}

/** A day at midnight UTC. @throws AddressError for a text that is no day */
function dayIn(name: 'from' | 'to'): Date {
  const text = param(name);
  const day = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00Z` : Number.NaN);
  // Some engines read 30 February as a day of March.
  if (!Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)) return day;
  const found = text === '' ? `has no \`${name}\`` : `has \`${name}=${text}\`, which is not a day`;
  throw new AddressError(`The address ${found}: a period looks like \`from=2026-11-01&to=2026-11-30\`.`);
}

const dayLabel = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** The selected range: of the address, else the one that this browser had last, else a day. Reading it throws AddressError. */
export const range = computed((): TimeRange => {
  const [from, to] = [param('from'), param('to')];
  if (from !== '' || to !== '') {
    const [first, last] = [dayIn('from'), dayIn('to')];
    if (first > last)
      throw new AddressError(`The address has a period from ${from} to ${to}, which ends before it begins.`);
    const label = from === to ? dayLabel.format(first) : `${dayLabel.format(first)} to ${dayLabel.format(last)}`;
    return { name: 'days', label, ms: last.getTime() + DAY_MS - first.getTime(), days: { from, to } };
  }
  const named = [param('range'), recall('range') ?? ''].find(isRangeName) ?? '24h';
  return { name: named, ...RANGES[named], days: null };
});

export function chooseRange(name: RangeName): void {
  remember('range', name);
  setParams({ range: name, from: null, to: null }, false);
}

export const chooseDays = (from: string, to: string): void => setParams({ range: null, from, to }, false);

/** Whether the address has a range. Read in a component, it follows the address. */
export const isRangeStated = (): boolean => range.value.name === 'days' || param('range') === range.value.name;

/** Writes a range into the address, so that a link shows the same. */
export function stateRange(name: RangeName | 'days' = range.value.name): void {
  if (name !== 'days' && param('range') !== name) setParams({ range: name, from: null, to: null });
}

/** The ends of a range as moments. The end of one that ends now is null: the server's own now. @param now ms since 1970 */
export function endsOf({ days, ms }: TimeRange, now: number): { readonly from: number; readonly to: number | null } {
  if (!days) return { from: now - ms, to: null };
  // Days begin where the viewer is.
  const next = new Date(`${days.to}T00:00`);
  next.setDate(next.getDate() + 1);
  return { from: new Date(`${days.from}T00:00`).getTime(), to: next.getTime() };
}
