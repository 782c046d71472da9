import type { DecisionOutcome } from '../../../core/decision-record.ts';
import { idAt } from '../../../core/id.ts';
import { decodeOutcome } from '../../sql/records/body.ts';
import { first, type SqlReader, type SqlWrite, sql, write } from '../../sql/statement.ts';
import { labelSeries } from '../../traffic.ts';
import type { TrafficPlace, TrafficSums } from '../../traffic-sums.ts';
import type { CountingState } from './state.ts';

/** Rows in one batch at most: it takes a few milliseconds, in which no request is served. */
const RECORDS = 500;
const ENTRIES = 1_000;

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

/** An entry that charges or gives back. Its record says what its tariff does not; nulls while there is none. */
interface EntryRow extends Pick<TrafficPlace, 'id' | 'key' | 'team' | 'user'> {
  readonly labels: string;
  readonly seq: number;
  readonly microcredits: number;
  readonly tariffModel: string | null;
  readonly tariffProvider: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly task: string | null;
  readonly status: string | null;
}
const JOURNAL_END = sql(`SELECT max(seq) AS seq FROM (SELECT seq FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2)`);
const JOURNAL_START = sql(
  `SELECT min(seq) AS seq FROM (SELECT seq FROM journal WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2)`,
);
const PROVIDER = `SELECT CASE WHEN json_valid(body) THEN body ->> '$[5][2][#-1][1]' END FROM`;
const ENTRIES_BETWEEN = sql(`SELECT j.seq, j.reservation AS id, j.amount AS microcredits, coalesce(a.key_id, '') AS key,
      coalesce(a.team_id, '') AS team, coalesce(a.user_id, '') AS "user", coalesce(a.labels, '{}') AS labels, t.model AS tariffModel, t.provider AS tariffProvider, i.model, i.task, i.status,
      CASE WHEN t.id IS NULL THEN coalesce((${PROVIDER} records WHERE seq = i.seq),
        (${PROVIDER} decisions WHERE id = i.id AND i.seq IS NULL)) END AS provider
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
      LEFT JOIN record_index AS i ON i.id = j.reservation
    WHERE j.seq BETWEEN ?1 AND ?2 AND j.kind IN ('post', 'settle', 'expire', 'correct') AND j.amount <> 0
      AND j.reservation >= ?3`);

interface WaitingRow
  extends Pick<EntryRow, 'seq' | 'id' | 'key' | 'team' | 'user' | 'labels' | 'model' | 'provider' | 'microcredits'> {}
const WAITING =
  sql(`SELECT seq, id, key_id AS key, team_id AS team, user_id AS "user", labels, model, provider, microcredits FROM traffic_waiting
    WHERE id IN (SELECT value FROM json_each(?))`);
const WAIT = sql(
  `INSERT INTO traffic_waiting (seq, id, key_id, team_id, user_id, labels, model, provider, microcredits)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
);
const ARRIVED = sql('DELETE FROM traffic_waiting WHERE seq = ?');

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
): Promise<Batch | null> {
  const ends = [RECORDS_END, state.recordsThrough, RECORDS, JOURNAL_END, state.journalThrough] as const;
  const [recordsThrough, journalThrough] = [
    await place(db, ends[0], ends[1], ends[2]),
    await place(db, ends[3], ends[4], ENTRIES),
  ];
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
      to.recordsThrough - state.recordsThrough >= RECORDS || to.journalThrough - state.journalThrough >= ENTRIES;
    return { to, isFull, writes: await addAll(db, state, sums, rows, entries) };
  }
  return isIndexed ? await pastBatch(db, state, sums) : null;
}

async function pastBatch(db: SqlReader, state: CountingState, sums: TrafficSums): Promise<Batch | null> {
  const { recordsBefore, journalBefore, oldBefore } = state;
  if (!isPastLeft(state)) return null;
  const least = idAt(state.recountFrom);
  const recordsFrom = await place(db, RECORDS_START, recordsBefore, RECORDS);
  const oldFrom = recordsFrom === null ? await place(db, OLD_START, oldBefore, RECORDS) : oldBefore;
  const journalFrom = await place(db, JOURNAL_START, journalBefore, ENTRIES);
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
  const ofRequests = rows.filter(({ status }) => status !== 'recommended').map(decoded);
  for (const { outcome, labels, ...row } of ofRequests) {
    sums.addRequest({ ...row, labels: labelsIn(labels) }, outcome);
  }
  const writes: SqlWrite[] = [];
  for (const entry of entries) {
    sums.addMoney(placeOf(entry), entry.microcredits);
    const { seq, id, key, team, user, labels, tariffModel, tariffProvider, microcredits } = entry;
    if (entry.status !== null || id < prunedBelow) continue;
    writes.push(write(WAIT, seq, id, key, team, user, labels, tariffModel, tariffProvider, microcredits));
  }
  const byId = new Map(ofRequests.map((row) => [row.id, row]));
  for (const waiting of await db.query<WaitingRow>(WAITING, [JSON.stringify([...byId.keys()])])) {
    const { id, microcredits, model: tariffModel, provider: tariffProvider } = waiting;
    const { model, task, status, outcome } = byId.get(id)!;
    const entry = { ...waiting, tariffModel, tariffProvider, model: null, provider: null, task: null, status: null };
    const provider = outcome?.attempts.at(-1)?.provider ?? null;
    sums.addMoney(placeOf(entry), -microcredits);
    sums.addMoney(placeOf({ ...entry, model, provider, task, status }), microcredits);
    writes.push(write(ARRIVED, waiting.seq));
  }
  return writes;
}

const placeOf = ({
  id,
  key,
  team,
  user,
  labels,
  tariffModel,
  tariffProvider,
  model,
  provider,
  task,
  status,
}: EntryRow): TrafficPlace => ({
  ...{ id, key, team, user, labels: labelsIn(labels), task: task ?? '', status: status ?? '' },
  model: tariffModel ?? model ?? '',
  provider: tariffProvider ?? provider ?? '',
});

function decoded({
  outcome: text,
  ...row
}: RecordRow): Omit<RecordRow, 'outcome'> & { outcome: DecisionOutcome | null } {
  try {
    return { ...row, outcome: text === null ? null : decodeOutcome(text) };
  } catch {
    // An edited row counts as a request without figures.
    return { ...row, outcome: null };
  }
}

/** The series of labels; none where the row was edited. */
function labelsIn(text: string | null): readonly string[] {
  if (text === null || text === '{}') return [];
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => labelSeries(name, String(value)));
  } catch {
    return [];
  }
}
