import type { ExampleRow, ExampleTable } from '../../learning.ts';
import { batchDeletion } from '../delete-batches.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';

const INTO =
  'INSERT INTO examples (decision, until, key_id, estimator, model, task, declared, probability, among, features)';
const INSERT = sql(
  `${INTO} VALUES ($decision, $until, $keyId, $estimator, $model, $task, $declared, $probability, $among, $features)
    ON CONFLICT DO NOTHING`,
  {
    inPostgres: `${INTO} SELECT * FROM unnest($decision::bigint[], $until::bigint[], $keyId::text[], $estimator::text[],
      $model::text[], $task::text[], $declared::float8[], $probability::float8[], $among::bigint[], $features::bytea[])
      ON CONFLICT DO NOTHING`,
    takesRows: true,
  },
);
const SELECT =
  sql(`SELECT decision, until, key_id AS keyId, estimator, model, task, declared, probability, among, features
    FROM examples WHERE decision = ?`);
const COUNT_OPEN = sql('SELECT count(*) AS n FROM examples WHERE until >= ?');
const deleteEnded = batchDeletion({ table: 'examples', key: 'decision', by: 'until', comparison: '<', batch: 1_000 });

export const sqlExamples = (db: SqlTables): ExampleTable => ({
  add: (row) => write(INSERT, { ...row }),
  find: (decision) => first<ExampleRow>(db, SELECT, decision),
  countOpen: async (now) => (await first<{ n: number }>(db, COUNT_OPEN, now))?.n ?? 0,
  prune: (before) => deleteEnded(db, before),
});
