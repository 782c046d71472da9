import {
  first,
  type SqlReader,
  type SqlTables,
  type SqlWrite,
  type Statement,
  sql,
  write,
} from '../../sql/statement.ts';
import { RECORDS_PRUNED } from '../../sql/traffic/state.ts';
import { OLD_SUMMARY, SUMMARY } from './summary.ts';

/** The most rows in one transaction. A transaction with so many rows takes a few milliseconds, in which the process serves no request. */
const BATCH = 500;
/** The batch size for records of version 0.1, because their bodies must be read. */
const OLD_BATCH = 100;

const THROUGH = '(SELECT through FROM record_indexing)';
const OLDER = '(SELECT older FROM record_indexing)';

const LEFT = sql(`SELECT EXISTS (SELECT 1 FROM records WHERE seq > ${THROUGH}) AS fresh,
    EXISTS (SELECT 1 FROM decisions WHERE id < ${OLDER}) AS old`);

const ADD_FRESH =
  sql(`INSERT OR IGNORE INTO record_index (id, seq, key_id, model, task, status, operation, session, team_id, user_id, code, request, summary)
    SELECT id, seq, key_id, model, task, status, operation, session, team_id, user_id, code, request, ${SUMMARY} FROM records WHERE seq > ${THROUGH} ORDER BY seq LIMIT ?`);
const ADD_LABELS = sql(`INSERT OR IGNORE INTO record_labels (name, value, id) SELECT label.key, label.atom, fresh.id
    FROM (SELECT id, labels FROM records WHERE seq > ${THROUGH} ORDER BY seq LIMIT ?) AS fresh, json_each(fresh.labels) AS label
    WHERE fresh.labels <> '{}'`);
const ADVANCE = sql(`UPDATE record_indexing SET through = ifnull((SELECT max(seq) FROM
    (SELECT seq FROM records WHERE seq > ${THROUGH} ORDER BY seq LIMIT ?)), through)`);

/**
 * Indexes records of version 0.1, which have the indexed values only in `body`; see `body.ts`. An edited row is indexed with the values
 * that can be read.
 */
const ADD_OLD = sql(`INSERT OR IGNORE INTO record_index (id, seq, key_id, model, task, status, operation, summary)
    SELECT id, NULL, key_id, coalesce(body ->> '$[5][2][#-1][0]', body ->> '$[3]', ''), coalesce(body ->> '$[1][2]', ''),
      coalesce(body ->> '$[5][0]', 'recommended'), 'chat', ${OLD_SUMMARY}
    FROM (SELECT id, time, key_id, revision, iif(json_valid(body), body, '[]') AS body FROM decisions
      WHERE id < ${OLDER} ORDER BY id DESC LIMIT ?)`);
const DESCEND = sql(`UPDATE record_indexing SET older = ifnull((SELECT min(id) FROM
    (SELECT id FROM decisions WHERE id < ${OLDER} ORDER BY id DESC LIMIT ?)), older)`);

const batchOf = (rows: number, ...statements: readonly Statement[]): readonly SqlWrite[] =>
  statements.map((statement) => write(statement, rows));
/** Returns writes that index at most this many new records. */
export const indexingWrites = (rows: number): readonly SqlWrite[] => batchOf(rows, ADD_FRESH, ADD_LABELS, ADVANCE);
const FRESH = indexingWrites(BATCH);
const OLD = batchOf(OLD_BATCH, ADD_OLD, DESCEND);

/** Returns the parts that the index lacks: new records, and records of version 0.1. */
export async function leftToIndex(db: SqlReader): Promise<{ fresh: boolean; old: boolean }> {
  const left = await first<{ fresh: number; old: number }>(db, LEFT);
  return { fresh: left?.fresh === 1, old: left?.old === 1 };
}

/**
 * Indexes a batch of records: new records first, then records of version 0.1, always the newest first. The progress is committed together
 * with the batch.
 * @returns whether records are left to index
 * @throws StoreError
 */
export async function indexRecords(db: SqlTables): Promise<boolean> {
  const before = await leftToIndex(db);
  if (!before.fresh && !before.old) return false;
  await db.commit(before.fresh ? FRESH : OLD);
  const after = await leftToIndex(db);
  return after.fresh || after.old;
}

const INDEXED_BELOW = 'SELECT id, seq FROM record_index WHERE id < ?1 ORDER BY id LIMIT ?2';
const COUNT_BELOW = sql(`SELECT (SELECT count(*) FROM (SELECT 1 FROM decisions WHERE id < ?1 LIMIT ?2)) AS old,
    (SELECT count(*) FROM (${INDEXED_BELOW})) AS indexed, (SELECT count(seq) FROM (${INDEXED_BELOW})) AS fresh`);
const DELETIONS: readonly Statement[] = [
  {
    sql: `DELETE FROM record_labels WHERE (name, value, id) IN (SELECT label.key, label.atom, below.id
      FROM (${INDEXED_BELOW}) AS below JOIN records USING (seq), json_each(records.labels) AS label)`,
  },
  { sql: `DELETE FROM records WHERE seq IN (SELECT seq FROM (${INDEXED_BELOW}))` },
  { sql: 'DELETE FROM decisions WHERE id IN (SELECT id FROM decisions WHERE id < ?1 ORDER BY id LIMIT ?2)' },
  { sql: `DELETE FROM record_index WHERE id IN (SELECT id FROM (${INDEXED_BELOW}))` },
];
/** If no rows are left, `seq` restarts at 1, so the stored positions are lowered. */
const RESTART = sql('UPDATE record_indexing SET through = min(through, (SELECT ifnull(max(seq), 0) FROM records))');

/**
 * Deletes the records below an ID and their part of the index, in batches.
 * @returns the number of deleted records
 * @throws StoreError
 */
export async function pruneRecords(db: SqlTables, beforeId: number): Promise<number> {
  while ((await leftToIndex(db)).fresh) await db.commit(FRESH);
  const params = [beforeId, BATCH];
  for (let deleted = 0; ; ) {
    const below = await first<{ old: number; indexed: number; fresh: number }>(db, COUNT_BELOW, ...params);
    if (!below || below.old + below.indexed === 0) return deleted;
    await db.commit([
      ...DELETIONS.map((statement) => write(statement, ...params)),
      write(RESTART),
      write(RECORDS_PRUNED, beforeId),
    ]);
    deleted += below.old + below.fresh;
  }
}
