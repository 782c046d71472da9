const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/** Wait number `level`, from 0, in ms: 1 s, doubled each time, at most 30 s. */
export const backoffMs = (level: number): number => Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(level, 8));
