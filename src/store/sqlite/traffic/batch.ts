import type { DecisionOutcome } from '../../../core/decision-record.ts';
import { idAt } from '../../../core/id.ts';
import { decodeOutcome } from '../../sql/records/body.ts';
import { first, type SqlReader, type SqlWrite, sql } from '../../sql/statement.ts';
import type { TrafficPlace, TrafficSums } from '../../traffic-sums.ts';
import { addEntries, addWaiting, ENTRIES_BETWEEN, type EntryRow, labelsIn } from './entries.ts';
import type { CountingState } from './state.ts';

/** Rows in one batch at most. */
export interface BatchSize {
  readonly records: number;
  readonly entries: number;
}
/** A batch takes a few milliseconds, in which no request is served. */
export const BATCH_SIZE: BatchSize = { records: 500, entries: 1_000 };

/** A record, as far as it is counted. It is counted behind the index, by which a charge finds it. */
interface RecordRow extends Omit<TrafficPlace, 'provider' | 'labels'> {
  /** JSON, as in all rows here; null in records of version 0.1. */
  readonly labels: string | null;
  /** JSON; null where the row was edited. */
  readonly outcome: string | null;
}
const COLUMNS = `i.id, i.key_id AS key, coalesce(i.team_id, '') AS team, coalesce(i.user_id, '') AS "user", i.model, i.task, i.status,
    CASE WHEN json_valid(r.body) THEN r.body -> '$[5]' END AS outcome`;
const INDEXED = '(SELECT through FROM record_indexing)';
const RECORDS_END = sql(`SELECT max(seq) AS seq FROM
    (SELECT seq FROM records WHERE seq > ?1 AND seq <= ${INDEXED} ORDER BY seq LIMIT ?2)`);
const RECORDS_START = sql(
  `SELECT min(seq) AS seq FROM (SELECT seq FROM records WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2)`,
);
const RECORDS_BETWEEN =
  sql(`SELECT ${COLUMNS}, r.labels FROM records AS r CROSS JOIN record_index AS i ON i.id = r.id AND i.seq = r.seq
    WHERE r.seq BETWEEN ?1 AND ?2 AND r.id >= ?3`);
const OLD_START = sql(`SELECT min(id) AS seq FROM (SELECT id FROM decisions WHERE id < ?1 ORDER BY id DESC LIMIT ?2)`);
const OLD_BETWEEN =
  sql(`SELECT ${COLUMNS}, NULL AS labels FROM decisions AS r CROSS JOIN record_index AS i ON i.id = r.id AND i.seq IS NULL
    WHERE r.id BETWEEN ?1 AND ?2 AND r.id >= ?3`);

const JOURNAL_END = sql(`SELECT max(seq) AS seq FROM (SELECT seq FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2)`);
const JOURNAL_START = sql(
  `SELECT min(seq) AS seq FROM (SELECT seq FROM journal WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2)`,
);
/** Rows that were added up, with how far that counts. */
interface Batch {
  readonly to: Partial<CountingState>;
  /** Whether more rows of its kind may be left. */
  readonly isFull: boolean;
  readonly writes: readonly SqlWrite[];
}

/**
 * Adds up the next rows: new ones of records and journal, else those of the past.
 * @param isIndexed whether the index has all records of the past
 * @returns null where none are left
 */
export async function nextBatch(
  db: SqlReader,
  state: CountingState,
  sums: TrafficSums,
  isIndexed: boolean,
  size: BatchSize,
): Promise<Batch | null> {
  const recordsThrough = await place(db, RECORDS_END, state.recordsThrough, size.records);
  const journalThrough = await place(db, JOURNAL_END, state.journalThrough, size.entries);
  if (recordsThrough !== null || journalThrough !== null) {
    const to = {
      ...state,
      recordsThrough: recordsThrough ?? state.recordsThrough,
      journalThrough: journalThrough ?? state.journalThrough,
    };
    const rows = await db.query<RecordRow>(RECORDS_BETWEEN, [state.recordsThrough + 1, to.recordsThrough, 0]);
    const entries = await db.query<EntryRow>(ENTRIES_BETWEEN, [state.journalThrough + 1, to.journalThrough, 0]);
    // Numbers may have gaps: then the next look may be in vain.
    const isFull =
      to.recordsThrough - state.recordsThrough >= size.records ||
      to.journalThrough - state.journalThrough >= size.entries;
    return { to, isFull, writes: await addAll(db, state, sums, rows, entries) };
  }
  return isIndexed ? await pastBatch(db, state, sums, size) : null;
}

async function pastBatch(
  db: SqlReader,
  state: CountingState,
  sums: TrafficSums,
  size: BatchSize,
): Promise<Batch | null> {
  const { recordsBefore, journalBefore, oldBefore } = state;
  if (!isPastLeft(state)) return null;
  const least = idAt(state.recountFrom);
  const recordsFrom = await place(db, RECORDS_START, recordsBefore, size.records);
  const oldFrom = recordsFrom === null ? await place(db, OLD_START, oldBefore, size.records) : oldBefore;
  const journalFrom = await place(db, JOURNAL_START, journalBefore, size.entries);
  const rows =
    recordsFrom === null
      ? await db.query<RecordRow>(OLD_BETWEEN, [oldFrom ?? 1, oldFrom === null ? 0 : oldBefore - 1, least])
      : await db.query<RecordRow>(RECORDS_BETWEEN, [recordsFrom, recordsBefore - 1, least]);
  const entries = await db.query<EntryRow>(ENTRIES_BETWEEN, [
    journalFrom ?? 1,
    journalFrom === null ? 0 : journalBefore - 1,
    least,
  ]);
  // 0: none are left before it.
  const to = { recordsBefore: recordsFrom ?? 0, oldBefore: oldFrom ?? 0, journalBefore: journalFrom ?? 0 };
  return { to, isFull: isPastLeft({ ...state, ...to }), writes: await addAll(db, state, sums, rows, entries) };
}

/** Whether rows of the past may be left. */
export const isPastLeft = ({ recordsBefore, oldBefore, journalBefore }: CountingState): boolean =>
  recordsBefore > 0 || oldBefore > 0 || journalBefore > 0;

async function place(db: SqlReader, statement: typeof RECORDS_END, from: number, most: number): Promise<number | null> {
  return (await first<{ seq: number | null }>(db, statement, from, most))?.seq ?? null;
}

async function addAll(
  db: SqlReader,
  { prunedBelow }: CountingState,
  sums: TrafficSums,
  rows: readonly RecordRow[],
  entries: readonly EntryRow[],
): Promise<SqlWrite[]> {
  const places = new Map<number, TrafficPlace>();
  for (const { outcome: text, labels, ...row } of rows) {
    const outcome = outcomeIn(text);
    const place = { ...row, labels: labelsIn(labels), provider: outcome?.attempts.at(-1)?.provider ?? '' };
    places.set(place.id, place);
    if (place.status !== 'recommended') sums.addRequest(place, outcome);
  }
  return [...(await addEntries(db, sums, entries, places, prunedBelow)), ...(await addWaiting(db, sums, places))];
}

function outcomeIn(text: string | null): DecisionOutcome | null {
  try {
    return text === null ? null : decodeOutcome(text);
  } catch {
    // An edited row counts as a request without figures.
    return null;
  }
}
