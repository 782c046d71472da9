/** Sums are kept by the quarter of an hour, because the windows of every time zone begin with one. */
export const QUARTER_MS = 900_000;

export const quarterOf = (timeMs: number): number => Math.floor(timeMs / QUARTER_MS);
