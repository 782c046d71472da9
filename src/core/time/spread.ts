/** A histogram: counts measurements in buckets. */
export class Spread {
  /** The upper bounds of the buckets, ascending. Values above the last bound have a bucket of their own. */
  readonly bounds: readonly number[];
  /** Count of each bucket alone (not cumulative). There is one more bucket than bounds. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Counts a value. `observe` ignores values that are not numbers. */
  observe(value: number): void {
    if (Number.isNaN(value)) return;
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
  }
}
