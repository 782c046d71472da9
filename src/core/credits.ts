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
 * limit is never exceeded. What a double cannot hold exactly (0.000003) counts as meant.
 */
export function limitFromCredits(credits: number): Microcredits {
  const scaled = credits * MICROCREDITS;
  const nearest = Math.round(scaled);
  const limit = Math.abs(scaled - nearest) < nearest * 1e-12 ? nearest : Math.floor(scaled);
  return Math.min(limit, Number.MAX_SAFE_INTEGER);
}
