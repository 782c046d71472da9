import { DIGIT, foldCase, LETTER, SPACE } from './letters.ts';

/** The maximum text length read, which bounds the time. */
const CHARS_MAX = 4_000;
export const TOKENS_MAX = 600;

/** 2^16 buckets: a quarter of them costs .009 of APGR after some thousand outcomes, and nothing before. */
const BUCKET_BITS = 16;
export const BUCKETS = 1 << BUCKET_BITS;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const NUMBER_DIGITS_MAX = 5;

/** The finalizer of MurmurHash3: every result bit depends on every input bit. */
function mixBits(hash: number): number {
  let bits = hash ^ (hash >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Identifies a secret without revealing it. Nothing learned under one secret has a meaning under another. */
export const installationMark = (secret: readonly [number, number]): number =>
  mixBits(Math.imul(mixBits(secret[0] ^ FNV_OFFSET), FNV_PRIME) ^ mixBits(secret[1] ^ BUCKET_BITS));

/** Whether a token starts, at index 4 × previous kind + kind: always, except at spaces and within a run. */
const BEGINS = Uint8Array.from({ length: 16 }, (_, at) => {
  const [before, kind] = [at >> 2, at & 3];
  const isRun = kind === before && (kind === LETTER || kind === DIGIT);
  return kind === SPACE || isRun ? 0 : 1;
});

/** The number of tokens that `Scanner` finds, without its other work. */
export function countTokens(text: string): number {
  const length = Math.min(text.length, CHARS_MAX);
  let tokens = 0;
  let before = SPACE;
  for (let at = 0; at < length; at++) {
    const kind = Math.min(LETTER, foldCase(text.charCodeAt(at)));
    tokens += BEGINS[4 * before + kind]!;
    before = kind;
  }
  return tokens;
}

/**
 * Scans a text once by code units. Makes keyed hashes of its tokens, which are runs of letters, runs of digits and
 * single other characters. Holds one text at a time, without allocating.
 */
export class Scanner {
  readonly hashes = new Int32Array(TOKENS_MAX);
  readonly starts = new Uint16Array(TOKENS_MAX);
  readonly ends = new Uint16Array(TOKENS_MAX);
  /** The number of tokens with a stored hash. */
  keptTokens = 0;
  tokens = 0;
  readonly #seed: number;
  readonly #last: number;

  constructor(secret: readonly [number, number]) {
    this.#seed = FNV_OFFSET ^ secret[0];
    this.#last = secret[1] | 0;
  }

  scan(text: string): void {
    this.keptTokens = this.tokens = 0;
    const length = Math.min(text.length, CHARS_MAX);
    let at = 0;
    while (at < length) {
      const code = text.charCodeAt(at);
      const kind = foldCase(code);
      if (kind >= LETTER) at = this.#word(text, at, length);
      else if (kind === DIGIT) at = this.#number(text, at, length);
      else {
        if (kind !== SPACE) this.#token(Math.imul(this.#seed ^ code, FNV_PRIME), at, at + 1);
        at++;
      }
    }
  }

  /** The bucket of a token with a stored hash. */
  bucketOf(token: number): number {
    return mixBits(this.hashes[token]! ^ this.#last) >>> (32 - BUCKET_BITS);
  }

  /** The bucket of a token and its predecessor. */
  bucketOfPair(token: number): number {
    const before = Math.imul(this.hashes[token - 1]!, 0x9e3779b1);
    const pair = Math.imul(before ^ (before >>> 15) ^ this.hashes[token]!, FNV_PRIME);
    return mixBits(pair ^ this.#last) >>> (32 - BUCKET_BITS);
  }

  #token(hash: number, from: number, to: number): void {
    this.tokens++;
    const at = this.keptTokens;
    if (at === TOKENS_MAX) return;
    this.hashes[at] = hash;
    this.starts[at] = from;
    this.ends[at] = to;
    this.keptTokens = at + 1;
  }

  #word(text: string, from: number, length: number): number {
    let hash = this.#seed;
    let at = from;
    for (; at < length; at++) {
      const letter = foldCase(text.charCodeAt(at));
      if (letter < LETTER) break;
      hash = Math.imul(hash ^ letter, FNV_PRIME);
    }
    this.#token(hash, from, at);
    return at;
  }

  /** The hash of a number depends only on its number of digits. */
  #number(text: string, from: number, length: number): number {
    let at = from + 1;
    while (at < length && foldCase(text.charCodeAt(at)) === DIGIT) at++;
    // No word has this hash, because digits are not letters.
    this.#token(Math.imul(this.#seed ^ Math.min(at - from, NUMBER_DIGITS_MAX), FNV_PRIME), from, at);
    return at;
  }
}
