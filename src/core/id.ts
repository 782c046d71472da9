/**
 * Numbers that name what a request leaves behind: 40 bits of milliseconds since 2026, then 13 bits
 * that count within one. They grow with time, so tables stay ordered by arrival, and they fit a
 * double until 2060.
 */
const EPOCH_MS = Date.UTC(2026, 0, 1);
const PER_MS = 8_192;

/** The least ID of a moment, given in milliseconds since 1970. */
export function idAt(timeMs: number): number {
  return Math.max(0, timeMs - EPOCH_MS) * PER_MS;
}

/** Gives IDs one after the other, never twice: not when the clock goes back, nor after `last` of an earlier run. */
export function createIds(now: () => number, last: number): () => number {
  let previous = last;
  return () => {
    previous = Math.max(previous + 1, idAt(now()));
    return previous;
  };
}

/** How an ID looks outside: a prefix and 11 letters and digits, in the order of time. */
export function idText(prefix: string, id: number): string {
  return prefix + id.toString(36).padStart(11, '0');
}

const TEXT = /^[0-9a-z]{11}$/;

/** Reads what `idText` wrote; null for anything else. */
export function parseId(prefix: string, text: string): number | null {
  const digits = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !TEXT.test(digits)) return null;
  const id = Number.parseInt(digits, 36);
  return Number.isSafeInteger(id) ? id : null;
}
