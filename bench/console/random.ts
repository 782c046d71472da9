/** Returns numbers from 0 to below 1. */
export type Random = () => number;

/** Returns a generator that produces the same numbers for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns a number around 1, distributed like times and lengths: half of them below 1, a tenth above 2. */
export const spread = (random: Random): number => Math.exp((random() + random() + random() - 1.5) * 1.1);

/** Draws indexes according to their weights. */
export class WeightedDraw {
  readonly #sums: Float64Array;

  constructor(weights: readonly number[]) {
    let sum = 0;
    this.#sums = Float64Array.from(weights, (weight) => {
      sum += weight;
      return sum;
    });
  }

  draw(random: Random): number {
    const sought = random() * this.#sums.at(-1)!;
    let [low, high] = [0, this.#sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sums[middle]! > sought) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
