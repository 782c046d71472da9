/** When a point comes by: while requests run, or at a start that finds orphans. */
type Phase = 'load' | 'start';

export interface CrashPoint {
  readonly name: string;
  /** The process dies at a passage from the first to this one. */
  readonly passages: number;
  readonly phase: Phase;
  /** The load edits the policy while it runs. */
  readonly edits: boolean;
  /** Some stream has shown content by then, and not ended. */
  readonly shows: boolean;
  /** Credits that the clients of one key may spend. Five are far less than they would like to. */
  readonly keyCredits: number;
}

const point = (name: string, passages: number, more: Partial<CrashPoint> = {}): CrashPoint => ({
  name,
  passages,
  phase: 'load',
  edits: false,
  shows: false,
  keyCredits: 5,
  ...more,
});

/** Where little money is left, holds are not raised. */
const AMPLE = { keyCredits: 50 };

/** Where `crash-points.ts` can kill the process, in the order in which a request passes by. */
export const POINTS: readonly CrashPoint[] = [
  point('reserve-asked-for', 80),
  point('reserve-before-commit', 25),
  point('reserve-after-commit', 25),
  point('upstream-called', 40),
  point('first-content-sent', 20, { shows: true }),
  point('mid-stream', 60, { shows: true }),
  point('post-in-memory', 6),
  point('post-before-commit', 4),
  point('raise-before-commit', 6, AMPLE),
  point('raise-after-commit', 6, AMPLE),
  point('settle-asked-for', 30),
  point('settle-in-memory', 30),
  point('settle-before-commit', 20),
  point('settle-after-commit', 20),
  point('transaction-begun', 30),
  point('transaction-half-written', 150),
  point('checkpoint-before-commit', 4),
  point('checkpoint-after-commit', 4),
  point('terms-before-commit', 3, { edits: true }),
  point('reload-prepared', 3, { edits: true }),
  point('reload-swapped', 3, { edits: true }),
  point('attach-before-commit', 3, { edits: true }),
  point('orphans-before-commit', 1, { phase: 'start' }),
  point('orphans-after-commit', 1, { phase: 'start' }),
];

/**
 * Where it can kill the process between two writes to the spool, which a note stands before or after. `isFree`: the disk has
 * room again by then. A `new-spool` comes at the start that takes the entries in.
 */
export const SPOOL_POINTS = [
  { name: 'spool-in-use-before-note', isFree: false },
  { name: 'spool-in-use-after-note', isFree: false },
  { name: 'spool-counted-before-note', isFree: false },
  { name: 'spool-counted-after-note', isFree: false },
  { name: 'spool-empty-before-note', isFree: true },
  { name: 'spool-empty-after-note', isFree: true },
  { name: 'new-spool-empty-before-note', isFree: true },
  { name: 'new-spool-empty-after-note', isFree: true },
] as const;
