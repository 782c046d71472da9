/** A provider that asks for more than a day is taken to mean a day, in ms. */
const RETRY_AFTER_MAX = 86_400_000;

/**
 * How long a provider asks us to wait, in ms: `retry-after-ms`, else `retry-after` in seconds or
 * as a date, which is compared with `now` (epoch ms). Undefined where it says nothing usable.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const ms = headers.get('retry-after-ms');
  if (ms !== null && isNumber(ms)) return bounded(Number(ms));
  const after = headers.get('retry-after');
  if (after === null) return undefined;
  if (isNumber(after)) return bounded(Number(after) * 1_000);
  // Date.parse takes almost anything with a digit for a date; HTTP's have letters.
  const date = /[a-z]{3}/i.test(after) ? Date.parse(after) : Number.NaN;
  return Number.isNaN(date) ? undefined : bounded(date - now);
}

const isNumber = (text: string): boolean => /^\s*\d+(\.\d+)?\s*$/.test(text);

function bounded(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), RETRY_AFTER_MAX);
}
