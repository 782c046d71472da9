/**
 * Numbers that name what a request leaves behind: 40 bits of milliseconds since 2026, 6 bits that count within one, and 7 bits
 * of the slot of the instance that gave them. They grow with time, so tables stay ordered by arrival, and they fit a double
 * until 2060: made by `%` and division, since operators on bits know 32. No reader takes the slot out of an ID: the 13 bits
 * counted alone in earlier versions.
 */
const EPOCH_MS = Date.UTC(2026, 0, 1);
const PER_MS = 8_192;
/** Instances that can give IDs at once. */
export const ID_SLOTS = 128;

/** The least ID of a moment, given in milliseconds since 1970. */
export function idAt(timeMs: number): number {
  return Math.max(0, timeMs - EPOCH_MS) * PER_MS;
}

/** The distance of IDs that are so many milliseconds apart. */
export const idSpan = (ms: number): number => ms * PER_MS;

/** The moment of an ID, in milliseconds since 1970. */
export function timeOfId(id: number): number {
  return EPOCH_MS + Math.floor(id / PER_MS);
}

/**
 * Gives IDs one after the other, never twice: not when the clock goes back, nor up to `last`, nor those of another slot. When
 * the 64 of a millisecond are used up, it takes those of the next.
 * @param now ms since 1970
 * @param slot 0 to 127; makers that run at once have one each
 * @param admit is shown each ID before it is given. Where it throws, the ID is not given, and is the next one again.
 */
export function createIds(now: () => number, last: number, slot = 0, admit?: (id: number) => void): () => number {
  let previous = last - (last % ID_SLOTS) + slot;
  return () => {
    const id = Math.max(previous + ID_SLOTS, idAt(Math.floor(now())) + slot);
    admit?.(id);
    previous = id;
    return id;
  };
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
/** All texts of two digits: a request writes several IDs, and `toString(36)` of a large double is slow. */
const PAIRS = Array.from({ length: 1_296 }, (_, i) => DIGITS[Math.floor(i / 36)]! + DIGITS[i % 36]!);
/** 36⁵: divides the 11 digits into 6 and 5, each of which an int32 holds. */
const LOW = 60_466_176;

/** How an ID looks outside: a prefix and 11 letters and digits, in the order of time. */
export function idText(prefix: string, id: number): string {
  const high = Math.floor(id / LOW) | 0;
  const low = (id - high * LOW) | 0;
  return (
    prefix +
    PAIRS[(high / 1_679_616) | 0]! +
    PAIRS[((high / 1_296) | 0) % 1_296]! +
    PAIRS[high % 1_296]! +
    DIGITS[(low / 1_679_616) | 0]! +
    PAIRS[((low / 1_296) | 0) % 1_296]! +
    PAIRS[low % 1_296]!
  );
}

const TEXT = /^[0-9a-z]{11}$/;

/** Reads what `idText` wrote; null for anything else. */
export function parseId(prefix: string, text: string): number | null {
  const digits = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !TEXT.test(digits)) return null;
  const id = Number.parseInt(digits, 36);
  return Number.isSafeInteger(id) ? id : null;
}
