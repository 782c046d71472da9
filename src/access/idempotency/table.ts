import type { Migrations, Statement, Write } from '../../store/store.ts';

/**
 * One row a request that carries an `Idempotency-Key`. `name` is a SHA-256 over the API key's ID and the
 * idempotency key; `body` and `answer` can be made and read only with the API key's secret, see `crypto.ts`.
 * What is large stands last, so that whoever looks for a row reads little.
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

/**
 * `running`: being carried out; of a process that is gone, lost with it. `kept`: the answer can be given again.
 * `lost`: it was made and charged, and cannot.
 */
export type IdempotencyState = 'running' | 'kept' | 'lost';

export interface IdempotencyRow {
  readonly name: Uint8Array;
  readonly state: IdempotencyState;
  /** The decision whose reservation paid for it. */
  readonly decision: number;
  /** An earlier one, whose charge is to be given back too if this run is lost; null for none. */
  readonly earlier: number | null;
  /** How often its answer was lost otherwise than by a crash. */
  readonly losses: number;
  /** When it got this state, ms since 1970. */
  readonly time: number;
  readonly salt: Uint8Array;
  readonly verifier: Uint8Array;
  readonly body: Uint8Array;
  /** Sealed; null unless it is kept. */
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

/** Writes a row whole, whatever stood there: what was pruned or never written comes into being. */
export function putRow(row: IdempotencyRow): Write {
  const { name, state, decision, earlier, losses, time, salt, verifier, body, answer } = row;
  return { statement: PUT, params: [name, state, decision, earlier, losses, time, salt, verifier, body, answer] };
}

export function deleteRow(name: Uint8Array): Write {
  return { statement: DELETE, params: [name] };
}

export function deleteOld(until: number, most: number): Write {
  return { statement: DELETE_OLD, params: [until, most] };
}
