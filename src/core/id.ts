/**
 * An ID is a number: 40 bits of milliseconds since 2026, 5 bits that count IDs within one millisecond, 1 bit for the series (1 for the IDs
 * of requests), and 7 bits for the slot of the server that made it. IDs grow with time, so tables are ordered by arrival. IDs fit a double
 * until 2060; `%` and division build them, because bit operators have 32 bits. Never extract the slot or the series from an ID: in earlier
 * versions the other bits were a counter.
 */
const EPOCH_MS = Date.UTC(2026, 0, 1);
const PER_MS = 8_192;
/** The number of servers that can make IDs at the same time. */
export const ID_SLOTS = 128;

/** Returns the lowest ID of a moment, given in ms since 1970. */
export function idAt(timeMs: number): number {
  return Math.max(0, timeMs - EPOCH_MS) * PER_MS;
}

/** Returns the distance between IDs that are `ms` milliseconds apart. */
export const idSpan = (ms: number): number => ms * PER_MS;

/** Returns the moment of an ID, in ms since 1970. */
export function timeOfId(id: number): number {
  return EPOCH_MS + Math.floor(id / PER_MS);
}

/** The step between two IDs of a series. */
const STEP = 2 * ID_SLOTS;

/**
 * Makes a generator of IDs. The generator never returns an ID twice: not if the clock goes back, not up to `last`, and not an ID of another
 * slot. After 32 IDs in one millisecond, the generator uses the IDs of the next millisecond.
 * @param now ms since 1970
 * @param slot 0 to 127. Servers that run at the same time need different slots. From 128 to 255, the second series of slot − 128, which
 * numbers requests: a request never has the number of a decision.
 * @param admit called with each ID before it is returned. If `admit` throws, the ID is not used, and the next call tries the same ID again.
 */
export function createIds(now: () => number, last: number, slot = 0, admit?: (id: number) => void): () => number {
  let previous = last - (last % STEP) + slot;
  return () => {
    const id = Math.max(previous + STEP, idAt(Math.floor(now())) + slot);
    admit?.(id);
    previous = id;
    return id;
  };
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
/** All texts of two digits in base 36. A request writes several IDs, and `toString(36)` of a large double is slow. */
const PAIRS = Array.from({ length: 1_296 }, (_, i) => DIGITS[Math.floor(i / 36)]! + DIGITS[i % 36]!);
/** `LOW` is 36⁵ and splits the 11 digits into 6 and 5, so that each part fits an int32. */
const LOW = 60_466_176;

/** Writes an ID as callers see it: a prefix and 11 letters and digits. The texts of IDs sort in the order of time. */
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

/** Reads a text that `idText` wrote; null for any other text. */
export function parseId(prefix: string, text: string): number | null {
  const digits = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !TEXT.test(digits)) return null;
  const id = Number.parseInt(digits, 36);
  return Number.isSafeInteger(id) ? id : null;
}
