import type { SqlValue, Statement, Store, Write } from '../store/store.ts';

export type Actor =
  /** A command, run by a user of the operating system. */
  | { readonly kind: 'cli'; readonly name: string }
  /** A request with an admin key, named by its ID. */
  | { readonly kind: 'key'; readonly name: string; readonly requestId: string }
  /** A wallet that has proved itself, by its address. */
  | { readonly kind: 'wallet'; readonly name: string }
  /** The server itself, for the first key and the installed one. */
  | { readonly kind: 'server' };

export const SERVER: Actor = Object.freeze({ kind: 'server' });

export const TRAIL_ACTIONS = ['create', 'install', 'rotate', 'revoke', 'grant', 'block', 'unblock'] as const;
export type TrailAction = (typeof TRAIL_ACTIONS)[number];

export interface TrailEntry {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly actor: { readonly kind: Actor['kind']; readonly name: string | null };
  readonly action: TrailAction;
  readonly keyId: string;
  /** Parameters of the change; never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Null unless the actor is a request. */
  readonly requestId: string | null;
}

export interface TrailQuery {
  /** Only changes of this key; null for all. */
  readonly keyId: string | null;
  readonly limit: number;
}

export const TRAIL_LIMIT = 100;
export const TRAIL_LIMIT_MAX = 1_000;

/** Append-only: triggers refuse updates and deletions. `key_id` has no foreign key. */
const trailTable = (actors: readonly Actor['kind'][]) => `CREATE TABLE trail (
      id INTEGER PRIMARY KEY,
      time INTEGER NOT NULL,
      actor TEXT NOT NULL CHECK (${actors.map((kind) => `actor = '${kind}'`).join(' OR ')}),
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

export const TRAIL_TABLE = trailTable(['cli', 'key', 'server']);

/** Copies the rows to a table whose `actor` may be a wallet: a CHECK cannot be changed in place. */
export const TRAIL_OF_WALLETS = `ALTER TABLE trail RENAME TO trail_before;
    DROP TRIGGER trail_is_not_changed;
    DROP TRIGGER trail_is_not_shortened;
    DROP INDEX trail_key;
    ${trailTable(['cli', 'key', 'wallet', 'server'])}
    INSERT INTO trail SELECT * FROM trail_before;
    DROP TABLE trail_before;`;

const DAY_MS = 86_400_000;

const INSERT: Statement = {
  sql: `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
};
/** Violates a constraint, and so fails the whole commit, unless the key is valid at that moment. */
const INSERT_IF_VALID: Statement = {
  sql: `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) VALUES (?, ?, ?, ?,
    (SELECT id FROM keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)), ?, ?)`,
};
/** The same for a wallet with too many unrevoked keys, or too many made since a time. */
const INSERT_IF_ROOM: Statement = {
  sql: `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) VALUES (?, ?, ?, ?,
    (SELECT ? WHERE (SELECT count(*) FROM keys WHERE wallet = ? AND revoked_at IS NULL) < ?
      AND (SELECT count(*) FROM keys WHERE wallet = ? AND created_at > ?) < ?), ?, ?)`,
};
/** A line for each unrevoked key of a wallet, except one. */
const INSERT_OF_WALLET: Statement = {
  sql: `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id)
    SELECT ?, ?, ?, ?, id, ?, ? FROM keys WHERE wallet = ? AND revoked_at IS NULL AND id IS NOT ? ORDER BY created_at, id`,
};

/** A change to a key, to be committed together with its entry. */
export interface KeyEvent {
  readonly time: number;
  readonly actor: Actor;
  readonly action: TrailAction;
  readonly keyId: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function trailWrite(event: KeyEvent): Write {
  return { statement: INSERT, params: [...actorParams(event), event.keyId, ...detailParams(event)] };
}

/** The same, but fails the commit unless the key is unrevoked, and not expired at `validAt`. */
export function trailIfValid(event: KeyEvent, validAt: number): Write {
  return { statement: INSERT_IF_VALID, params: [...actorParams(event), event.keyId, validAt, ...detailParams(event)] };
}

/** The same for a new key of a wallet with fewer than `most` unrevoked keys, and `aDay` made in 24 hours. */
export function trailIfRoom(event: KeyEvent, wallet: string, most: number, aDay: number): Write {
  const room: SqlValue[] = [wallet, most, wallet, event.time - DAY_MS, aDay];
  return { statement: INSERT_IF_ROOM, params: [...actorParams(event), event.keyId, ...room, ...detailParams(event)] };
}

/** The same for each unrevoked key of a wallet, except `exceptId` if given. */
export function trailOfWallet(event: EventBase, wallet: string, exceptId: string | null): Write {
  return { statement: INSERT_OF_WALLET, params: [...actorParams(event), ...detailParams(event), wallet, exceptId] };
}

type EventBase = Omit<KeyEvent, 'keyId'>;
const actorParams = ({ time, actor, action }: EventBase): SqlValue[] => [time, actor.kind, nameOf(actor), action];
const detailParams = ({ actor, details }: EventBase): SqlValue[] => [JSON.stringify(details), requestOf(actor)];
const nameOf = (actor: Actor): string | null => (actor.kind === 'server' ? null : actor.name);
const requestOf = (actor: Actor): string | null => (actor.kind === 'key' ? actor.requestId : null);

const COLUMNS = `id, time, actor, actor_name AS actorName, action, key_id AS keyId, details, request_id AS requestId`;
const SELECT_ALL: Statement = { sql: `SELECT ${COLUMNS} FROM trail ORDER BY id DESC LIMIT ?` };
const SELECT_OF_KEY: Statement = { sql: `SELECT ${COLUMNS} FROM trail WHERE key_id = ? ORDER BY id DESC LIMIT ?` };

interface TrailRow extends Omit<TrailEntry, 'actor' | 'details'> {
  readonly actor: Actor['kind'];
  readonly actorName: string | null;
  readonly details: string;
}

/** Changes of keys, newest first. */
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
