/** Money inside Signalbox: integer millionths of a Credit. */
export type Microcredits = number;

/** The number of microcredits in one Credit. */
export const MICROCREDITS = 1_000_000;

/** Converts microcredits to Credits, as a JSON number with at most 6 decimals. */
export function toCredits(amount: Microcredits): number {
  return amount / MICROCREDITS;
}

/**
 * Converts a caller's limit from Credits to microcredits, rounded *down* so that the limit is never exceeded. A decimal that a double
 * cannot hold exactly (0.000003) counts as written: dividing the integer gives the same double, so the comparison in `limitFromCredits`
 * succeeds.
 */
export function limitFromCredits(credits: number): Microcredits {
  const nearest = Math.round(credits * MICROCREDITS);
  const limit = nearest / MICROCREDITS > credits ? nearest - 1 : nearest;
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}
