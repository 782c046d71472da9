import type { SqlValue, Statement, Store, Write } from '../store/store.ts';

/** Who did something to a key. */
export type Actor =
  /** A command, run by a user of the operating system. */
  | { readonly kind: 'cli'; readonly name: string }
  /** A request with an admin key, named by its ID. */
  | { readonly kind: 'key'; readonly name: string; readonly requestId: string }
  /** The server itself: the first key, and the one that it was told to install. */
  | { readonly kind: 'server' };

export const SERVER: Actor = Object.freeze({ kind: 'server' });

export const TRAIL_ACTIONS = ['create', 'install', 'rotate', 'revoke', 'grant'] as const;
export type TrailAction = (typeof TRAIL_ACTIONS)[number];

/** One thing that was done to a key. */
export interface TrailEntry {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly actor: { readonly kind: Actor['kind']; readonly name: string | null };
  readonly action: TrailAction;
  readonly keyId: string;
  /** What was asked for; never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Of a request; null for anybody else. */
  readonly requestId: string | null;
}

export interface TrailQuery {
  /** Only what was done to this key; null for all. */
  readonly keyId: string | null;
  readonly limit: number;
}

export const TRAIL_LIMIT = 100;
export const TRAIL_LIMIT_MAX = 1_000;

/** Rows are only ever added: the database itself refuses to change or to delete one. `key_id` has no key that is not there. */
export const TRAIL_TABLE = `CREATE TABLE trail (
      id INTEGER PRIMARY KEY,
      time INTEGER NOT NULL,
      actor TEXT NOT NULL CHECK (actor = 'cli' OR actor = 'key' OR actor = 'server'),
      actor_name TEXT,
      action TEXT NOT NULL,
      key_id TEXT NOT NULL,
      details TEXT NOT NULL,
      request_id TEXT
    ) STRICT;
    CREATE INDEX trail_key ON trail (key_id);
    CREATE TRIGGER trail_is_not_changed BEFORE UPDATE ON trail BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;
    CREATE TRIGGER trail_is_not_shortened BEFORE DELETE ON trail BEGIN
      SELECT RAISE(ABORT, 'the trail is append-only');
    END;`;

const INSERT: Statement = {
  sql: `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
};
/** Breaks a constraint, and with it the whole commit, unless the key is valid at that moment. */
const INSERT_IF_VALID: Statement = {
  sql: `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) VALUES (?, ?, ?, ?,
    (SELECT id FROM keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)), ?, ?)`,
};

/** What is done, to be written in one commit with what it does. */
export interface Deed {
  readonly time: number;
  readonly actor: Actor;
  readonly action: TrailAction;
  readonly keyId: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function trailWrite(deed: Deed): Write {
  const { time, actor, action, keyId, details } = deed;
  const params: SqlValue[] = [
    time,
    actor.kind,
    nameOf(actor),
    action,
    keyId,
    JSON.stringify(details),
    requestOf(actor),
  ];
  return { statement: INSERT, params };
}

/** The same, of a deed that only a valid key allows: one that is not revoked, and not expired at `validAt`. */
export function guardedWrite(deed: Deed, validAt: number): Write {
  const { time, actor, action, keyId, details } = deed;
  const who: SqlValue[] = [time, actor.kind, nameOf(actor), action];
  return {
    statement: INSERT_IF_VALID,
    params: [...who, keyId, validAt, JSON.stringify(details), requestOf(actor)],
  };
}

const nameOf = (actor: Actor): string | null => (actor.kind === 'server' ? null : actor.name);
const requestOf = (actor: Actor): string | null => (actor.kind === 'key' ? actor.requestId : null);

const COLUMNS = `id, time, actor, actor_name AS actorName, action, key_id AS keyId, details, request_id AS requestId`;
const SELECT_ALL: Statement = { sql: `SELECT ${COLUMNS} FROM trail ORDER BY id DESC LIMIT ?` };
const SELECT_OF_KEY: Statement = { sql: `SELECT ${COLUMNS} FROM trail WHERE key_id = ? ORDER BY id DESC LIMIT ?` };

interface TrailRow extends Omit<TrailEntry, 'actor' | 'details'> {
  readonly actor: Actor['kind'];
  readonly actorName: string | null;
  /** JSON. */
  readonly details: string;
}

/** What was done, newest first. */
export async function readTrail(store: Pick<Store, 'query'>, { keyId, limit }: TrailQuery): Promise<TrailEntry[]> {
  const rows =
    keyId === null
      ? await store.query<TrailRow>(SELECT_ALL, [limit])
      : await store.query<TrailRow>(SELECT_OF_KEY, [keyId, limit]);
  return rows.map(({ actor: kind, actorName: name, details, ...rest }) => ({
    ...rest,
    actor: { kind, name },
    details: JSON.parse(details),
  }));
}
