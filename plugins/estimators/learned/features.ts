import { BUCKETS, countTokens, type Scanner, TOKENS_MAX } from './scanner.ts';

/** Increase it when the same text gives other bytes. */
const VERSION = 1;
/** Behind the version stand 23 figures; only the second, the length, is in use. */
const LENGTH_FROM = 4;
const BUCKETS_FROM = 48;
/** One for each token and for each pair of adjacent tokens. */
const TEXT_BUCKETS_MAX = 2 * TOKENS_MAX - 1;

/**
 * The mean and standard deviation of `log(1 + tokens)` over 7,682 questions of two public benchmarks (MMLU-Pro and the
 * mixed questions of LLMRouter), as `bench/fit-learned.ts` prints them. They only set the scale.
 */
const LENGTH_MEAN = 4.21;
const LENGTH_DEVIATION = 1.213;
/** The maximum distance from the mean, in standard deviations. */
const DEVIATIONS_MAX = 3;
/** The length is stored in steps of 1/10,922 of a deviation. */
const STEPS_PER_DEVIATION = 32_766 / DEVIATIONS_MAX;

/** The length of a text on a scale where a difference means a ratio. */
export const lengthFeature = (tokens: number): number => Math.log(1 + tokens);

/**
 * The bytes of a text: version, length, then the buckets of its words and word pairs, each once and ascending, so that
 * their order is lost. Little endian, 16 bits each.
 */
export class Packer {
  /** A bit for each bucket, and one for each 32 of those bits, to list the buckets in order without sorting. */
  readonly #set = new Uint32Array(BUCKETS / 32);
  readonly #touched = new Uint32Array(BUCKETS / 1_024);
  #count = 0;

  pack(scanned: Scanner): Uint8Array {
    for (let token = 0; token < scanned.keptTokens; token++) {
      this.#mark(scanned.bucketOf(token));
      if (token > 0) this.#mark(scanned.bucketOfPair(token));
    }
    const bytes = new Uint8Array(BUCKETS_FROM + 2 * this.#count);
    writeHead(bytes, scanned.tokens);
    this.#drain(bytes);
    return bytes;
  }

  #mark(bucket: number): void {
    const word = bucket >>> 5;
    const bit = 1 << (bucket & 31);
    if (this.#set[word]! & bit) return;
    this.#set[word]! |= bit;
    this.#touched[word >>> 5]! |= 1 << (word & 31);
    this.#count++;
  }

  /** Writes the marked buckets, and clears them. */
  #drain(bytes: Uint8Array): void {
    let to = BUCKETS_FROM;
    for (let group = 0; group < this.#touched.length; group++) {
      for (let words = this.#touched[group]!; words !== 0; words &= words - 1) {
        const word = (group << 5) + lowestBit(words);
        for (let bits = this.#set[word]!; bits !== 0; bits &= bits - 1) {
          write(bytes, to, (word << 5) + lowestBit(bits));
          to += 2;
        }
        this.#set[word] = 0;
      }
      this.#touched[group] = 0;
    }
    this.#count = 0;
  }
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits);

/** The bytes of a text with its length alone. */
export function packLength(text: string): Uint8Array {
  const bytes = new Uint8Array(BUCKETS_FROM);
  writeHead(bytes, countTokens(text));
  return bytes;
}

function writeHead(bytes: Uint8Array, tokens: number): void {
  bytes[0] = VERSION;
  const off = (lengthFeature(tokens) - LENGTH_MEAN) / LENGTH_DEVIATION;
  const deviations = Math.max(-DEVIATIONS_MAX, Math.min(DEVIATIONS_MAX, off));
  write(bytes, LENGTH_FROM, Math.round(deviations * STEPS_PER_DEVIATION) & 0xffff);
}

function write(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value & 0xff;
  bytes[at + 1] = value >>> 8;
}

const read = (bytes: Uint8Array, at: number): number => bytes[at]! | (bytes[at + 1]! << 8);

/** The vector x of one text, |x| = 1: each bucket counts `share`. Reused. */
export class TextFeatures {
  readonly buckets = new Uint16Array(TEXT_BUCKETS_MAX);
  n = 0;
  share = 0;
  /** The length above the mean, in standard deviations. */
  length = 0;

  /**
   * Reads the bytes of a text.
   * @returns false if they are of another version, which counts as no text
   */
  unpack(bytes: Uint8Array | null): boolean {
    if (bytes === null || !this.unpackLength(bytes)) return false;
    const n = (bytes.length - BUCKETS_FROM) / 2;
    for (let at = 0; at < n; at++) this.buckets[at] = read(bytes, BUCKETS_FROM + 2 * at);
    this.n = n;
    this.share = n === 0 ? 0 : 1 / Math.sqrt(n);
    return true;
  }

  /** Reads the length alone, likewise. */
  unpackLength(bytes: Uint8Array | null): boolean {
    if (bytes === null || bytes[0] !== VERSION) return false;
    const n = (bytes.length - BUCKETS_FROM) / 2;
    if (!(Number.isInteger(n) && n >= 0 && n <= TEXT_BUCKETS_MAX)) return false;
    this.length = ((read(bytes, LENGTH_FROM) << 16) >> 16) / STEPS_PER_DEVIATION;
    return true;
  }
}
