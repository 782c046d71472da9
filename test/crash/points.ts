/** When a point is reached: while requests run, or at a start that finds orphans. */
type Phase = 'load' | 'start';

export interface CrashPoint {
  readonly name: string;
  /** The process dies when it reaches the point for a random time between the first and this one. */
  readonly passages: number;
  readonly phase: Phase;
  /** True if the policy is edited while the load runs. */
  readonly edits: boolean;
  /** True if some stream has shown content by then and has not ended. */
  readonly shows: boolean;
  /** The Credits that the clients of one key may spend. Five are far less than they want. */
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

/**
 * Enough money for raises: if little money is left, holds are not raised. Also enough for points that a busy machine reaches seldom:
 * chunks that arrive together pass `mid-stream` once, posts that wait together are one transaction, and an edit attaches only the holds
 * that are open at that moment.
 */
const AMPLE = { keyCredits: 50 };

/** The points at which `crash-points.ts` can kill the process, in the order in which a request reaches them. */
export const POINTS: readonly CrashPoint[] = [
  point('reserve-asked-for', 80),
  point('reserve-before-commit', 25),
  point('reserve-after-commit', 25),
  point('upstream-called', 40),
  point('first-content-sent', 20, { shows: true }),
  point('mid-stream', 60, { ...AMPLE, shows: true }),
  point('post-in-memory', 6, AMPLE),
  point('post-before-commit', 4, AMPLE),
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
  point('attach-before-commit', 3, { ...AMPLE, edits: true }),
  point('orphans-before-commit', 1, { phase: 'start' }),
  point('orphans-after-commit', 1, { phase: 'start' }),
];

/**
 * The points between two writes to the spool, before or after a note. `isFree`: the disk has room again by then. `new-spool` is reached by
 * the start that books the entries.
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
