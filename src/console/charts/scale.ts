/** Returns axis steps from zero to at least `max`. Each step is 1, 2 or 5 times a power of ten. */
export function ticksTo(max: number, about = 4): readonly number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const count = Math.ceil(max / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

/** Returns powers of ten around positive values. If there are only a few powers, their multiples by 2 and 5 are added. */
export function logTicks(min: number, max: number): readonly number[] {
  const [low, high] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const factors = high - low <= 2 ? [1, 2, 5] : [1];
  const powers = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  return powers
    .flatMap((power) => factors.map((factor) => Number((factor * power).toPrecision(12))))
    .filter((tick) => tick >= min * 0.999 && tick <= max * 1.001);
}

/** Converts a value to pixels. */
export type Scale = (value: number) => number;

/** Returns a scale that maps a domain to pixels. */
export const scaled =
  (from: number, to: number, start: number, end: number): Scale =>
  (value) =>
    to === from ? (start + end) / 2 : start + ((value - from) / (to - from)) * (end - start);

/**
 * The SVG path of the line through the values. A value that is null is a gap in the chart.
 * @param from the first value of the line
 */
export function pathOf(values: readonly (number | null)[], x: Scale, y: Scale, from = 0): string {
  const isOpen = (at: number) => at > from && (values[at - 1] ?? null) !== null;
  return values
    .map((value, at) =>
      value === null || at < from ? '' : `${isOpen(at) ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`,
    )
    .join('');
}

/** Where each value of each line begins if the lines are stacked: at the sum of the values of the lines before it. */
export const basesOf = (
  lines: readonly { readonly values: readonly (number | null)[] }[],
): readonly (readonly number[])[] =>
  lines.map(({ values }, place) =>
    values.map((_, bucket) => lines.slice(0, place).reduce((sum, line) => sum + (line.values[bucket] ?? 0), 0)),
  );

interface Tradeoff {
  readonly cost: number;
  readonly quality: number;
}

/**
 * Returns the points for which no other point is both cheaper and at least as good, or better at the same cost. The cheapest point comes
 * first.
 */
export function paretoFront<Point extends Tradeoff>(points: readonly Point[]): readonly Point[] {
  const front: Point[] = [];
  for (const point of points.toSorted((one, other) => one.cost - other.cost || other.quality - one.quality)) {
    if (point.quality > (front.at(-1)?.quality ?? Number.NEGATIVE_INFINITY)) front.push(point);
  }
  return front;
}
