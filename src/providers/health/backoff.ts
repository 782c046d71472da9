const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/** Returns wait number `level`, counted from 0, in ms: 1 s, doubled each time, up to 30 s. */
export const backoffMs = (level: number): number => Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(level, 8));
