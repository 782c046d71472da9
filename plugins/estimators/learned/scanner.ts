import { DIGIT, foldCase, kindOf, LETTER, SPACE } from './letters.ts';
import { KIND, WordKindTable } from './vocabulary.ts';

/** The maximum text length read, which bounds the time. */
const CHARS_MAX = 4_000;
export const TOKENS_MAX = 600;

/** 2^16 buckets: a quarter of them costs .009 of APGR after some thousand outcomes, and nothing before. */
const BUCKET_BITS = 16;
export const BUCKETS = 1 << BUCKET_BITS;

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const LONG_WORD = 8;
const NUMBER_DIGITS_MAX = 5;

/** Index of a kind of ASCII characters in the counts of `scan`. 0 is for all others. */
export const MARK = { operator: 1, latex: 2, brace: 3, comma: 4, ask: 5, backslash: 6 } as const;

const MARKS: Uint8Array = marksTable({
  '=+*/^<>': MARK.operator,
  $: MARK.latex,
  '{};': MARK.brace,
  ',': MARK.comma,
  '?': MARK.ask,
  '\\': MARK.backslash,
});

function marksTable(kinds: Readonly<Record<string, number>>): Uint8Array {
  const table = new Uint8Array(128);
  for (const [chars, kind] of Object.entries(kinds)) for (const char of chars) table[char.charCodeAt(0)] = kind;
  return table;
}

const NEWLINE = 0x0a;
const PARENTHESIS = 0x28;

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

/** Whether a line starts with the label of an answer option: `A.`, `(B)` or `C:`, up to J. */
function startsOption(text: string, at: number): boolean {
  const letter = text.charCodeAt(at) === PARENTHESIS ? at + 1 : at;
  const code = text.charCodeAt(letter);
  if (!(code >= 0x41 && code <= 0x4a)) return false;
  const after = text.charCodeAt(letter + 1);
  return after === 0x2e || after === 0x29 || after === 0x3a;
}

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
    const kind = kindOf(text.charCodeAt(at));
    tokens += BEGINS[4 * before + kind]!;
    before = kind;
  }
  return tokens;
}

/**
 * Scans a text once by code units. Makes keyed hashes of its tokens, which are runs of letters, runs of digits and
 * single other characters, and counts the features of its form. Holds one text at a time, without allocating.
 */
export class Scanner {
  readonly hashes = new Int32Array(TOKENS_MAX);
  readonly starts = new Uint16Array(TOKENS_MAX);
  readonly ends = new Uint16Array(TOKENS_MAX);
  /** The number of tokens with a stored hash. */
  keptTokens = 0;

  chars = 0;
  tokens = 0;
  words = 0;
  letters = 0;
  longWords = 0;
  digits = 0;
  numbers = 0;
  longestNumber = 0;
  capitals = 0;
  foreign = 0;
  lines = 0;
  options = 0;
  sentences = 0;
  readonly kinds = new Uint32Array(KIND.explanation + 1);
  readonly marks = new Uint32Array(MARK.backslash + 1);

  readonly #seed: number;
  readonly #last: number;
  readonly #vocabulary: WordKindTable;

  constructor(secret: readonly [number, number]) {
    this.#seed = FNV_OFFSET ^ secret[0];
    this.#last = secret[1] | 0;
    this.#vocabulary = new WordKindTable((word) => {
      let hash = this.#seed;
      for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), FNV_PRIME);
      return hash;
    });
  }

  scan(text: string): void {
    this.#clear();
    const length = Math.min(text.length, CHARS_MAX);
    this.chars = length;
    if (startsOption(text, 0)) this.options++;
    let at = 0;
    while (at < length) {
      const code = text.charCodeAt(at);
      const kind = foldCase(code);
      if (kind >= LETTER) at = this.#word(text, at, length);
      else if (kind === DIGIT) at = this.#number(text, at, length);
      else if (kind === SPACE) at = this.#space(text, at, code);
      else at = this.#mark(text, at, code);
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

  #clear(): void {
    this.keptTokens = this.tokens = this.words = this.letters = this.longWords = 0;
    this.digits = this.numbers = this.longestNumber = this.capitals = this.foreign = 0;
    this.lines = this.options = this.sentences = 0;
    this.kinds.fill(0);
    this.marks.fill(0);
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
    let capitals = 0;
    let foreign = 0;
    let at = from;
    for (; at < length; at++) {
      const code = text.charCodeAt(at);
      const letter = foldCase(code);
      if (letter < LETTER) break;
      if (letter !== code) capitals++;
      if (code > 0x7f) foreign++;
      hash = Math.imul(hash ^ letter, FNV_PRIME);
    }
    this.words++;
    this.letters += at - from;
    this.capitals += capitals;
    this.foreign += foreign;
    if (at - from >= LONG_WORD) this.longWords++;
    this.kinds[this.#vocabulary.kindOf(hash)]!++;
    this.#token(hash, from, at);
    return at;
  }

  /** The hash of a number depends only on its number of digits. */
  #number(text: string, from: number, length: number): number {
    let at = from + 1;
    while (at < length && foldCase(text.charCodeAt(at)) === DIGIT) at++;
    const digits = at - from;
    this.numbers++;
    this.digits += digits;
    if (digits > this.longestNumber) this.longestNumber = digits;
    // No word has this hash, because digits are not letters.
    const hash = Math.imul(this.#seed ^ Math.min(digits, NUMBER_DIGITS_MAX), FNV_PRIME);
    this.#token(hash, from, at);
    return at;
  }

  #space(text: string, at: number, code: number): number {
    if (code === NEWLINE) {
      this.lines++;
      if (startsOption(text, at + 1)) this.options++;
    }
    return at + 1;
  }

  #mark(text: string, at: number, code: number): number {
    if (code < 0x80) this.marks[MARKS[code]!]!++;
    else this.foreign++;
    if (code === 0x2e || code === 0x21 || code === 0x3f) {
      const isLast = at + 1 >= text.length || foldCase(text.charCodeAt(at + 1)) === SPACE;
      if (isLast) this.sentences++;
    }
    this.#token(Math.imul(this.#seed ^ code, FNV_PRIME), at, at + 1);
    return at + 1;
  }
}
