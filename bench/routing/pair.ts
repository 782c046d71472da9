/** Differences of gaps below this value are rounding errors. */
const EQUAL = 1e-9;

/**
 * The APGR of a pair of models (RouteLLM): the area under quality over the share of requests that the strong model gets, where the weak
 * model's quality is 0 and the strong model's 1. Chance has .5 on average. Requests with equal predicted gaps count as the mean over all of
 * their orders, so the curve is a straight line between two positions.
 */
export class PairCurve {
  readonly #order: Uint32Array;
  /** The ends of the runs of equal gaps, as indexes in the order. */
  readonly #ends: Uint32Array;
  /** The quality of the strong model minus the quality of the weak model, by row. */
  readonly #gains: Float64Array;

  /** `gaps`: the predicted advantage of the strong model. `labels`: the weak and the strong score of each row in turn. */
  constructor(gaps: Float64Array, labels: Float64Array) {
    const rounded = gaps.map((gap) => Math.round(gap / EQUAL));
    this.#order = Uint32Array.from(gaps.keys()).sort((a, b) => rounded[b]! - rounded[a]!);
    const order = this.#order;
    const isEnd = (at: number) => at === order.length - 1 || rounded[order[at]!] !== rounded[order[at + 1]!];
    this.#ends = Uint32Array.from(order.keys()).filter(isEnd);
    this.#gains = gaps.map((_, row) => labels[2 * row + 1]! - labels[2 * row]!);
  }

  /** `weights`: counts of rows. `apgr` returns NaN if both models are equally good. */
  apgr(weights: ArrayLike<number>): number {
    let [area, gain, total, from] = [0, 0, 0, 0];
    for (const end of this.#ends) {
      const before = gain;
      let width = 0;
      for (let at = from; at <= end; at++) {
        const row = this.#order[at]!;
        const weight = weights[row]!;
        width += weight;
        gain += weight * this.#gains[row]!;
      }
      area += (width * (before + gain)) / 2;
      total += width;
      from = end + 1;
    }
    return gain === 0 ? Number.NaN : area / (total * gain);
  }

  /** Returns the quality, rescaled as in `apgr`, by the share of requests that the strong model gets. */
  points(): [share: number, recovered: number][] {
    const points: [number, number][] = [[0, 0]];
    let [gain, from] = [0, 0];
    const whole = this.#gains.reduce((sum, one) => sum + one, 0);
    for (const end of this.#ends) {
      for (let at = from; at <= end; at++) gain += this.#gains[this.#order[at]!]!;
      from = end + 1;
      points.push([from / this.#order.length, gain / whole]);
    }
    return points;
  }
}
