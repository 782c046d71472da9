import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock.ts';

/** The longest wait that is accepted from a provider: a day, in ms. */
const RETRY_AFTER_MAX = DAY_MS;

/**
 * Returns the wait that a provider requests, in ms: from `retry-after-ms`, else `retry-after` in seconds or as a date;
 * else, for a 429, until the exhausted limit resets, by OpenAI's or Anthropic's headers. Undefined if none is usable.
 *
 * @param now epoch ms, to compare dates with
 */
export function retryAfterMs(headers: Headers, now: number, status: number): number | undefined {
  const ms = headers.get('retry-after-ms');
  if (ms !== null && isNumber(ms)) return clampWait(Number(ms));
  return retryAfter(headers.get('retry-after'), now) ?? (status === 429 ? untilReset(headers, now) : undefined);
}

function retryAfter(after: string | null, now: number): number | undefined {
  if (after === null) return undefined;
  if (isNumber(after)) return clampWait(Number(after) * 1_000);
  // Date.parse accepts almost any text with a digit; HTTP dates have letters.
  return /[a-z]{3}/i.test(after) ? untilDate(after, now) : undefined;
}

const REMAINING = /^(?:x-ratelimit-remaining-([a-z-]+)|(anthropic-(?:ratelimit|priority)-[a-z-]+?)-remaining)$/;

/** The longest wait among the exhausted limits. */
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

/** `1s`, `6m0s`, `120ms`, `1h2m3.5s`. Not a bare number: it may mean seconds or a date. */
function duration(text: string | null): number | undefined {
  if (text === null || !/^\s*(?:\d+(?:\.\d+)?(?:ms|[smhd]))+\s*$/.test(text)) return undefined;
  let ms = 0;
  for (const [, figure, unit] of text.matchAll(/([\d.]+)(ms|[smhd])/g)) ms += Number(figure) * UNITS[unit!]!;
  return clampWait(ms);
}

/** RFC 3339, such as `2026-10-07T12:00:00Z`. */
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
