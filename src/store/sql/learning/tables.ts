import type { LearningTables } from '../../learning.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';
import { sqlOutcomes } from './outcomes.ts';

const INSERT_RESET = sql('INSERT INTO learning_resets (model, at) VALUES (?, ?)');
// Reads the lengths from the row where 0.1 stored them.
const SELECT_LENGTHS = sql(`SELECT bytes FROM learnt WHERE estimator = 'learned' AND part = 'tasks'`);
const PUT_LENGTHS = sql(`INSERT INTO learnt (estimator, part, bytes) VALUES ('learned', 'tasks', ?)
    ON CONFLICT (estimator, part) DO UPDATE SET bytes = excluded.bytes`);

/** The repositories of scores and lengths over one handle of a database. Callers must not call `prune` over a read-only handle. */
export const sqlLearning = (db: SqlTables): LearningTables => ({
  outcomes: sqlOutcomes(db),
  resets: { add: (model, at) => write(INSERT_RESET, model, at) },
  lengths: {
    find: async () => (await first<{ bytes: Uint8Array }>(db, SELECT_LENGTHS))?.bytes ?? null,
    put: (bytes) => write(PUT_LENGTHS, bytes),
  },
});
