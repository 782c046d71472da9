import { timeOfId } from '../../../core/id.ts';
import { isMet, StoreError } from '../../store.ts';
import { STEP_MS } from '../../traffic.ts';
import { first, type SqlReader, type SqlTables, type SqlWrite, sql, write } from '../statement.ts';

/** How far traffic is counted, as its table has it. */
export interface CountingState {
  readonly version: number;
  readonly recordsThrough: number;
  readonly recordsBefore: number;
  readonly oldBefore: number;
  readonly journalThrough: number;
  readonly journalBefore: number;
  /** Ms since 1970: the past before it is counted already. */
  readonly recountFrom: number;
  /** 1 while buckets are deleted to be counted again. */
  readonly isClearing: number;
  /** Records below this ID were deleted. */
  readonly prunedBelow: number;
}

const SELECT =
  sql(`SELECT version, records_through AS recordsThrough, records_before AS recordsBefore, old_before AS oldBefore,
    journal_through AS journalThrough, journal_before AS journalBefore, recount_from AS recountFrom,
    is_clearing AS isClearing, pruned_below AS prunedBelow FROM traffic_counting`);
const NEXT = `version = version + 1, records_through = $recordsThrough, records_before = $recordsBefore,
      old_before = $oldBefore, journal_through = $journalThrough, journal_before = $journalBefore,
      recount_from = $recountFrom, is_clearing = $isClearing`;
const ADVANCE = sql(`UPDATE traffic_counting SET ${NEXT} WHERE version = $version`, {
  mustChange: true,
});

export async function countingState(db: SqlReader): Promise<CountingState> {
  const state = await first<CountingState>(db, SELECT);
  if (!state) throw new StoreError('traffic has no state', { reason: 'damaged' });
  return state;
}

/**
 * Commits writes together with how far they count, unless something was counted since the state was read.
 * @returns whether they were written
 */
export const advance = (
  db: SqlTables,
  state: CountingState,
  to: Partial<CountingState>,
  writes: readonly SqlWrite[],
): Promise<boolean> => isMet(db.commit([write(ADVANCE, { ...state, ...to, version: state.version }), ...writes]));

/** The first day, ms since 1970, of which all records are left: what is counted of earlier ones is kept. @param prunedBelow an ID; 0 for none */
export const recountFromOf = (prunedBelow: number): number =>
  prunedBelow === 0 ? 0 : Math.ceil(timeOfId(prunedBelow) / STEP_MS.day) * STEP_MS.day;

const KEEP = sql(`INSERT INTO traffic_kept (width, bucket) VALUES (?1, ?2)
    ON CONFLICT (width) DO UPDATE SET bucket = excluded.bucket WHERE traffic_kept.bucket < excluded.bucket`);
/** All buckets are counted again, so that none lacks cells any more. */
export const KEEP_ALL = sql('DELETE FROM traffic_kept');
const KEPT = sql('SELECT width, bucket FROM traffic_kept');

/** Notes that buckets of a length up to this one may lack cells, because of their age. It goes with the deletion, or the count that leaves them out. */
export const keptAfter = (width: number, bucket: number): SqlWrite => write(KEEP, width, bucket + 1);

/** The first bucket of each length, by its width, from which no cell was deleted or left out; lengths of which all were kept are missing. */
export async function firstKept(db: SqlReader): Promise<ReadonlyMap<number, number>> {
  const rows = await db.query<{ width: number; bucket: number }>(KEPT);
  return new Map(rows.map(({ width, bucket }) => [width, bucket]));
}

/** Behind the deletion of records below an ID: in SQLite their numbers begin again at 1 where no rows are left. */
export const RECORDS_PRUNED = sql(
  `UPDATE traffic_counting SET version = version + 1, pruned_below = max(pruned_below, ?1),
    records_before = CASE records_before WHEN 0 THEN 0 ELSE min(records_before, (SELECT ifnull(max(seq), 0) FROM records) + 1) END,
    records_through = min(records_through, (SELECT ifnull(max(seq), 0) FROM records))`,
  {
    inPostgres: 'UPDATE traffic_counting SET version = version + 1, pruned_below = greatest(pruned_below, ?1)',
  },
);
