import { DecayedQuantiles, HALF_LIFE_MS } from './quantile.ts';
import type { Quantiles } from './types.ts';

/** The catalog's figure counts as so many answers, by where it comes from: one that nobody stated gives way at once. */
export const PRIOR_ANSWERS = { stated: 3, estimated: 1, neutral: 1 } as const;
/** Shorter answers tell of luck and of packets, not of a rate. */
const TOKENS_MIN = 16;
const OUTPUT_MS_MIN = 50;
/** Less evidence than this, in answers of the present, is forgotten. */
const WEIGHT_MIN = 0.05;
/** How far evidence may decay, relative to what it is blended with, before the figures are made anew. */
const DRIFT = 0.02;

/** What a figure is of, and how it is learnt. */
export interface Learning {
  /** What it may be; all else is absurd. */
  readonly range: readonly [lowest: number, highest: number];
  readonly halfLifeMs: number;
  /** The declared figure counts as so many answers. */
  readonly priorAnswers: number;
}

const OF_ENDPOINTS = { halfLifeMs: HALF_LIFE_MS, priorAnswers: PRIOR_ANSWERS.stated };
const TTFT_MS: Learning = { range: [1, 3_600_000], ...OF_ENDPOINTS };
const RATE: Learning = { range: [0.1, 100_000], ...OF_ENDPOINTS };

/** A median as published, with its weight in answers. */
interface Measured {
  readonly median: number;
  readonly weight: number;
}

/** One figure: what was observed, and what of it the readings go by. */
export class Figure {
  published: Measured | null = null;
  readonly #learning: Learning;
  #observed: DecayedQuantiles | null = null;
  #isNew = false;

  constructor(learning: Learning) {
    this.#learning = learning;
  }

  observe(value: number, now: number): void {
    const { range, halfLifeMs } = this.#learning;
    this.#observed ??= new DecayedQuantiles(...range, halfLifeMs);
    this.#observed.observe(value, now);
    this.#isNew = true;
  }

  /** Takes over what came in; true when it makes a difference. */
  publish(now: number): boolean {
    const observed = this.#observed;
    if (observed === null) return false;
    const before = this.published;
    const weight = observed.weight(now);
    if (weight < WEIGHT_MIN) {
      this.#observed = null;
      this.published = null;
      return before !== null;
    }
    // Decay alone moves no quantile.
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

  /**
   * The declared figure and the published one, as means of logarithms are taken, each by its evidence. The declared one
   * counts as `priorAnswers`.
   */
  blendedWith(declared: number, priorAnswers = this.#learning.priorAnswers): number {
    if (this.published === null || Number.isNaN(declared)) return declared;
    const { range } = this.#learning;
    const { median, weight } = this.published;
    // Nothing multiplied by itself would remain nothing, whatever was seen.
    const prior = Math.max(declared, range[0]);
    return prior * (median / prior) ** (weight / (priorAnswers + weight));
  }

  #isNear(weight: number, before: number): boolean {
    return Math.abs(weight - before) <= DRIFT * (this.#learning.priorAnswers + before);
  }
}

/** How fast an endpoint is. What is absurd (0, negative, no number, without end) teaches nothing. */
export class Figures {
  readonly ttft = new Figure(TTFT_MS);
  /** The TTFT where most of the prompt was in the provider's cache. */
  readonly warmTtft = new Figure(TTFT_MS);
  readonly rate = new Figure(RATE);
  /** The catalog's figure in the latest snapshot that names the endpoint, ms. */
  assumedTtftMs = Number.NaN;

  sawTtft(ms: number, isWarm: boolean, now: number): void {
    if (ms > 0 && ms <= TTFT_MS.range[1]) (isWarm ? this.warmTtft : this.ttft).observe(ms, now);
  }

  /** Times in ms; `totalMs` of an answer in one piece, null for a stream. */
  sawOutput(tokens: number, outputMs: number, totalMs: number | null, now: number): void {
    const ms = totalMs === null ? outputMs : this.#outputOf(totalMs);
    if (!(tokens >= TOKENS_MIN && ms >= OUTPUT_MS_MIN)) return;
    const rate = (tokens * 1_000) / ms;
    const [lowest, highest] = RATE.range;
    if (rate >= lowest && rate <= highest) this.rate.observe(rate, now);
  }

  publish(now: number): boolean {
    const ttft = this.ttft.publish(now);
    const warmTtft = this.warmTtft.publish(now);
    const rate = this.rate.publish(now);
    return ttft || warmTtft || rate;
  }

  /** What is left of an answer's time for its output. NaN when the first token may have taken most of it. */
  #outputOf(totalMs: number): number {
    const ttftMs = this.ttft.blendedWith(this.assumedTtftMs);
    const rest = totalMs - ttftMs;
    return rest >= ttftMs ? rest : Number.NaN;
  }
}
