/** Lengths of time in milliseconds. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Returns a clock (ms since 1970) that never goes back, even if the system clock is set back while it is used. */
export function steady(now: () => number): () => number {
  let latest = Number.NEGATIVE_INFINITY;
  return () => {
    latest = Math.max(latest, now());
    return latest;
  };
}

/** Formats a moment, in ms since 1970, as ISO 8601 in UTC. */
export const iso = (time: number): string => new Date(time).toISOString();

/** Reads a date, which means midnight UTC, or an ISO 8601 time with a time zone. @returns ms since 1970; null for any other text */
export function parseMoment(text: string): number | null {
  try {
    return Temporal.Instant.from(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00Z` : text).epochMilliseconds;
  } catch {
    return null;
  }
}
