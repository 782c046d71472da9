import { idAt } from '../../../core/id.ts';
import { keptFromAt, STEP_MS, TRAFFIC_STEPS } from '../../traffic.ts';
import { TrafficSums } from '../../traffic-sums.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';
import { type BatchSize, isPastLeft, nextBatch } from './batch.ts';
import type { CountingMeans } from './means.ts';
import { additionsTo, widthOf } from './rows.ts';
import { advance, type CountingState, countingState, KEEP_ALL, keptAfter } from './state.ts';

/** The number of rows to delete in one transaction. */
const CLEARED = 2_000;

/** Counts a batch, as described at `TrafficTable.count`. */
export async function countTraffic(
  db: SqlTables,
  means: CountingMeans,
  now: number,
  size: BatchSize,
): Promise<boolean> {
  const isLeft = await countBatch(db, means, now, size);
  if (!isLeft) means.written.age();
  return isLeft;
}

async function countBatch(db: SqlTables, means: CountingMeans, now: number, size: BatchSize): Promise<boolean> {
  // The counting finds the record of a charge with the index of records.
  const isIndexLeft = await means.index();
  const state = await countingState(db);
  if (state.isClearing) return await clear(db, state);
  const sums = new TrafficSums(keptFromAt(now));
  const batch = await nextBatch(db, means, state, sums, size);
  if (!batch) return isIndexLeft;
  const additions = await additionsTo(db, means, sums);
  const leftOut = [...sums.leftOut].map(([step, time]) => keptAfter(widthOf(step), time / STEP_MS[step]));
  const isWritten = await advance(db, state, batch.to, [...batch.writes, ...additions, ...leftOut]);
  return isIndexLeft || batch.isFull || isPastLeft(state) || !isWritten;
}

const HAS_LATER = sql('SELECT 1 AS one FROM traffic WHERE width = ?1 AND bucket >= ?2 LIMIT 1');
const DELETE_LATER = sql(`DELETE FROM traffic WHERE (width, kind, bucket, series) IN
    (SELECT width, kind, bucket, series FROM traffic WHERE width = ?1 AND bucket >= ?2 LIMIT ${CLEARED})`);
const WAIT_NO_MORE = sql('DELETE FROM traffic_waiting WHERE id >= ?');

/** Deletes a batch of the buckets that are to be counted again. After the last batch, all rows except new rows count as the past. */
async function clear(db: SqlTables, state: CountingState): Promise<boolean> {
  const { recountFrom, recordsThrough, journalThrough } = state;
  for (const step of TRAFFIC_STEPS) {
    const from = [widthOf(step), Math.floor(recountFrom / STEP_MS[step])];
    if (!(await first(db, HAS_LATER, ...from))) continue;
    await advance(db, state, {}, [write(DELETE_LATER, ...from)]);
    return true;
  }
  const past = { recordsBefore: recordsThrough + 1, journalBefore: journalThrough + 1 };
  await advance(db, state, { ...past, isClearing: 0 }, [write(WAIT_NO_MORE, idAt(recountFrom)), write(KEEP_ALL)]);
  return true;
}
