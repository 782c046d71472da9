import type { OutcomeLog, OutcomeRow, OutcomeWithFeatures, SourceSums } from '../../learning.ts';
import { batchDeletion } from '../delete-batches.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';

/** @param greater the function that chooses the greater of two numbers */
const insertBy = (greater: string): string =>
  `INSERT INTO outcomes (id, decision, source, estimator, key_id, model, task, score, offered, weight, declared,
    estimated, probability, among, looked, label)
    VALUES (${greater}($id, 1 + (SELECT coalesce(max(id), 0) FROM outcomes)), $decision, $source, $estimator, $keyId,
    $model, $task, $score, $offered, $weight, $declared, $estimated, $probability, $among, $looked, $label)
    ON CONFLICT DO NOTHING`;
const INSERT = sql(insertBy('max'), { inPostgres: insertBy('greatest'), takesTurns: true });
const COLUMNS = `o.id, o.decision, o.source, o.estimator, o.key_id AS keyId, o.model, o.task, o.score, o.offered,
  o.weight, o.declared, o.estimated, o.probability, o.among, o.looked, o.label`;
const SELECT_SCORE = sql(`SELECT ${COLUMNS} FROM outcomes o WHERE o.decision = ? AND o.source = 'caller'`);
const WITH_FEATURES = `${COLUMNS}, e.features FROM outcomes o
  LEFT JOIN examples e ON e.decision = o.decision AND e.estimator = o.estimator`;
const SELECT_TAIL = sql(
  `SELECT ${WITH_FEATURES} WHERE o.estimator = ? AND o.weight > 0 AND o.id > ? ORDER BY o.id DESC LIMIT ?`,
);
const SELECT_AFTER = sql(`SELECT ${WITH_FEATURES} WHERE o.id > ? ORDER BY o.id LIMIT ?`);
const MATCHING = `SELECT ${COLUMNS} FROM outcomes o WHERE o.id > ?1 AND o.id < ?2 AND (o.key_id = ?4 OR ?4 IS NULL)
    AND (o.model = ?5 OR ?5 IS NULL) AND (o.source = ?6 OR ?6 IS NULL) ORDER BY o.id`;
const SELECT_FIRST = sql(`${MATCHING} LIMIT ?3`);
const SELECT_LATEST = sql(`${MATCHING} DESC LIMIT ?3`);
const SELECT_LAST = sql('SELECT coalesce(max(id), 0) AS id FROM outcomes');
const SELECT_SOURCES = sql(`SELECT source, count(*) AS outcomes, sum(weight) AS learnt,
    sum(CASE WHEN weight = 0 AND offered > 0 THEN 1.0 ELSE 0.0 END) AS withheld
    FROM outcomes GROUP BY source ORDER BY source`);
const SELECT_MODELS = sql('SELECT DISTINCT model FROM outcomes ORDER BY model');
const COUNT_AFTER = sql('SELECT count(*) AS n FROM outcomes WHERE estimator = ? AND id > ? AND weight > 0');
const deleteBelow = batchDeletion({ table: 'outcomes', key: 'id', by: 'id', comparison: '<', batch: 1_000 });

export const sqlOutcomes = (db: SqlTables): OutcomeLog => ({
  add: (row) => write(INSERT, { ...row }),
  findScore: (decision) => first<OutcomeRow>(db, SELECT_SCORE, decision),
  // Writers take their turns, and each adds behind the last.
  horizon: async () => (await first<{ id: number }>(db, SELECT_LAST))?.id ?? 0,
  after: (id, most) => db.query<OutcomeWithFeatures>(SELECT_AFTER, [id, most]),
  async tail(estimator, id, most) {
    const latest = await db.query<OutcomeWithFeatures>(SELECT_TAIL, [estimator, id, most]);
    return latest.reverse();
  },
  list: ({ after, before, keyId, model, source }, most, latest = false) =>
    db.query<OutcomeRow>(latest ? SELECT_LATEST : SELECT_FIRST, [after, before, most, keyId, model, source]),
  sums: () => db.query<SourceSums>(SELECT_SOURCES),
  async models() {
    const rows = await db.query<{ model: string }>(SELECT_MODELS);
    return rows.map(({ model }) => model);
  },
  countAfter: async (estimator, id) => (await first<{ n: number }>(db, COUNT_AFTER, estimator, id))?.n ?? 0,
  prune: (beforeId) => deleteBelow(db, beforeId),
});
