/** How many of some measurements fell into which bucket. */
export class Spread {
  /** Upper bounds, ascending; what is above the last has a bucket of its own. */
  readonly bounds: readonly number[];
  /** Of each bucket, not counting those below it; one more than there are bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Skips values that are not numbers. */
  observe(value: number): void {
    if (Number.isNaN(value)) return;
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
  }
}
