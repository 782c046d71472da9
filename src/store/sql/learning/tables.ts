import type { LearningTables } from '../../learning.ts';
import { batchDeletion } from '../delete-batches.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';
import { sqlOutcomes } from './outcomes.ts';

const INSERT_RESET = sql('INSERT INTO learning_resets (model, at) VALUES (?, ?)');
// Reads the lengths from the row where versions that learned from outcomes stored them.
const SELECT_LENGTHS = sql(`SELECT bytes FROM learnt WHERE estimator = 'learned' AND part = 'tasks'`);
const PUT_LENGTHS = sql(`INSERT INTO learnt (estimator, part, bytes) VALUES ('learned', 'tasks', ?)
    ON CONFLICT (estimator, part) DO UPDATE SET bytes = excluded.bytes`);
const deleteEnded = batchDeletion({ table: 'examples', key: 'decision', by: 'until', comparison: '<', batch: 1_000 });

/** The repositories of scores and lengths over one handle of a database. Callers must not call `prune` over a read-only handle. */
export const sqlLearning = (db: SqlTables): LearningTables => ({
  outcomes: sqlOutcomes(db),
  resets: { add: (model, at) => write(INSERT_RESET, model, at) },
  lengths: {
    find: async () => (await first<{ bytes: Uint8Array }>(db, SELECT_LENGTHS))?.bytes ?? null,
    put: (bytes) => write(PUT_LENGTHS, bytes),
  },
  examples: { prune: (before) => deleteEnded(db, before) },
});
