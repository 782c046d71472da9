/** A number or time as a person would write it. The page shows `short`; the pointer and the copy button give `exact`. */
export interface WrittenFigure {
  /** Three significant digits. */
  readonly short: string;
  /** All digits. */
  readonly exact: string;
  /** The number and unit, for a column that writes all its figures in one format (`column.ts`); absent for a text. */
  readonly amount?: FigureAmount;
}

export interface FigureAmount {
  readonly kind: 'figure' | 'percent' | 'usd' | 'sum' | 'price' | 'duration';
  /** The value in the unit of its kind: 0 to 1 for a share, dollars for USD, sums and prices, ms for a duration. */
  readonly value: number;
}

/** The text that replaces a missing figure. */
export const NONE: WrittenFigure = { short: '–', exact: 'no figure' };

const significant = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat('en', { maximumSignificantDigits: 3, notation: 'compact' });
const full = new Intl.NumberFormat('en', { maximumFractionDigits: 12 });

/** Writes a number: 0.0123 · 12.3 · 1,234 · 12.3K. Whole numbers up to 9,999 have no decimals. */
export function figure(value: number | null, unit = ''): WrittenFigure {
  if (value === null || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  const behind = unit === '' ? '' : ` ${unit}`;
  const isWhole = Number.isInteger(value) && size < 10_000;
  const short = isWhole
    ? full.format(value)
    : size < 1_000
      ? significant.format(value)
      : size < 10_000
        ? full.format(Math.round(value))
        : compact.format(value);
  const written = { short: short + behind, exact: full.format(value) + behind };
  return unit === '' ? { ...written, amount: { kind: 'figure', value } } : written;
}

/** Writes a count with its noun: `1 model`, `3 models`, `1,204 models`. */
export const plural = (count: number, noun: string): string =>
  `${figure(count).short} ${noun}${count === 1 ? '' : 's'}`;

/** Writes a ratio with the precision that people compare with: `5.3`, `12`. */
export const timesText = (times: number): string =>
  figure(times < 10 ? Math.round(times * 10) / 10 : Math.round(times)).short;

/** Writes a share, 0 to 1, in percent. */
export function percent(share: number | null): WrittenFigure {
  if (share === null || !Number.isFinite(share)) return NONE;
  const size = Math.abs(share);
  const short = size > 0 && size < 0.001 ? '< 0.1 %' : `${share < 0 ? '−' : ''}${significant.format(size * 100)} %`;
  return { short, exact: `${full.format(share * 100)} %`, amount: { kind: 'percent', value: share } };
}

/**
 * Writes an amount of USD.
 * @param value an exact decimal as the API writes it, or a number
 */
export function usd(value: string | number | null): WrittenFigure {
  const amount = value === null ? Number.NaN : Number(value);
  if (!Number.isFinite(amount)) return NONE;
  const sign = amount < 0 ? '−' : '';
  const size = Math.abs(amount);
  // Prices of single requests are far below a cent, but people read sums to the cent.
  const short =
    size === 0
      ? '0'
      : size < 0.0995
        ? significant.format(size)
        : size < 10_000
          ? cents.format(size)
          : compact.format(size);
  return {
    short: `${sign}$${short}`,
    exact: `${sign}$${typeof value === 'string' ? value.replace('-', '') : full.format(size)}`,
    amount: { kind: 'usd', value: amount },
  };
}

/** An amount as a sum of many charges: a column with a dollar or more shows cents. */
export const asSum = (written: WrittenFigure): WrittenFigure =>
  written.amount === undefined ? written : { ...written, amount: { ...written.amount, kind: 'sum' } };

/**
 * Writes a list price, which is never rounded.
 * @param value an exact decimal as the API writes it
 */
export function price(value: string | null): WrittenFigure {
  if (value === null) return NONE;
  const { exact } = usd(value);
  return { short: `$${allDecimals.format(Number(value))}`, exact, amount: { kind: 'price', value: Number(value) } };
}

const allDecimals = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 12 });
const cents = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/**
 * Writes a duration: `412 ms`, `2.15 s`, `3 min 12 s`.
 * @param ms milliseconds
 */
export function duration(ms: number | null): WrittenFigure {
  if (ms === null || !Number.isFinite(ms)) return NONE;
  const written = { exact: `${full.format(ms)} ms`, amount: { kind: 'duration', value: ms } } as const;
  if (ms < 1_000) return { ...written, short: `${significant.format(ms)} ms` };
  if (ms < MINUTE_MS) return { ...written, short: `${significant.format(ms / 1_000)} s` };
  return { ...written, short: span(ms) };
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
  ['s', 1_000],
] as const;

/** Writes a length of time in its two largest units: `2 d 4 h`. */
export function span(ms: number): string {
  const at = UNITS.findIndex(([, unit]) => ms >= unit);
  const [name, unit] = UNITS[at] ?? UNITS[3];
  const whole = Math.floor(ms / unit);
  const [nextName, next] = UNITS[at + 1] ?? ['', 0];
  const rest = next === 0 ? 0 : Math.floor((ms - whole * unit) / next);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${nextName}`;
}

/** Writes a time relative to now: `12 s ago`, `in 3 h`. @param time ms since 1970 @param now ms since 1970 */
export function relative(time: number, now: number): string {
  const away = Math.abs(time - now);
  if (away < 5_000) return 'just now';
  const [name, unit] = UNITS.find(([, size]) => away >= size) ?? UNITS[3];
  const text = `${Math.floor(away / unit)} ${name}`;
  return time < now ? `${text} ago` : `in ${text}`;
}

const exactly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
/** Writes the exact time in the viewer's time zone, with the name of the zone. */
export const exactTime = (time: number): string => exactly.format(time);

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayOf = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

export const clockTime = (time: number): string => clock.format(time);
const monthOf = new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric' });
/** Writes the month of a time in the viewer's time zone: `Nov 2026`. */
export const monthTime = (time: number): string => monthOf.format(time);
export const dayTime = (time: number): string => dayOf.format(time);
export const momentTime = (time: number): string => dayAndClock.format(time);

const list = new Intl.ListFormat('en-GB');
/** Writes a list: `a, b and c`. */
export const listText = (parts: readonly string[]): string => list.format(parts);

/** Whether a text is a wallet address. */
export const isAddress = (text: string): boolean => /^0x[0-9a-f]{40}$/i.test(text);
/** Shortens an address or hash to its first and last characters: `0x675871…2dc0bd`. */
export const shortAddress = (address: string): string => `${address.slice(0, 8)}…${address.slice(-6)}`;
