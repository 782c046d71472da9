import type { DecisionOutcome } from '../../../core/decision/outcome.ts';
import {
  labelsOf,
  type RecordTraffic,
  recordTraffic,
  refusedTraffic,
  type TrafficPlace,
  type WrittenTraffic,
} from '../../record-traffic.ts';
import { decodeAnswers, decodeOutcome } from '../records/body.ts';
import { inPostgres, searchFor } from '../records/selection.ts';
import { type SqlReader, type SqlValue, type Statement, sql } from '../statement.ts';

/** The columns of a record that are counted. A record is counted only after it is indexed, because charges find it with the index. */
interface RecordRow extends Omit<TrafficPlace, 'provider' | 'labels'> {
  /** Labels as JSON; null if the record of the row no longer exists. */
  readonly labels: string | null;
  /** The body; null if the record of the row no longer exists. */
  readonly body: string | null;
}
const columnsOf = (table: string): string =>
  `${table}.id, ${table}.key_id AS key, coalesce(${table}.team_id, '') AS team, coalesce(${table}.user_id, '') AS "user",
    ${table}.model, ${table}.task, ${table}.status`;

/** Selects records: either only their IDs, or all columns that are counted. */
interface RecordSelection {
  readonly ids: Statement;
  readonly rows: Statement;
}

const BETWEEN = 'WHERE r.seq BETWEEN ?1 AND ?2 AND r.id >= ?3';
/** In SQLite, a record that was written twice counts once, in the version that the index has. PostgreSQL refuses the second write. */
const between = (columns: string): Statement =>
  sql(`SELECT ${columns} FROM records AS r CROSS JOIN record_index AS i ON i.id = r.id AND i.seq = r.seq ${BETWEEN}`, {
    inPostgres: `SELECT ${columns} FROM records AS r ${BETWEEN}`,
  });
export const BY_NUMBER: RecordSelection = {
  ids: between('r.id'),
  rows: between(`${columnsOf('r')}, r.labels, r.body`),
};

const INDEXED = 'FROM json_each(?) AS k CROSS JOIN record_index AS i ON i.id = CAST(k.value AS BIGINT)';
const ofRecord = (column: string) => `(SELECT ${column} FROM records WHERE seq = i.seq)`;
export const BY_ID: RecordSelection = {
  ids: searchFor(`SELECT i.id ${INDEXED}`),
  rows: sql(`SELECT ${columnsOf('i')}, ${ofRecord('labels')} AS labels, ${ofRecord('body')} AS body ${INDEXED}`, {
    inPostgres: inPostgres(
      `SELECT ${columnsOf('r')}, r.labels, r.body ${INDEXED} CROSS JOIN records AS r ON r.id = i.id`,
    ),
  }),
};

/**
 * Returns the figures that the selected records add to traffic. The rows of the records are read only if this process no longer remembers
 * all these records.
 */
export async function selectTraffic(
  db: SqlReader,
  written: WrittenTraffic,
  { ids, rows }: RecordSelection,
  params: readonly SqlValue[],
): Promise<readonly RecordTraffic[]> {
  const known: RecordTraffic[] = [];
  for (const { id } of await db.query<Pick<RecordRow, 'id'>>(ids, params)) {
    const traffic = written.find(id);
    if (!traffic) return readTraffic(db, rows, params);
    known.push(traffic);
  }
  return known;
}

/** Returns the figures that the rows selected by a statement add to traffic. */
export async function readTraffic(
  db: SqlReader,
  rows: Statement,
  params: readonly SqlValue[],
): Promise<readonly RecordTraffic[]> {
  return (await db.query<RecordRow>(rows, params)).map(({ body, labels, ...row }) => {
    const place = { ...row, labels: labelsIn(labels) };
    // A row that was edited counts as a request without figures.
    return row.status === 'refused'
      ? refusedTraffic(place, readOr(1, body, decodeAnswers))
      : recordTraffic(place, readOr<DecisionOutcome | null>(null, body, decodeOutcome));
  });
}

/** Returns what a function reads from a body; another value if there is no body, or if the function throws. */
function readOr<Value>(other: Value, body: string | null, read: (body: string) => Value): Value {
  try {
    return body === null ? other : read(body);
  } catch {
    return other;
  }
}

/** Returns the series of JSON labels; no series if the row was edited. */
export function labelsIn(text: string | null): readonly string[] {
  if (text === null || text === '{}') return [];
  try {
    return labelsOf(JSON.parse(text));
  } catch {
    return [];
  }
}
