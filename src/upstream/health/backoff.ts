const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/** The `level`-th wait, from 0: 1 s, doubled each time, at most 30 s. In ms. */
export const backoffMs = (level: number): number => Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(level, 8));
