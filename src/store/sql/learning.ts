import { idSpan, timeOfId } from '../../core/id.ts';
import type { LearningTables, OutcomeRow, ScoreMean } from '../learning.ts';
import { batchDeletion } from './delete-batches.ts';
import { first, type SqlTables, sql, write } from './statement.ts';

/** @param greater the function that returns the greater of two numbers */
const insertBy = (greater: string): string =>
  `INSERT INTO outcomes (id, decision, key_id, model, task, score, declared, label)
    VALUES (${greater}($id, 1 + (SELECT coalesce(max(id), 0) FROM outcomes)), $decision, $keyId, $model, $task, $score,
    $declared, $label) ON CONFLICT DO NOTHING`;
const INSERT = sql(insertBy('max'), { inPostgres: insertBy('greatest'), takesTurns: true, mustChange: true });
const COLUMNS = 'o.id, o.decision, o.key_id AS keyId, o.model, o.task, o.score, o.declared, o.label';
const SELECT_SCORE = sql(`SELECT ${COLUMNS} FROM outcomes o WHERE o.decision = ?`);
const SELECT = sql(`SELECT ${COLUMNS} FROM outcomes o WHERE o.id > ?1 AND o.id < ?2 AND (o.key_id = ?4 OR ?4 IS NULL)
    AND (o.model = ?5 OR ?5 IS NULL) ORDER BY o.id LIMIT ?3`);
const COUNT = sql('SELECT count(*) AS n FROM outcomes');
const SELECT_MODELS = sql('SELECT DISTINCT model FROM outcomes ORDER BY model');
/** The time at which IDs begin, ms since 1970. */
const ID_EPOCH_MS = timeOfId(0);
/** An ID contains the time at which it was made, so `at` of a reset is converted to an ID to compare it with outcomes. */
const SELECT_MEANS =
  sql(`SELECT o.model, o.task, count(*) AS outcomes, avg(o.score) AS mean, avg(o.declared) AS declared
    FROM outcomes o WHERE NOT EXISTS (SELECT 1 FROM learning_resets r
      WHERE (r.model IS NULL OR r.model = o.model) AND o.id < (r.at - ?) * ?)
    GROUP BY o.model, o.task ORDER BY o.model, o.task`);
const deleteBelow = batchDeletion({ table: 'outcomes', key: 'id', by: 'id', comparison: '<', batch: 1_000 });
const INSERT_RESET = sql('INSERT INTO learning_resets (model, at) VALUES (?, ?)');

/** The repositories of scores over one handle of a database. Callers must not call `prune` over a read-only handle. */
export const sqlLearning = (db: SqlTables): LearningTables => ({
  outcomes: {
    add: (row) => write(INSERT, { ...row }),
    findScore: (decision) => first<OutcomeRow>(db, SELECT_SCORE, decision),
    list: ({ after, before, keyId, model }, most) => db.query<OutcomeRow>(SELECT, [after, before, most, keyId, model]),
    count: async () => (await first<{ n: number }>(db, COUNT))?.n ?? 0,
    async models() {
      const rows = await db.query<{ model: string }>(SELECT_MODELS);
      return rows.map(({ model }) => model);
    },
    means: () => db.query<ScoreMean>(SELECT_MEANS, [ID_EPOCH_MS, idSpan(1)]),
    prune: (beforeId) => deleteBelow(db, beforeId),
  },
  resets: { add: (model, at) => write(INSERT_RESET, model, at) },
});
