import type { Migrations, Statement, Write } from '../../store/store.ts';

/**
 * One row for each request with an `Idempotency-Key`. `name` is a SHA-256 of the API key's ID and the idempotency key.
 * `body` and `answer` need the API key's secret, see `crypto.ts`. Large columns stand last, so that lookups read
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

/** `running`: in progress, or lost with its process. `kept`: can be repeated. `lost`: charged, cannot be repeated. */
export type AnswerState = 'running' | 'kept' | 'lost';

export interface AnswerRow {
  readonly name: Uint8Array;
  readonly state: AnswerState;
  /** The decision whose reservation paid for it. */
  readonly decision: number;
  /** An earlier decision whose charge is given back too if this run is lost; null for none. */
  readonly earlier: number | null;
  /** Losses of its answer, crashes not counted. */
  readonly losses: number;
  /** When it got this state, ms since 1970. */
  readonly time: number;
  readonly salt: Uint8Array;
  readonly verifier: Uint8Array;
  readonly body: Uint8Array;
  /** Sealed; null unless the state is `kept`. */
  readonly answer: Uint8Array | null;
}

export const SELECT_ROW: Statement = {
  sql: 'SELECT name, state, decision, earlier, losses, time, salt, verifier, body, answer FROM idempotency WHERE name = ?',
};
const PUT: Statement = {
  sql: `INSERT INTO idempotency (name, state, decision, earlier, losses, time, salt, verifier, body, answer)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET state = excluded.state, decision = excluded.decision, earlier = excluded.earlier,
      losses = excluded.losses, time = excluded.time, salt = excluded.salt, verifier = excluded.verifier,
      body = excluded.body, answer = excluded.answer`,
};
const DELETE: Statement = { sql: 'DELETE FROM idempotency WHERE name = ?' };
export const COUNT_OLD: Statement = {
  sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM idempotency WHERE time <= ? LIMIT ?)',
};
const DELETE_OLD: Statement = {
  sql: 'DELETE FROM idempotency WHERE id IN (SELECT id FROM idempotency WHERE time <= ? ORDER BY time LIMIT ?)',
};

export function putRow(row: AnswerRow): Write {
  const { name, state, decision, earlier, losses, time, salt, verifier, body, answer } = row;
  return { statement: PUT, params: [name, state, decision, earlier, losses, time, salt, verifier, body, answer] };
}

export function deleteRow(name: Uint8Array): Write {
  return { statement: DELETE, params: [name] };
}

export function deleteOld(until: number, most: number): Write {
  return { statement: DELETE_OLD, params: [until, most] };
}
