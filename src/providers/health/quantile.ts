/** The ratio between the upper and lower bound of a bucket. */
export const BUCKET = 1.07;
/** The default half-life of an observation's weight, in ms. */
export const HALF_LIFE_MS = 300_000;

const LOG_BUCKET = Math.log(BUCKET);
/** The number of half-lives after which weights are rescaled, before they overflow. */
const RENEW_AFTER = 64;

/**
 * Computes quantiles of recent observations in fixed memory, with logarithmic buckets and weights that halve with every half-life. The
 * decay is applied forward: new observations weigh more and old weights stay, so that the passing of time costs nothing.
 */
export class DecayedQuantiles {
  readonly #lowest: number;
  readonly #halfLifeMs: number;
  readonly #weights: Float64Array;
  #total = 0;
  /** The time at which an observation has weight 1, in ms. */
  #landmark = 0;

  /** Values outside of the range count as its nearest bound. Both bounds of the range must be above 0. */
  constructor(lowest: number, highest: number, halfLifeMs = HALF_LIFE_MS) {
    this.#lowest = lowest;
    this.#halfLifeMs = halfLifeMs;
    this.#weights = new Float64Array(Math.floor(Math.log(highest / lowest) / LOG_BUCKET) + 1);
  }

  /** @param now monotonic ms */
  observe(value: number, now: number): void {
    if (this.#total === 0) this.#landmark = now;
    let age = (now - this.#landmark) / this.#halfLifeMs;
    if (age > RENEW_AFTER) {
      this.#renew(now, age);
      age = 0;
    }
    const weight = 2 ** age;
    const bucket = Math.floor(Math.log(value / this.#lowest) / LOG_BUCKET);
    this.#weights[Math.min(Math.max(0, bucket), this.#weights.length - 1)]! += weight;
    this.#total += weight;
  }

  /** Returns the total weight, in current observations. */
  weight(now: number): number {
    return this.#total * 2 ** ((this.#landmark - now) / this.#halfLifeMs);
  }

  /** Returns the quantile at `share`, which is the middle of its bucket; NaN without observations. */
  quantile(share: number): number {
    if (this.#total === 0) return Number.NaN;
    const weights = this.#weights;
    let left = share * this.#total;
    let bucket = -1;
    for (let at = 0; at < weights.length; at++) {
      if (weights[at] === 0) continue;
      bucket = at;
      left -= weights[at]!;
      if (left <= 0) break;
    }
    return this.#lowest * BUCKET ** (bucket + 0.5);
  }

  #renew(now: number, age: number): void {
    const factor = 2 ** -age;
    let total = 0;
    for (let at = 0; at < this.#weights.length; at++) {
      this.#weights[at]! *= factor;
      total += this.#weights[at]!;
    }
    this.#total = total;
    this.#landmark = now;
  }
}
