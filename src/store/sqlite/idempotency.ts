import { BASELINE, type Migrations } from './statement.ts';

/**
 * The table has a row for each request with an `Idempotency-Key`. `name` is a SHA-256 of the API key's ID and the idempotency key. Using
 * `body` or `answer` requires the API key's secret. Only rows in the state `running` have an owner.
 */
export const idempotencyMigrations: Migrations = {
  room: 'idempotency',
  versions: {
    [BASELINE]: `CREATE TABLE idempotency (
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
      answer BLOB CHECK ((answer IS NOT NULL) = (state = 'kept')),
      -- The instance that carries a request out. A running row without one was left by an instance that has ended.
      slot INTEGER,
      epoch INTEGER
    ) STRICT;
    CREATE INDEX idempotency_time ON idempotency (time);
    CREATE INDEX idempotency_running ON idempotency (slot, epoch) WHERE state = 'running' AND slot IS NOT NULL;`,
  },
};
