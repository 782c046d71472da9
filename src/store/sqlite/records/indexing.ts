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
import { SUMMARY } from './summary.ts';

/** The most rows in one transaction. A transaction with so many rows takes a few milliseconds, in which the process serves no request. */
const BATCH = 500;

const THROUGH = '(SELECT through FROM record_indexing)';

const LEFT = sql(`SELECT 1 FROM records WHERE seq > ${THROUGH} LIMIT 1`);

const ADD_FRESH =
  sql(`INSERT OR IGNORE INTO record_index (id, seq, key_id, model, task, status, operation, session, team_id, user_id, code, request, summary)
    SELECT id, seq, key_id, model, task, status, operation, session, team_id, user_id, code, request, ${SUMMARY} FROM records WHERE seq > ${THROUGH} ORDER BY seq LIMIT ?`);
const ADD_LABELS = sql(`INSERT OR IGNORE INTO record_labels (name, value, id) SELECT label.key, label.atom, fresh.id
    FROM (SELECT id, labels FROM records WHERE seq > ${THROUGH} ORDER BY seq LIMIT ?) AS fresh, json_each(fresh.labels) AS label
    WHERE fresh.labels <> '{}'`);
const ADVANCE = sql(`UPDATE record_indexing SET through = ifnull((SELECT max(seq) FROM
    (SELECT seq FROM records WHERE seq > ${THROUGH} ORDER BY seq LIMIT ?)), through)`);

/** Returns writes that index at most this many records. */
export const indexingWrites = (rows: number): readonly SqlWrite[] =>
  [ADD_FRESH, ADD_LABELS, ADVANCE].map((statement) => write(statement, rows));
const NEXT = indexingWrites(BATCH);

/** @returns whether the index lacks records */
const isIndexBehind = async (db: SqlReader): Promise<boolean> => (await first(db, LEFT)) !== null;

/**
 * Indexes a batch of records. The progress is committed together with the batch.
 * @returns whether records are left to index
 * @throws StoreError
 */
export async function indexRecords(db: SqlTables): Promise<boolean> {
  if (!(await isIndexBehind(db))) return false;
  await db.commit(NEXT);
  return await isIndexBehind(db);
}

const INDEXED_BELOW = 'SELECT id, seq FROM record_index WHERE id < ?1 ORDER BY id LIMIT ?2';
const COUNT_BELOW = sql(`SELECT count(*) AS n FROM (${INDEXED_BELOW}) AS below`);
const DELETIONS: readonly Statement[] = [
  {
    sql: `DELETE FROM record_labels WHERE (name, value, id) IN (SELECT label.key, label.atom, below.id
      FROM (${INDEXED_BELOW}) AS below JOIN records USING (seq), json_each(records.labels) AS label)`,
  },
  { sql: `DELETE FROM records WHERE seq IN (SELECT seq FROM (${INDEXED_BELOW}))` },
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
  while (await indexRecords(db));
  const params = [beforeId, BATCH];
  for (let deleted = 0; ; ) {
    const below = await first<{ n: number }>(db, COUNT_BELOW, ...params);
    if (!below?.n) return deleted;
    await db.commit([
      ...DELETIONS.map((statement) => write(statement, ...params)),
      write(RESTART),
      write(RECORDS_PRUNED, beforeId),
    ]);
    deleted += below.n;
  }
}
