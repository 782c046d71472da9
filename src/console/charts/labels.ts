/** A circle of a chart and the name next to it. */
export interface NamedCircle {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

export interface PlacedLabel {
  readonly name: string;
  /** The position of the text: the place of its anchor, and its baseline. */
  readonly x: number;
  readonly y: number;
  readonly anchor: 'start' | 'middle' | 'end';
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The size of a label with 12 px: its height, the width of a wide character, and the space between a circle and its label. */
const [LINE, CHARACTER, SPACE] = [14, 7, 6];

/** The part of the plot that a label covers. */
export function boxOf({ name, x, y, anchor }: PlacedLabel): Box {
  const width = name.length * CHARACTER;
  const left = x - { start: 0, middle: width / 2, end: width }[anchor];
  return { left, right: left + width, top: y - LINE + 3, bottom: y + 3 };
}

/** The positions of a label, the best first: at the right, at the left, above and below. */
function positionsOf({ name, x, y, radius }: NamedCircle): readonly PlacedLabel[] {
  const [above, below] = [y - radius - SPACE, y + radius + SPACE + LINE - 3];
  return [
    { name, x: x + radius + SPACE, y: y + 4, anchor: 'start' },
    { name, x: x - radius - SPACE, y: y + 4, anchor: 'end' },
    ...[above, below].flatMap((at): readonly PlacedLabel[] => [
      { name, x, y: at, anchor: 'middle' },
      { name, x: x - radius, y: at, anchor: 'start' },
      { name, x: x + radius, y: at, anchor: 'end' },
    ]),
  ];
}

const areApart = (one: Box, other: Box): boolean =>
  one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;

/** Whether a label is next to a circle. */
export function isClear({ left, right, top, bottom }: Box, { x, y, radius }: NamedCircle): boolean {
  const [nearX, nearY] = [Math.max(left, Math.min(x, right)), Math.max(top, Math.min(y, bottom))];
  return Math.hypot(nearX - x, nearY - y) >= radius;
}

/** So many of the most important names may cover circles: a narrow plot with many circles would name only one of them otherwise. */
export const NAMES_OVER_CIRCLES = 3;

/**
 * Places the names of circles where they cover neither a circle nor another name. A name without such a place is left out, except the first
 * three, which then cover as few circles as possible.
 * @param circles the most important first
 * @param plot the area for labels
 */
export function placeLabels(circles: readonly NamedCircle[], plot: Box): readonly PlacedLabel[] {
  const placed: PlacedLabel[] = [];
  for (const circle of circles) {
    const inside = positionsOf(circle).filter((label) => {
      const { left, right, top, bottom } = boxOf(label);
      return left >= plot.left && right <= plot.right && top >= plot.top && bottom <= plot.bottom;
    });
    const covered = (label: PlacedLabel) => circles.filter((other) => !isClear(boxOf(label), other)).length;
    const [best] = inside
      .filter((label) => placed.every((other) => areApart(boxOf(label), boxOf(other))))
      .toSorted((one, other) => covered(one) - covered(other));
    if (best && (placed.length < NAMES_OVER_CIRCLES || covered(best) === 0)) placed.push(best);
  }
  return placed;
}
