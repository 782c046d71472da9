import { DecayedQuantiles } from './quantile.ts';
import type { Quantiles } from './types.ts';

/** The catalog's figure counts as so many answers. */
export const PRIOR_ANSWERS = 5;
/** Shorter answers tell of luck and of packets, not of a rate. */
const TOKENS_MIN = 16;
const OUTPUT_MS_MIN = 50;
/** Less evidence than this, in answers of the present, is forgotten. */
const WEIGHT_MIN = 0.05;
/** How far evidence may decay, relative to what it is blended with, before the figures are made anew. */
const DRIFT = 0.02;

const TTFT_MS = [1, 3_600_000] as const;
const RATE = [0.1, 100_000] as const;

/** A median as published, with its weight in answers. */
export interface Measured {
  readonly median: number;
  readonly weight: number;
}

/** One figure of an endpoint: what was observed, and what of it the readings go by. */
class Figure {
  published: Measured | null = null;
  readonly #range: readonly [lowest: number, highest: number];
  #observed: DecayedQuantiles | null = null;
  #isNew = false;

  constructor(range: readonly [lowest: number, highest: number]) {
    this.#range = range;
  }

  observe(value: number, now: number): void {
    this.#observed ??= new DecayedQuantiles(...this.#range);
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
    if (before !== null && median === before.median && isNear(weight, before.weight)) return false;
    this.published = { median, weight };
    return true;
  }

  quantiles(): Quantiles | null {
    const observed = this.#observed;
    return observed && { p50: observed.quantile(0.5), p90: observed.quantile(0.9) };
  }
}

const isNear = (weight: number, before: number): boolean =>
  Math.abs(weight - before) <= DRIFT * (PRIOR_ANSWERS + before);

/** How fast an endpoint is. What is absurd (0, negative, no number, without end) teaches nothing. */
export class Figures {
  readonly ttft = new Figure(TTFT_MS);
  readonly rate = new Figure(RATE);
  /** The catalog's figure in the latest snapshot that names the endpoint, ms. */
  assumedTtftMs = Number.NaN;

  sawTtft(ms: number, now: number): void {
    if (ms > 0 && ms <= TTFT_MS[1]) this.ttft.observe(ms, now);
  }

  /** Times in ms; `totalMs` of an answer in one piece, null for a stream. */
  sawOutput(tokens: number, outputMs: number, totalMs: number | null, now: number): void {
    const ms = totalMs === null ? outputMs : this.#outputOf(totalMs);
    if (!(tokens >= TOKENS_MIN && ms >= OUTPUT_MS_MIN)) return;
    const rate = (tokens * 1_000) / ms;
    if (rate >= RATE[0] && rate <= RATE[1]) this.rate.observe(rate, now);
  }

  publish(now: number): boolean {
    const ttft = this.ttft.publish(now);
    const rate = this.rate.publish(now);
    return ttft || rate;
  }

  /** What is left of an answer's time for its output. NaN when the first token may have taken most of it. */
  #outputOf(totalMs: number): number {
    const ttftMs = blend(this.assumedTtftMs, this.ttft.published);
    const rest = totalMs - ttftMs;
    return rest >= ttftMs ? rest : Number.NaN;
  }
}

/** The catalog's figure and the measured one, as means of logarithms are taken, each by its evidence. */
export function blend(prior: number, measured: Measured | null): number {
  if (measured === null || !(prior > 0)) return prior;
  const { median, weight } = measured;
  return prior * (median / prior) ** (weight / (PRIOR_ANSWERS + weight));
}
