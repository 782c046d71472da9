import type { EstimatorMemories, LearningSecretTable, LearningTables, ResetRow, ResetTable } from '../../learning.ts';
import { first, type SqlReader, type SqlTables, sql, write } from '../statement.ts';
import { sqlExamples } from './examples.ts';
import { sqlOutcomes } from './outcomes.ts';

const SELECT_SECRETS = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'learning_secret'`, {
  inPostgres: 'SELECT 1',
});
const SELECT_SECRET = sql('SELECT secret FROM learning_secret');
const INSERT_SECRET = sql('INSERT INTO learning_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING');

const PUT_PART = sql(`INSERT INTO learnt (estimator, part, bytes) VALUES (?, ?, ?)
    ON CONFLICT (estimator, part) DO UPDATE SET bytes = excluded.bytes`);
const DELETE_PART = sql('DELETE FROM learnt WHERE estimator = ? AND part = ?');
const DELETE_PARTS = sql('DELETE FROM learnt WHERE estimator = ?');
const SELECT_PARTS = sql('SELECT estimator, part, bytes FROM learnt ORDER BY estimator, part');
const PUT_THROUGH = sql(`INSERT INTO learnt_through (estimator, outcome, reset) VALUES (?, ?, ?)
    ON CONFLICT (estimator) DO UPDATE SET outcome = excluded.outcome, reset = excluded.reset`);
const ADVANCE_THROUGH = sql(
  `INSERT INTO learnt_through (estimator, outcome, reset) VALUES (?, ?, ?)
    ON CONFLICT (estimator) DO UPDATE SET outcome = excluded.outcome, reset = excluded.reset
    WHERE excluded.outcome >= learnt_through.outcome AND excluded.reset >= learnt_through.reset`,
  { mustChange: true },
);
const BEGIN_THROUGH = sql(
  'INSERT INTO learnt_through (estimator, outcome, reset) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
);
const SELECT_THROUGH = sql('SELECT estimator, outcome, reset FROM learnt_through');
const PUT_STATE = sql(`INSERT INTO learning_standing (id, outcome, body) VALUES (1, ?, ?)
    ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, body = excluded.body`);
const SELECT_STATE = sql('SELECT outcome, body FROM learning_standing');

const INSERT_RESET = sql('INSERT INTO learning_resets (model, at) VALUES (?, ?)');
const APPLY_RESET = sql('UPDATE learning_resets SET applied = ? WHERE id = ? AND applied IS NULL');
const SELECT_RESETS = sql('SELECT id, model, at, applied FROM learning_resets WHERE id > ? ORDER BY id');

/** The repositories of learning over one handle of a database. Of a handle that only reads, none may be pruned. */
export const sqlLearning = (db: SqlTables): LearningTables => ({
  secret: sqlSecret(db),
  examples: sqlExamples(db),
  outcomes: sqlOutcomes(db),
  memories: sqlMemories(db),
  resets: sqlResets(db),
});

const sqlSecret = (db: SqlReader): LearningSecretTable => ({
  async find() {
    if ((await db.query(SELECT_SECRETS)).length === 0) return null;
    return (await first<{ secret: Uint8Array }>(db, SELECT_SECRET))?.secret ?? null;
  },
  add: (secret) => write(INSERT_SECRET, secret),
});

const sqlMemories = (db: SqlReader): EstimatorMemories => ({
  parts: () => db.query(SELECT_PARTS),
  putPart: (estimator, part, bytes) =>
    bytes ? write(PUT_PART, estimator, part, bytes) : write(DELETE_PART, estimator, part),
  deleteParts: (estimator) => write(DELETE_PARTS, estimator),
  positions: () => db.query(SELECT_THROUGH),
  putPosition: (estimator, { outcome, reset }) => write(PUT_THROUGH, estimator, outcome, reset),
  advance: (estimator, { outcome, reset }) => write(ADVANCE_THROUGH, estimator, outcome, reset),
  beginPosition: (estimator, { outcome, reset }) => write(BEGIN_THROUGH, estimator, outcome, reset),
  state: () => first<{ outcome: number; body: string }>(db, SELECT_STATE),
  putState: (outcome, body) => write(PUT_STATE, outcome, body),
});

const sqlResets = (db: SqlReader): ResetTable => ({
  add: (model, at) => write(INSERT_RESET, model, at),
  apply: (id, outcome) => write(APPLY_RESET, outcome, id),
  after: (id) => db.query<ResetRow>(SELECT_RESETS, [id]),
});
