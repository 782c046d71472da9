import { DecayedQuantiles } from './quantile.ts';
import type { Quantiles } from './types.ts';

/** Evidence with less weight than this, measured in current answers, is forgotten. */
const WEIGHT_MIN = 0.05;
/** The relative decay of the evidence after which the median is published again. */
const DRIFT = 0.02;

/** The settings for learning a median. */
export interface MedianOptions {
  /** The range of plausible values. */
  readonly range: readonly [lowest: number, highest: number];
  readonly halfLifeMs: number;
  /** The weight of the declared value, in answers. */
  readonly priorAnswers: number;
}

/** A median and its weight in answers. */
interface PublishedMedian {
  readonly median: number;
  readonly weight: number;
}

/** A median learned from observations, and its last published value, which readings use. */
export class LearnedMedian {
  published: PublishedMedian | null = null;
  /** The number of observations since the evidence was last forgotten. */
  count = 0;
  readonly #learning: MedianOptions;
  #observed: DecayedQuantiles | null = null;
  #isNew = false;

  constructor(learning: MedianOptions) {
    this.#learning = learning;
  }

  observe(value: number, now: number): void {
    const { range, halfLifeMs } = this.#learning;
    this.#observed ??= new DecayedQuantiles(...range, halfLifeMs);
    this.#observed.observe(value, now);
    this.#isNew = true;
    this.count++;
  }

  /** Publishes the current median. Returns whether the median changed. */
  publish(now: number): boolean {
    const observed = this.#observed;
    if (observed === null) return false;
    const before = this.published;
    const weight = observed.weight(now);
    if (weight < WEIGHT_MIN) {
      this.#observed = null;
      this.published = null;
      this.count = 0;
      return before !== null;
    }
    // Decay alone does not change a quantile.
    const median = this.#isNew || before === null ? observed.quantile(0.5) : before.median;
    this.#isNew = false;
    if (before !== null && median === before.median && this.#isNear(weight, before.weight)) return false;
    this.published = { median, weight };
    return true;
  }

  quantiles(): Quantiles | null {
    const observed = this.#observed;
    return observed && { p50: observed.quantile(0.5), p90: observed.quantile(0.9) };
  }

  /** Returns the geometric mean of the declared and the published median, weighted by `priorAnswers` and the evidence. */
  blendedWith(declared: number, priorAnswers = this.#learning.priorAnswers): number {
    if (this.published === null || Number.isNaN(declared)) return declared;
    const { range } = this.#learning;
    const { median, weight } = this.published;
    // A geometric mean with 0 would always be 0.
    const prior = Math.max(declared, range[0]);
    return prior * (median / prior) ** (weight / (priorAnswers + weight));
  }

  #isNear(weight: number, before: number): boolean {
    return Math.abs(weight - before) <= DRIFT * (this.#learning.priorAnswers + before);
  }
}
