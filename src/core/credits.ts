/** Money inside Signalbox: integer millionths of a Credit. */
export type Microcredits = number;

/** Microcredits in one Credit. */
export const MICROCREDITS = 1_000_000;

/** A JSON number of Credits with at most 6 decimals. */
export function toCredits(amount: Microcredits): number {
  return amount / MICROCREDITS;
}

/**
 * Credits given by a caller as a limit, rounded *down* to whole microcredits, so that the
 * limit is never exceeded. A decimal that a double cannot hold exactly (0.000003) counts as written: a
 * division of integers gives the double nearest to the decimal, so it is the one to compare with.
 */
export function limitFromCredits(credits: number): Microcredits {
  const nearest = Math.round(credits * MICROCREDITS);
  const limit = nearest / MICROCREDITS > credits ? nearest - 1 : nearest;
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}
