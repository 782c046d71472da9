import { DENSE, DEVIATIONS_MAX, LENGTH, lengthOf, standard, writeFigures } from './dense.ts';
import { BUCKETS, countTokens, type Scanner, TOKENS_MAX } from './text.ts';

/** Raised when the same text would give other bytes. */
const VERSION = 1;
const HEADER_BYTES = 2;
const BUCKETS_FROM = HEADER_BYTES + 2 * DENSE;
/** Each token, and each with the one before it. */
const PLACES_MAX = 2 * TOKENS_MAX - 1;
/** A figure is kept in steps of 1/10,922 of a deviation. */
const STEPS = 32_766 / DEVIATIONS_MAX;
/** All figures together weigh a tenth of all words. */
const DENSE_SCALE = Math.sqrt(0.1 / DENSE);

/**
 * Bytes of a text: version, the figures of its form, then the buckets of its words and pairs of words, each once and
 * ascending, so that nothing tells how they followed each other. Little endian, 16 bits each.
 */
export class Packer {
  readonly #figures = new Float64Array(DENSE);
  /** A bit for each bucket, and one for each 32 of those bits: what is set is found in order without a sort. */
  readonly #set = new Uint32Array(BUCKETS / 32);
  readonly #touched = new Uint32Array(BUCKETS / 1_024);
  #count = 0;

  pack(scanned: Scanner): Uint8Array {
    for (let token = 0; token < scanned.kept; token++) {
      this.#mark(scanned.bucketOf(token));
      if (token > 0) this.#mark(scanned.bucketOfPair(token));
    }
    const bytes = new Uint8Array(BUCKETS_FROM + 2 * this.#count);
    bytes[0] = VERSION;
    writeFigures(scanned, this.#figures);
    for (let at = 0; at < DENSE; at++) writeFigure(bytes, at, this.#figures[at]!);
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

  /** Writes the buckets that are set, and clears them. */
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

/** The same with the length alone: the other figures are as if they were usual, and there are no words. */
export function packLength(text: string): Uint8Array {
  const bytes = new Uint8Array(BUCKETS_FROM);
  bytes[0] = VERSION;
  writeFigure(bytes, LENGTH, lengthOf(countTokens(text)));
  return bytes;
}

const writeFigure = (bytes: Uint8Array, at: number, figure: number): void =>
  write(bytes, HEADER_BYTES + 2 * at, Math.round(standard(figure, at) * STEPS) & 0xffff);

function write(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value & 0xff;
  bytes[at + 1] = value >>> 8;
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits);

/** x of one text, |x| about 1: every bucket counts `share`, the figures count `dense`. Filled anew for each text. */
export class Features {
  readonly buckets = new Uint16Array(PLACES_MAX);
  n = 0;
  share = 0;
  readonly dense = new Float32Array(DENSE);
  /** How many deviations the text is longer than the usual. */
  length = 0;

  /** Whether the bytes are of this version. Others were kept before an update, and count as no text. */
  unpack(bytes: Uint8Array | null): boolean {
    if (bytes === null || bytes[0] !== VERSION) return false;
    const n = (bytes.length - BUCKETS_FROM) / 2;
    if (!(Number.isInteger(n) && n >= 0 && n <= PLACES_MAX)) return false;
    for (let at = 0; at < DENSE; at++) {
      const from = HEADER_BYTES + 2 * at;
      const deviations = (((bytes[from]! | (bytes[from + 1]! << 8)) << 16) >> 16) / STEPS;
      this.dense[at] = deviations * DENSE_SCALE;
      if (at === LENGTH) this.length = deviations;
    }
    for (let at = 0, from = BUCKETS_FROM; at < n; at++, from += 2) {
      this.buckets[at] = bytes[from]! | (bytes[from + 1]! << 8);
    }
    this.n = n;
    this.share = n === 0 ? 0 : 1 / Math.sqrt(n);
    return true;
  }
}
