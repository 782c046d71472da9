import type { ExampleRow, ExampleTable } from '../../learning.ts';
import type { Statement, Store } from '../../store.ts';
import { deleteInBatches } from '../delete-batches.ts';

const INSERT: Statement = {
  sql: `INSERT INTO examples (decision, until, key_id, estimator, model, task, declared, probability, among, features)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
};
const SELECT: Statement = {
  sql: `SELECT decision, until, key_id AS keyId, estimator, model, task, declared, probability, among, features
    FROM examples WHERE decision = ?`,
};
const COUNT_OPEN: Statement = { sql: 'SELECT count(*) AS n FROM examples WHERE until >= ?' };
const ENDED = {
  count: { sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM examples WHERE until < ? LIMIT ?)' },
  deletion: {
    sql: 'DELETE FROM examples WHERE decision IN (SELECT decision FROM examples WHERE until < ? ORDER BY until LIMIT ?)',
  },
  batch: 1_000,
};

export const sqliteExamples = (db: Pick<Store, 'query' | 'commit'>): ExampleTable => ({
  add({ decision, until, keyId, estimator, model, task, declared, probability, among, features }) {
    const params = [decision, until, keyId, estimator, model, task, declared, probability, among, features];
    return { statement: INSERT, params };
  },
  async find(decision) {
    const [row] = await db.query<ExampleRow>(SELECT, [decision]);
    return row ?? null;
  },
  async countOpen(now) {
    const [row] = await db.query<{ n: number }>(COUNT_OPEN, [now]);
    return row?.n ?? 0;
  },
  prune: (before) => deleteInBatches(db, ENDED, before),
});
