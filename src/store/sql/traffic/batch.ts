import { idAt } from '../../../core/id.ts';
import type { RecordTraffic } from '../../record-traffic.ts';
import type { TrafficSums } from '../../traffic-sums.ts';
import { first, type SqlReader, type SqlWrite, type Statement, sql } from '../statement.ts';
import { addEntries, addWaiting, ENTRIES_BETWEEN, type EntryRow } from './entries.ts';
import type { CountingMeans } from './means.ts';
import type { CountingState } from './state.ts';
import { BY_NUMBER, readTraffic, selectTraffic } from './stored.ts';

/** The most rows in a batch that is counted. */
export interface BatchSize {
  readonly records: number;
  readonly entries: number;
}
/** Counting a batch takes a few milliseconds, in which the process serves no request. */
export const BATCH_SIZE: BatchSize = { records: 500, entries: 1_000 };

const endOf = (table: string) =>
  sql(
    `SELECT max(seq) AS seq FROM (SELECT seq FROM ${table} WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3) AS next`,
  );
const startOf = (table: string) =>
  sql(`SELECT min(seq) AS seq FROM (SELECT seq FROM ${table} WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2) AS before`);
const [RECORDS_END, RECORDS_START] = [endOf('records'), startOf('records')];
const [JOURNAL_END, JOURNAL_START] = [endOf('journal'), startOf('journal')];

/** Rows that were added up, with the new counting state. */
interface Batch {
  readonly to: Partial<CountingState>;
  /** Whether more rows of the same kind may be left. */
  readonly isFull: boolean;
  readonly writes: readonly SqlWrite[];
}

/**
 * Adds up the next rows: new records and journal entries first, then rows of the past.
 * @returns null if no rows are left
 */
export async function nextBatch(
  db: SqlReader,
  means: CountingMeans,
  state: CountingState,
  sums: TrafficSums,
  size: BatchSize,
): Promise<Batch | null> {
  const end = await means.horizon();
  // Without new rows, no query is needed: to plan a query on the partitions of PostgreSQL takes longer than to run it.
  const [recordsThrough, journalThrough] = await Promise.all([
    end.records > state.recordsThrough ? place(db, RECORDS_END, state.recordsThrough, end.records, size.records) : null,
    end.entries > state.journalThrough ? place(db, JOURNAL_END, state.journalThrough, end.entries, size.entries) : null,
  ]);
  if (recordsThrough !== null || journalThrough !== null) {
    const to = {
      ...state,
      recordsThrough: recordsThrough ?? state.recordsThrough,
      journalThrough: journalThrough ?? state.journalThrough,
    };
    const numbers = [state.recordsThrough + 1, to.recordsThrough, 0];
    const records = await selectTraffic(db, means.written, BY_NUMBER, numbers);
    const entries = await db.query<EntryRow>(ENTRIES_BETWEEN, [state.journalThrough + 1, to.journalThrough, 0]);
    // The numbers of rows can have gaps, so the next batch may turn out to be empty.
    const isFull =
      to.recordsThrough - state.recordsThrough >= size.records ||
      to.journalThrough - state.journalThrough >= size.entries;
    return { to, isFull, writes: await addAll(db, means, state, sums, records, entries) };
  }
  return await pastBatch(db, means, state, sums, size);
}

async function pastBatch(
  db: SqlReader,
  means: CountingMeans,
  state: CountingState,
  sums: TrafficSums,
  size: BatchSize,
): Promise<Batch | null> {
  const { recordsBefore, journalBefore } = state;
  if (!isPastLeft(state)) return null;
  const least = idAt(state.recountFrom);
  const recordsFrom = await place(db, RECORDS_START, recordsBefore, size.records);
  const journalFrom = await place(db, JOURNAL_START, journalBefore, size.entries);
  const records =
    recordsFrom === null ? [] : await readTraffic(db, BY_NUMBER.rows, [recordsFrom, recordsBefore - 1, least]);
  const entries = await db.query<EntryRow>(ENTRIES_BETWEEN, [
    journalFrom ?? 1,
    journalFrom === null ? 0 : journalBefore - 1,
    least,
  ]);
  // The position 0 means that no rows are left before it.
  const to = { recordsBefore: recordsFrom ?? 0, journalBefore: journalFrom ?? 0 };
  return {
    to,
    isFull: isPastLeft({ ...state, ...to }),
    writes: await addAll(db, means, state, sums, records, entries),
  };
}

/** Whether rows of the past may be left to count. */
export const isPastLeft = ({ recordsBefore, journalBefore }: CountingState): boolean =>
  recordsBefore > 0 || journalBefore > 0;

async function place(db: SqlReader, statement: Statement, ...params: number[]): Promise<number | null> {
  return (await first<{ seq: number | null }>(db, statement, ...params))?.seq ?? null;
}

async function addAll(
  db: SqlReader,
  { written }: CountingMeans,
  { prunedBelow }: CountingState,
  sums: TrafficSums,
  records: readonly RecordTraffic[],
  entries: readonly EntryRow[],
): Promise<SqlWrite[]> {
  for (const record of records) if (record.status !== 'recommended') sums.addRequest(record);
  const read = new Map(records.map((record) => [record.id, record]));
  return [...(await addEntries(db, written, sums, entries, read, prunedBelow)), ...(await addWaiting(db, sums, read))];
}
