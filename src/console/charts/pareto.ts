interface Tradeoff {
  readonly cost: number;
  readonly quality: number;
}

/** The points that no other beats in cost without being worse, nor in quality without being dearer; the cheapest first. */
export function paretoFront<Point extends Tradeoff>(points: readonly Point[]): readonly Point[] {
  const front: Point[] = [];
  for (const point of points.toSorted((one, other) => one.cost - other.cost || other.quality - one.quality)) {
    if (point.quality > (front.at(-1)?.quality ?? Number.NEGATIVE_INFINITY)) front.push(point);
  }
  return front;
}
