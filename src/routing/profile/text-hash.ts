const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** Adds a number to a 32-bit hash (FNV-1a). */
export const hashOn = (hash: number, value: number): number => Math.imul(hash ^ value, PRIME);

/** The hash before the first character. */
export const EMPTY_HASH = BASIS;

/** The number of UTF-16 code units that are read at the start and at the end of a text. */
const HEAD = 512;
const TAIL = 1_536;

/** Returns the text, or the start and the end of a long text. */
export const edgesOf = (text: string): string =>
  text.length <= HEAD + TAIL ? text : `${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`;

/** Returns a 32-bit hash of the length, the start and the end of a text. It reads two code units per step. */
export function textHash(text: string): number {
  const read = edgesOf(text);
  const even = read.length & ~1;
  let hash = hashOn(EMPTY_HASH, text.length);
  for (let at = 0; at < even; at += 2) hash = hashOn(hash, read.charCodeAt(at) | (read.charCodeAt(at + 1) << 16));
  return even < read.length ? hashOn(hash, read.charCodeAt(even)) : hash;
}
