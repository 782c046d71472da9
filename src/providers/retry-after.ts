import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time/clock.ts';

/** The longest wait that is accepted from a provider: a day, in ms. */
const RETRY_AFTER_MAX = DAY_MS;

/**
 * Returns the wait that a provider requests, in ms. Signalbox reads the wait from `retry-after-ms`, then from `retry-after` in seconds or
 * as a date. For a 429 without these headers, the function returns the time until the exhausted limit resets, according to OpenAI's or
 * Anthropic's headers. Returns undefined if no header is usable.
 *
 * @param now Unix ms, to compare dates with
 */
export function retryAfterMs(headers: Headers, now: number, status: number): number | undefined {
  const ms = headers.get('retry-after-ms');
  if (ms !== null && isNumber(ms)) return clampWait(Number(ms));
  return retryAfter(headers.get('retry-after'), now) ?? (status === 429 ? untilReset(headers, now) : undefined);
}

function retryAfter(after: string | null, now: number): number | undefined {
  if (after === null) return undefined;
  if (isNumber(after)) return clampWait(Number(after) * 1_000);
  // Date.parse accepts almost any text with a digit, but HTTP dates also have letters.
  return /[a-z]{3}/i.test(after) ? untilDate(after, now) : undefined;
}

const REMAINING = /^(?:x-ratelimit-remaining-([a-z-]+)|(anthropic-(?:ratelimit|priority)-[a-z-]+?)-remaining)$/;

/** Returns the longest wait among the exhausted limits, in ms. */
function untilReset(headers: Headers, now: number): number | undefined {
  let longest: number | undefined;
  for (const [name, left] of headers) {
    const limit = REMAINING.exec(name);
    if (!limit || !isNumber(left) || Number(left) > 0) continue;
    const [, ofOpenai, ofAnthropic] = limit;
    const wait = ofOpenai
      ? duration(headers.get(`x-ratelimit-reset-${ofOpenai}`))
      : instant(headers.get(`${ofAnthropic}-reset`), now);
    if (wait !== undefined && !(longest !== undefined && longest >= wait)) longest = wait;
  }
  return longest;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Parses `1s`, `6m0s`, `120ms` or `1h2m3.5s`. `duration` rejects a bare number, which may mean seconds or a date. */
function duration(text: string | null): number | undefined {
  if (text === null || !/^\s*(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\s*$/.test(text)) return undefined;
  let ms = 0;
  for (const [, figure, unit] of text.matchAll(/([\d.]+)(ms|[smhd])/g)) ms += Number(figure) * UNITS[unit!]!;
  return clampWait(ms);
}

/** Parses an RFC 3339 time, such as `2026-10-07T12:00:00Z`. */
function instant(text: string | null, now: number): number | undefined {
  return text !== null && /^\s*\d{4}-\d\d-\d\dT/.test(text) ? untilDate(text, now) : undefined;
}

function untilDate(text: string, now: number): number | undefined {
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : clampWait(date - now);
}

const isNumber = (text: string): boolean => /^\s*\d+(\.\d+)?\s*$/.test(text);

/** Limits a wait to whole ms from 0 to a day. */
export function clampWait(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), RETRY_AFTER_MAX);
}
