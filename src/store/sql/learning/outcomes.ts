import { idSpan, timeOfId } from '../../../core/id.ts';
import type { OutcomeLog, OutcomeRow, ScoreMean, SourceSums } from '../../learning.ts';
import { batchDeletion } from '../delete-batches.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';

/** @param greater the function that returns the greater of two numbers */
const insertBy = (greater: string): string =>
  `INSERT INTO outcomes (id, decision, source, estimator, key_id, model, task, score, offered, weight, declared,
    estimated, probability, among, looked, label)
    VALUES (${greater}($id, 1 + (SELECT coalesce(max(id), 0) FROM outcomes)), $decision, $source, $estimator, $keyId,
    $model, $task, $score, $offered, $weight, $declared, $estimated, $probability, $among, $looked, $label)
    ON CONFLICT DO NOTHING`;
const INSERT = sql(insertBy('max'), { inPostgres: insertBy('greatest'), takesTurns: true, mustChange: true });
const COLUMNS = `o.id, o.decision, o.source, o.estimator, o.key_id AS keyId, o.model, o.task, o.score, o.offered,
  o.weight, o.declared, o.estimated, o.probability, o.among, o.looked, o.label`;
const SELECT_SCORE = sql(`SELECT ${COLUMNS} FROM outcomes o WHERE o.decision = ? AND o.source = 'caller'`);
const MATCHING = `SELECT ${COLUMNS} FROM outcomes o WHERE o.id > ?1 AND o.id < ?2 AND (o.key_id = ?4 OR ?4 IS NULL)
    AND (o.model = ?5 OR ?5 IS NULL) AND (o.source = ?6 OR ?6 IS NULL) ORDER BY o.id`;
const SELECT_FIRST = sql(`${MATCHING} LIMIT ?3`);
const SELECT_LATEST = sql(`${MATCHING} DESC LIMIT ?3`);
const SELECT_SOURCES = sql(`SELECT source, count(*) AS outcomes, sum(weight) AS learnt,
    sum(CASE WHEN weight = 0 AND offered > 0 THEN 1.0 ELSE 0.0 END) AS withheld
    FROM outcomes GROUP BY source ORDER BY source`);
const SELECT_MODELS = sql('SELECT DISTINCT model FROM outcomes ORDER BY model');
/** The time at which IDs begin, ms since 1970. */
const ID_EPOCH_MS = timeOfId(0);
/** An ID contains the time at which it was made, so `at` of a reset is converted to an ID to compare it with outcomes. */
const SELECT_MEANS = sql(`SELECT o.model, o.task, sum(o.weight) AS outcomes,
    sum(o.weight * o.score) / sum(o.weight) AS mean, sum(o.weight * o.declared) / sum(o.weight) AS declared
    FROM outcomes o WHERE o.source = 'caller' AND o.weight > 0 AND NOT EXISTS (SELECT 1 FROM learning_resets r
      WHERE (r.model IS NULL OR r.model = o.model) AND o.id < (r.at - ?) * ?)
    GROUP BY o.model, o.task ORDER BY o.model, o.task`);
const deleteBelow = batchDeletion({ table: 'outcomes', key: 'id', by: 'id', comparison: '<', batch: 1_000 });

export const sqlOutcomes = (db: SqlTables): OutcomeLog => ({
  add: (row) => write(INSERT, { ...row }),
  findScore: (decision) => first<OutcomeRow>(db, SELECT_SCORE, decision),
  list: ({ after, before, keyId, model, source }, most, latest = false) =>
    db.query<OutcomeRow>(latest ? SELECT_LATEST : SELECT_FIRST, [after, before, most, keyId, model, source]),
  sums: () => db.query<SourceSums>(SELECT_SOURCES),
  async models() {
    const rows = await db.query<{ model: string }>(SELECT_MODELS);
    return rows.map(({ model }) => model);
  },
  means: () => db.query<ScoreMean>(SELECT_MEANS, [ID_EPOCH_MS, idSpan(1)]),
  prune: (beforeId) => deleteBelow(db, beforeId),
});
