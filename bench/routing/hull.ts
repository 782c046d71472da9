/** Mean cost and mean quality. */
export type Point = readonly [cost: number, quality: number];

/**
 * Returns the upper, non-decreasing convex hull, by ascending cost. Every point of the hull can be reached by choosing at random between
 * two points, or by paying for more than is used.
 */
export function hullOf(points: readonly Point[]): Point[] {
  const hull: Point[] = [];
  for (const point of [...points].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (hull.length > 0 && point[1] <= hull[hull.length - 1]![1]) continue;
    while (hull.length > 1 && !isAbove(hull[hull.length - 2]!, hull[hull.length - 1]!, point)) hull.pop();
    hull.push(point);
  }
  return hull;
}

/** Whether `middle` is above the line between the two other points. */
const isAbove = (left: Point, middle: Point, right: Point): boolean =>
  (middle[1] - left[1]) * (right[0] - left[0]) > (right[1] - left[1]) * (middle[0] - left[0]);

/** Returns the quality of a hull at a cost; below its first point, the quality of that point. */
export function qualityAt(hull: readonly Point[], cost: number): number {
  const next = hull.findIndex((point) => point[0] >= cost);
  if (next < 0) return hull[hull.length - 1]![1];
  if (next === 0) return hull[0]![1];
  const [left, right] = [hull[next - 1]!, hull[next]!];
  return left[1] + ((cost - left[0]) / (right[0] - left[0])) * (right[1] - left[1]);
}

/** Returns the lowest cost at which a hull reaches a quality; NaN if the hull never reaches the quality. */
export function costAt(hull: readonly Point[], quality: number): number {
  const next = hull.findIndex((point) => point[1] >= quality);
  if (next < 0) return Number.NaN;
  if (next === 0) return hull[0]![0];
  const [left, right] = [hull[next - 1]!, hull[next]!];
  return left[0] + ((quality - left[1]) / (right[1] - left[1])) * (right[0] - left[0]);
}

/** Returns the AIQ (RouterBench): the mean quality of a hull over a range of costs. */
export function aiqOf(hull: readonly Point[], from: number, to: number): number {
  const costs = [from, ...hull.map(([cost]) => cost).filter((cost) => cost > from && cost < to), to];
  let area = 0;
  for (let i = 1; i < costs.length; i++) {
    const [a, b] = [costs[i - 1]!, costs[i]!];
    area += ((qualityAt(hull, a) + qualityAt(hull, b)) / 2) * (b - a);
  }
  return area / (to - from);
}
