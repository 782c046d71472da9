import { timeOfId } from '../../../core/id.ts';
import { isMet, StoreError } from '../../store.ts';
import { STEP_MS } from '../../traffic.ts';
import { first, type SqlReader, type SqlTables, type SqlWrite, sql, write } from '../statement.ts';

/** The stored state of how far traffic is counted. */
export interface CountingState {
  readonly version: number;
  readonly recordsThrough: number;
  readonly recordsBefore: number;
  readonly journalThrough: number;
  readonly journalBefore: number;
  /** The time, ms since 1970, before which the past is not counted again. */
  readonly recountFrom: number;
  /** 1 while buckets are deleted so that they can be counted again. */
  readonly isClearing: number;
  /** The ID below which all records were deleted. */
  readonly prunedBelow: number;
}

const SELECT = sql(`SELECT version, records_through AS recordsThrough, records_before AS recordsBefore,
    journal_through AS journalThrough, journal_before AS journalBefore, recount_from AS recountFrom,
    is_clearing AS isClearing, pruned_below AS prunedBelow FROM traffic_counting`);
const NEXT = `version = version + 1, records_through = $recordsThrough, records_before = $recordsBefore,
      journal_through = $journalThrough, journal_before = $journalBefore, recount_from = $recountFrom, is_clearing = $isClearing`;
const ADVANCE = sql(`UPDATE traffic_counting SET ${NEXT} WHERE version = $version`, {
  mustChange: true,
});

export async function countingState(db: SqlReader): Promise<CountingState> {
  const state = await first<CountingState>(db, SELECT);
  if (!state) throw new StoreError('traffic has no state', { reason: 'damaged' });
  return state;
}

/**
 * Commits writes together with the new counting state, unless another instance has counted since the state was read.
 * @returns whether the writes were committed
 */
export const advance = (
  db: SqlTables,
  state: CountingState,
  to: Partial<CountingState>,
  writes: readonly SqlWrite[],
): Promise<boolean> => isMet(db.commit([write(ADVANCE, { ...state, ...to, version: state.version }), ...writes]));

/**
 * Returns the first day (ms since 1970) for which all records still exist. The buckets of earlier days are kept unchanged. @param
 * prunedBelow an ID; 0 for none
 */
export const recountFromOf = (prunedBelow: number): number =>
  prunedBelow === 0 ? 0 : Math.ceil(timeOfId(prunedBelow) / STEP_MS.day) * STEP_MS.day;

const KEEP = sql(`INSERT INTO traffic_kept (width, bucket) VALUES (?1, ?2)
    ON CONFLICT (width) DO UPDATE SET bucket = excluded.bucket WHERE traffic_kept.bucket < excluded.bucket`);
/** Used when all buckets are counted again, because no bucket lacks cells after that. */
export const KEEP_ALL = sql('DELETE FROM traffic_kept');
const KEPT = sql('SELECT width, bucket FROM traffic_kept');

/**
 * Notes that buckets of a length, up to a given bucket, may lack cells because of their age. The caller must commit this note together with
 * the deletion or the count that leaves these cells out.
 */
export const keptAfter = (width: number, bucket: number): SqlWrite => write(KEEP, width, bucket + 1);

/**
 * For each bucket width, returns the first bucket since which no cell was deleted or left out. Widths that never lost a cell are missing.
 */
export async function firstKept(db: SqlReader): Promise<ReadonlyMap<number, number>> {
  const rows = await db.query<{ width: number; bucket: number }>(KEPT);
  return new Map(rows.map(({ width, bucket }) => [width, bucket]));
}

/**
 * Adjusts the counting state after the records below an ID were deleted. In SQLite, record numbers restart at 1 if no rows are left, so the
 * stored positions change.
 */
export const RECORDS_PRUNED = sql(
  `UPDATE traffic_counting SET version = version + 1, pruned_below = max(pruned_below, ?1),
    records_before = CASE records_before WHEN 0 THEN 0 ELSE min(records_before, (SELECT ifnull(max(seq), 0) FROM records) + 1) END,
    records_through = min(records_through, (SELECT ifnull(max(seq), 0) FROM records))`,
  {
    inPostgres: 'UPDATE traffic_counting SET version = version + 1, pruned_below = greatest(pruned_below, ?1)',
  },
);
