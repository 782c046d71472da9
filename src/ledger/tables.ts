import type { Microcredits } from '../core/credits.ts';
import type { Migrations, SqlValue, Statement, Write } from '../store/store.ts';
import type { ReservationState } from './rules/reservation.ts';

/**
 * `post`: an attempt's cost. `overrun`: what an attempt cost beyond the reservation; the caller pays nothing of it.
 * `orphan`: what was left of a reservation that a crash left behind. Entries are only ever added.
 */
export type EntryKind = 'post' | 'overrun' | 'orphan';

/**
 * Amounts are microcredits, times milliseconds since 1970. The checks are chains of OR because `IN` builds a
 * table for each row: it doubled the time of every statement here.
 */
export const ledgerMigrations: Migrations = {
  room: 'ledger',
  versions: [
    `CREATE TABLE reservations (
      id INTEGER PRIMARY KEY,
      key_id TEXT NOT NULL,
      selector TEXT NOT NULL,
      labels TEXT NOT NULL,
      amount INTEGER NOT NULL CHECK (amount >= 0),
      charged INTEGER NOT NULL DEFAULT 0 CHECK (charged >= 0 AND charged <= amount),
      state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state = 'pending' OR state = 'posted' OR state = 'void' OR state = 'expired'),
      created INTEGER NOT NULL,
      closed INTEGER
    ) STRICT;
    -- Holds only what is open, so that a start after a crash need not read the whole history.
    CREATE INDEX reservations_open ON reservations (state) WHERE state = 'pending';
    CREATE TABLE entries (
      id INTEGER PRIMARY KEY,
      reservation_id INTEGER NOT NULL,
      kind TEXT NOT NULL CHECK (kind = 'post' OR kind = 'overrun' OR kind = 'orphan'),
      microcredits INTEGER NOT NULL CHECK (microcredits >= 0),
      excess INTEGER NOT NULL CHECK (excess >= 0),
      model TEXT,
      provider TEXT,
      upstream TEXT,
      input_tokens INTEGER NOT NULL,
      cached_input_tokens INTEGER NOT NULL,
      cache_write_tokens INTEGER NOT NULL,
      output_tokens INTEGER NOT NULL,
      reasoning_tokens INTEGER NOT NULL,
      price TEXT,
      estimated INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      time INTEGER NOT NULL
    ) STRICT;`,
  ],
};

const INSERT_RESERVATION: Statement = {
  sql: `INSERT INTO reservations (id, key_id, selector, labels, amount, created) VALUES (?, ?, ?, ?, ?, ?)`,
};
const RAISE_RESERVATION: Statement = {
  sql: `UPDATE reservations SET amount = ? WHERE id = ? AND state = 'pending'`,
};
const CHARGE_RESERVATION: Statement = {
  sql: `UPDATE reservations SET charged = ? WHERE id = ? AND state = 'pending'`,
};
const CLOSE_RESERVATION: Statement = {
  sql: `UPDATE reservations SET state = ?, charged = ?, closed = ? WHERE id = ? AND state = 'pending'`,
};
const INSERT_ENTRY: Statement = {
  sql: `INSERT INTO entries (reservation_id, kind, microcredits, excess, model, provider, upstream, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, price, estimated, key_id, time)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
};

/** The reservations that are open, with what was posted to each. Reads no history. */
export const SELECT_OPEN: Statement = {
  sql: `SELECT id, key_id AS keyId, amount, charged
    FROM reservations WHERE state = 'pending'`,
};
export interface OpenRow {
  readonly id: number;
  readonly keyId: string;
  readonly amount: Microcredits;
  readonly charged: Microcredits;
}

export const SELECT_LAST: Statement = { sql: 'SELECT max(id) AS id FROM reservations' };

export const SELECT_TOTALS: Statement = {
  sql: `SELECT charged, excess, reserved, open FROM
    (SELECT coalesce(sum(microcredits), 0) AS charged, coalesce(sum(excess), 0) AS excess
      FROM entries WHERE ?1 IS NULL OR key_id = ?1),
    (SELECT coalesce(sum(amount - charged), 0) AS reserved, count(*) AS open
      FROM reservations WHERE state = 'pending' AND (?1 IS NULL OR key_id = ?1))`,
};

export interface Reserving {
  readonly id: number;
  readonly keyId: string;
  readonly selector: string;
  /** JSON. */
  readonly labels: string;
  readonly amount: Microcredits;
}

export interface Entry {
  readonly reservationId: number;
  readonly kind: EntryKind;
  readonly microcredits: Microcredits;
  readonly excess: Microcredits;
  /** Model, provider, upstream model; null where no attempt is known. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly upstream: string | null;
  /** Input, cached input, cache write, output, reasoning. */
  readonly tokens: readonly [number, number, number, number, number];
  readonly price: string | null;
  readonly estimated: boolean;
  readonly keyId: string;
}

export function insertReservation(row: Reserving, time: number): Write {
  const { id, keyId, selector, labels, amount } = row;
  return { statement: INSERT_RESERVATION, params: [id, keyId, selector, labels, amount, time] };
}

export function raiseReservation(id: number, amount: Microcredits): Write {
  return { statement: RAISE_RESERVATION, params: [amount, id] };
}

/** Notes what was posted so far to a reservation that stays open. */
export function chargeReservation(id: number, charged: Microcredits): Write {
  return { statement: CHARGE_RESERVATION, params: [charged, id] };
}

export function closeReservation(id: number, state: ReservationState, charged: Microcredits, time: number): Write {
  return { statement: CLOSE_RESERVATION, params: [state, charged, time, id] };
}

export function insertEntry(entry: Entry, time: number): Write {
  const { tokens } = entry;
  const params: SqlValue[] = [
    entry.reservationId,
    entry.kind,
    entry.microcredits,
    entry.excess,
    entry.model,
    entry.provider,
    entry.upstream,
    tokens[0],
    tokens[1],
    tokens[2],
    tokens[3],
    tokens[4],
    entry.price,
    entry.estimated ? 1 : 0,
    entry.keyId,
    time,
  ];
  return { statement: INSERT_ENTRY, params };
}
