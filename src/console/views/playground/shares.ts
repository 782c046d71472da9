/** The weights of quality, cost and speed as whole percents with the sum 100. */
export interface Shares {
  readonly quality: number;
  readonly cost: number;
  readonly speed: number;
}
export type ShareName = keyof Shares;

export const SHARE_NAMES: readonly ShareName[] = ['quality', 'cost', 'speed'];

/** The shares with which the first drag starts. */
export const EVEN: Shares = { quality: 34, cost: 33, speed: 33 };

/** Sets one share. The other two shares keep their ratio, or become equal if both are 0. */
export function moved(shares: Shares, name: ShareName, to: number): Shares {
  const value = Math.max(0, Math.min(100, Math.round(to)));
  const [one, other] = SHARE_NAMES.filter((each) => each !== name);
  if (one === undefined || other === undefined) return shares;
  const before = shares[one] + shares[other];
  const first = Math.round((100 - value) * (before === 0 ? 0.5 : shares[one] / before));
  return { ...shares, [name]: value, [one]: first, [other]: 100 - value - first };
}

/** Writes shares for the address: `60-30-10` for quality, cost and speed. */
export const sharesText = ({ quality, cost, speed }: Shares): string => `${quality}-${cost}-${speed}`;

/** @returns null if the text contains no valid shares */
export function sharesIn(text: string): Shares | null {
  const [, quality, cost, speed] = /^(\d{1,3})-(\d{1,3})-(\d{1,3})$/.exec(text)?.map(Number) ?? [];
  if (quality === undefined || cost === undefined || speed === undefined) return null;
  return quality + cost + speed === 100 ? { quality, cost, speed } : null;
}

/**
 * Converts weights of any size to shares.
 * @returns null if all weights are 0
 */
export function sharesOf(quality: number, cost: number, speed: number): Shares | null {
  // Dividing all weights by the largest weight first keeps the sum from overflowing.
  const largest = Math.max(quality, cost, speed);
  if (!(largest > 0) || Math.min(quality, cost, speed) < 0) return null;
  const sum = quality / largest + cost / largest + speed / largest;
  return rounded(quality / largest / sum, cost / largest / sum);
}

/** Rounds shares so that their sum stays 100. */
function rounded(quality: number, cost: number): Shares {
  const first = Math.round(quality * 100);
  const second = Math.min(100 - first, Math.round(cost * 100));
  return { quality: first, cost: second, speed: 100 - first - second };
}

/**
 * A point in the triangle, 0 to 1 from left to right and from top to bottom. The corners of the triangle are quality (top), cost (left) and
 * speed (right).
 */
export interface TrianglePlace {
  readonly x: number;
  readonly y: number;
}

export const placeOf = ({ quality, cost }: Shares): TrianglePlace => {
  const y = 1 - quality / 100;
  return { x: 0.5 * (quality / 100) + (100 - quality - cost) / 100, y };
};

/** The shares at a point. A point outside the triangle counts as the nearest point on its edge. */
export function sharesAt({ x, y }: TrianglePlace): Shares {
  const quality = Math.max(0, 1 - y);
  const speed = Math.max(0, x - 0.5 * (1 - y));
  const cost = Math.max(0, 1 - (1 - y) - (x - 0.5 * (1 - y)));
  return sharesOf(quality, cost, speed) ?? EVEN;
}
