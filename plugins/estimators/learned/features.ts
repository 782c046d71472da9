import { DENSE, DEVIATIONS_MAX, LENGTH_INDEX, lengthFeature, standardize, writeFormFeatures } from './dense.ts';
import { BUCKETS, countTokens, type Scanner, TOKENS_MAX } from './scanner.ts';

/** Increase it when the same text gives other bytes. */
const VERSION = 1;
const HEADER_BYTES = 2;
const BUCKETS_FROM = HEADER_BYTES + 2 * DENSE;
/** One for each token and for each pair of adjacent tokens. */
const TEXT_BUCKETS_MAX = 2 * TOKENS_MAX - 1;
/** Features are stored in steps of 1/10,922 of a deviation. */
const STEPS_PER_DEVIATION = 32_766 / DEVIATIONS_MAX;
/** Gives all form features together a tenth of the weight of all words. */
const DENSE_SCALE = Math.sqrt(0.1 / DENSE);

/**
 * The bytes of a text: version, form features, then the buckets of its words and word pairs, each once and ascending,
 * so that their order is lost. Little endian, 16 bits each.
 */
export class Packer {
  readonly #figures = new Float64Array(DENSE);
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
    bytes[0] = VERSION;
    writeFormFeatures(scanned, this.#figures);
    for (let at = 0; at < DENSE; at++) writeFormFeature(bytes, at, this.#figures[at]!);
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

/** The bytes of a text with its length alone: the other form features are at their means, and there are no words. */
export function packLength(text: string): Uint8Array {
  const bytes = new Uint8Array(BUCKETS_FROM);
  bytes[0] = VERSION;
  writeFormFeature(bytes, LENGTH_INDEX, lengthFeature(countTokens(text)));
  return bytes;
}

const writeFormFeature = (bytes: Uint8Array, at: number, figure: number): void =>
  write(bytes, HEADER_BYTES + 2 * at, Math.round(standardize(figure, at) * STEPS_PER_DEVIATION) & 0xffff);

function write(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value & 0xff;
  bytes[at + 1] = value >>> 8;
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits);

/** The vector x of one text, |x| about 1: a bucket counts `share`, the form features `dense`. Reused. */
export class TextFeatures {
  readonly buckets = new Uint16Array(TEXT_BUCKETS_MAX);
  n = 0;
  share = 0;
  readonly dense = new Float32Array(DENSE);
  /** The length above the mean, in standard deviations. */
  length = 0;

  /**
   * Reads the bytes of a text.
   * @returns false if they are of another version, which counts as no text
   */
  unpack(bytes: Uint8Array | null): boolean {
    if (bytes === null || !this.unpackLength(bytes)) return false;
    const n = (bytes.length - BUCKETS_FROM) / 2;
    for (let at = 0; at < DENSE; at++) this.dense[at] = deviationsAt(bytes, at) * DENSE_SCALE;
    for (let at = 0, from = BUCKETS_FROM; at < n; at++, from += 2) {
      this.buckets[at] = bytes[from]! | (bytes[from + 1]! << 8);
    }
    this.n = n;
    this.share = n === 0 ? 0 : 1 / Math.sqrt(n);
    return true;
  }

  /** Reads the length alone, likewise. */
  unpackLength(bytes: Uint8Array | null): boolean {
    if (bytes === null || bytes[0] !== VERSION) return false;
    const n = (bytes.length - BUCKETS_FROM) / 2;
    if (!(Number.isInteger(n) && n >= 0 && n <= TEXT_BUCKETS_MAX)) return false;
    this.length = deviationsAt(bytes, LENGTH_INDEX);
    return true;
  }
}

/** A form feature, in standard deviations from its mean. */
function deviationsAt(bytes: Uint8Array, at: number): number {
  const from = HEADER_BYTES + 2 * at;
  return (((bytes[from]! | (bytes[from + 1]! << 8)) << 16) >> 16) / STEPS_PER_DEVIATION;
}
