/** Returns the mean squared error of each row's predictions, over its models. Matrices are by row, then by model. */
export function squaredErrors(predicted: Float64Array, labels: Float64Array, rows: number): Float64Array {
  const m = labels.length / rows;
  const errors = new Float64Array(rows);
  for (let at = 0; at < labels.length; at++) errors[Math.floor(at / m)]! += (predicted[at]! - labels[at]!) ** 2 / m;
  return errors;
}

export function weightedMean(values: Float64Array, weights: ArrayLike<number>): number {
  let [sum, total] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    sum += weights[i]! * values[i]!;
    total += weights[i]!;
  }
  return sum / total;
}

const BINS = 10;

/** The mean predicted and observed quality in a bin of equal width. */
export interface Bin {
  readonly predicted: number;
  readonly observed: number;
  readonly count: number;
}

/** Returns the bins of a reliability diagram, without empty bins. */
export function binsOf(predicted: Float64Array, labels: Float64Array): Bin[] {
  const sums = Array.from({ length: BINS }, () => ({ predicted: 0, observed: 0, count: 0 }));
  predicted.forEach((p, at) => {
    const bin = sums[Math.min(BINS - 1, Math.floor(p * BINS))]!;
    bin.predicted += p;
    bin.observed += labels[at]!;
    bin.count++;
  });
  return sums.flatMap(({ predicted: p, observed, count }) =>
    count === 0 ? [] : [{ predicted: p / count, observed: observed / count, count }],
  );
}

/** Returns the ECE: the mean distance between a bin's observed and predicted quality, weighted by its number of predictions. */
export function eceOf(bins: readonly Bin[]): number {
  const total = bins.reduce((sum, { count }) => sum + count, 0);
  return bins.reduce(
    (sum, { predicted, observed, count }) => sum + (count / total) * Math.abs(predicted - observed),
    0,
  );
}
