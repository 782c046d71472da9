import type { ExampleRow, ExampleTable } from '../../learning.ts';
import { batchDeletion } from '../delete-batches.ts';
import { type SqlTables, type Statement, write } from '../statement.ts';

const INSERT: Statement = {
  sql: `INSERT INTO examples (decision, until, key_id, estimator, model, task, declared, probability, among, features)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
};
const SELECT: Statement = {
  sql: `SELECT decision, until, key_id AS keyId, estimator, model, task, declared, probability, among, features
    FROM examples WHERE decision = ?`,
};
const COUNT_OPEN: Statement = { sql: 'SELECT count(*) AS n FROM examples WHERE until >= ?' };
const deleteEnded = batchDeletion({ table: 'examples', key: 'decision', by: 'until', comparison: '<', batch: 1_000 });

export const sqliteExamples = (db: SqlTables): ExampleTable => ({
  add({ decision, until, keyId, estimator, model, task, declared, probability, among, features }) {
    const params = [decision, until, keyId, estimator, model, task, declared, probability, among, features];
    return write(INSERT, ...params);
  },
  async find(decision) {
    const [row] = await db.query<ExampleRow>(SELECT, [decision]);
    return row ?? null;
  },
  async countOpen(now) {
    const [row] = await db.query<{ n: number }>(COUNT_OPEN, [now]);
    return row?.n ?? 0;
  },
  prune: (before) => deleteEnded(db, before),
});
