/**
 * Computes calendar windows in a different way than the ledger: `Intl` gives the local date of a time, and a search finds the first quarter
 * of an hour with that date. This method needs no knowledge of offsets or clock changes.
 */
export type Kind = 'day' | 'week' | 'month' | 'total';

export interface Span {
  readonly starts: number;
  readonly ends: number;
}

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** The local date at a time, as the number of days since 1970-01-01. */
export function localDay(zone: string, timeMs: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, year: 'numeric', month: 'numeric', day: 'numeric' });
    formats.set(zone, format);
  }
  const [month, day, year] = format.format(timeMs).split('/').map(Number);
  return Date.UTC(year!, month! - 1, day!) / DAY_MS;
}

const firsts = new Map<string, number>();

/** The first quarter of an hour whose local date is this day or a later day. */
export function firstOf(zone: string, day: number): number {
  const key = `${zone}/${day}`;
  const known = firsts.get(key);
  if (known !== undefined) return known;
  // Local midnight is within 14 hours of midnight UTC. A day that a zone skips adds a day.
  let before = (day * DAY_MS) / QUARTER_MS - 4 * 15;
  let at = (day * DAY_MS) / QUARTER_MS + 4 * 39;
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2);
    if (localDay(zone, middle * QUARTER_MS) >= day) at = middle;
    else before = middle;
  }
  firsts.set(key, at * QUARTER_MS);
  return at * QUARTER_MS;
}

/** 1970-01-01 was a Thursday. */
const mondayOf = (day: number): number => day - ((((day + 3) % 7) + 7) % 7);

function monthOf(day: number): [number, number] {
  const date = new Date(day * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return [Date.UTC(year, month, 1) / DAY_MS, Date.UTC(year, month + 1, 1) / DAY_MS];
}

export function spanOf(kind: Kind, zone: string, timeMs: number): Span {
  if (kind === 'total') return { starts: 0, ends: Number.POSITIVE_INFINITY };
  const day = localDay(zone, timeMs);
  const [first, next] =
    kind === 'day' ? [day, day + 1] : kind === 'week' ? [mondayOf(day), mondayOf(day) + 7] : monthOf(day);
  return { starts: firstOf(zone, first), ends: firstOf(zone, next) };
}
