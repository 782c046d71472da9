import type { AnswerRow, IdempotencyTable } from '../idempotency.ts';
import { batchDeletion } from './delete-batches.ts';
import { first, type Migrations, type SqlTables, sql, write } from './statement.ts';

/**
 * One row for each request with an `Idempotency-Key`. `name` is a SHA-256 of the API key's ID and the idempotency key.
 * `body` and `answer` need the API key's secret. Large columns stand last, so that lookups read
 * little.
 */
export const idempotencyMigrations: Migrations = {
  room: 'idempotency',
  versions: [
    `CREATE TABLE idempotency (
      id INTEGER PRIMARY KEY,
      name BLOB NOT NULL UNIQUE CHECK (length(name) = 32),
      state TEXT NOT NULL CHECK (state = 'running' OR state = 'kept' OR state = 'lost'),
      decision INTEGER NOT NULL,
      earlier INTEGER,
      losses INTEGER NOT NULL,
      time INTEGER NOT NULL,
      salt BLOB NOT NULL,
      verifier BLOB NOT NULL,
      body BLOB NOT NULL,
      answer BLOB CHECK ((answer IS NOT NULL) = (state = 'kept'))
    ) STRICT;
    CREATE INDEX idempotency_time ON idempotency (time);`,
  ],
};

const SELECT_ROW = sql(
  'SELECT name, state, decision, earlier, losses, time, salt, verifier, body, answer FROM idempotency WHERE name = ?',
);
const PUT = sql(`INSERT INTO idempotency (name, state, decision, earlier, losses, time, salt, verifier, body, answer)
    VALUES ($name, $state, $decision, $earlier, $losses, $time, $salt, $verifier, $body, $answer)
    ON CONFLICT (name) DO UPDATE SET state = excluded.state, decision = excluded.decision, earlier = excluded.earlier,
      losses = excluded.losses, time = excluded.time, salt = excluded.salt, verifier = excluded.verifier,
      body = excluded.body, answer = excluded.answer`);
const DELETE = sql('DELETE FROM idempotency WHERE name = ?');
/** Each row may have a mebibyte. */
const deleteOld = batchDeletion({ table: 'idempotency', key: 'id', by: 'time', comparison: '<=', batch: 100 });

export function sqliteIdempotency(db: SqlTables): IdempotencyTable {
  return {
    find: (name) => first<AnswerRow>(db, SELECT_ROW, name),
    put: (row) => write(PUT, { ...row }),
    delete: (name) => write(DELETE, name),
    prune: (until) => deleteOld(db, until),
  };
}
