import type { TextFeatures } from './features.ts';
import { BUCKETS } from './scanner.ts';

/** The regressions of one block: the means of one bucket fit in a cache line of 64 bytes. */
const COLUMNS = 16;

/**
 * λ: the initial certainty that a word has no effect, divided between shared and own weights. Over 15 pairs of models
 * of MMLU-Pro and LLMRouter, 8 splits each, 2 with a doubt of 1 has about .0015 more APGR after 1,500 outcomes than 3
 * with 2, and .007 more after 300.
 */
const PRECISION = 2;
export const SHARED_PRECISION = PRECISION / 0.3;
export const OWN_PRECISION = PRECISION / 0.7;

/**
 * The means of up to `COLUMNS` regressions, those of one bucket side by side: an estimate reads each word for all models,
 * and would mostly wait for memory if they lay apart. Pages that no word has used are all zeros and take no memory.
 */
interface MeanBlock {
  readonly means: Float32Array;
  /** Columns of zeros. */
  readonly free: number[];
}

/** The blocks of all regressions. */
export class WordTable {
  readonly #blocks: MeanBlock[] = [];

  /** @param start the initial precision of each weight */
  add(start: number): WordWeights {
    const block = this.#blocks.find(({ free }) => free.length > 0) ?? this.#widen();
    return new WordWeights(block, start);
  }

  #widen(): MeanBlock {
    const block = { means: new Float32Array(BUCKETS * COLUMNS), free: Array.from({ length: COLUMNS }, (_, at) => at) };
    this.#blocks.push(block);
    return block;
  }
}

/** A logistic regression with a mean and a precision for each bucket, learned in one pass. */
export class WordWeights {
  /** What was added to the initial precision of each weight, so that unused ones are zeros, too. */
  readonly added = new Float32Array(BUCKETS);
  readonly #free: number[];
  readonly #means: Float32Array;
  readonly #column: number;
  readonly #start: number;

  constructor({ means, free }: MeanBlock, start: number) {
    this.#free = free;
    this.#means = means;
    this.#column = free.shift()!;
    this.#start = start;
  }

  mean(bucket: number): number {
    return this.#means[bucket * COLUMNS + this.#column]!;
  }

  set(bucket: number, mean: number, added: number): void {
    this.#means[bucket * COLUMNS + this.#column] = mean;
    this.added[bucket] = added;
  }

  /** w·x */
  product({ buckets, n, share }: TextFeatures): number {
    const means = this.#means;
    const column = this.#column;
    let sum = 0;
    for (let at = 0; at < n; at++) sum += means[buckets[at]! * COLUMNS + column]!;
    return sum * share;
  }

  /** Σ x²/A: the uncertainty of w·x. */
  variance({ buckets, n, share }: TextFeatures): number {
    const { added } = this;
    const start = this.#start;
    let sum = 0;
    for (let at = 0; at < n; at++) sum += 1 / (start + added[buckets[at]!]!);
    return sum * share * share;
  }

  /** `w += e·x/A; A += k·x²` wherever x is not 0. */
  step({ buckets, n, share }: TextFeatures, e: number, k: number): void {
    const { added } = this;
    const means = this.#means;
    const column = this.#column;
    const start = this.#start;
    for (let at = 0; at < n; at++) {
      const bucket = buckets[at]!;
      const before = added[bucket]!;
      means[bucket * COLUMNS + column]! += (e * share) / (start + before);
      added[bucket] = before + k * share * share;
    }
  }

  /** Gives its column back. */
  release(): void {
    const means = this.#means;
    // Writing to unused cells would make them take memory. −0 is a mean.
    for (let at = this.#column; at < means.length; at += COLUMNS) if (!Object.is(means[at], 0)) means[at] = 0;
    this.#free.push(this.#column);
  }
}
