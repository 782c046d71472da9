import type { Actor, KeyEvent, TrailEntry, TrailEvent, TrailTable } from '../trail.ts';
import { first, type SqlReader, type SqlValue, sql, write } from './statement.ts';

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

const INSERT = sql(
  `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
);
/** Changes nothing, and so fails its commit, unless the key is valid at that moment. */
const INSERT_IF_VALID = sql(
  `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id)
    SELECT ?, ?, ?, ?, id, ?, ? FROM keys WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
  { mustChange: true },
);
/** The same for a wallet with too many unrevoked keys, or too many made since a time. */
const INSERT_IF_ROOM = sql(
  `INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id) SELECT ?, ?, ?, ?, ?, ?, ?
    WHERE (SELECT count(*) FROM keys WHERE wallet = ? AND revoked_at IS NULL) < ?
      AND (SELECT count(*) FROM keys WHERE wallet = ? AND created_at > ?) < ?`,
  { mustChange: true },
);
/** A line for each unrevoked key of a wallet, except one. */
const INSERT_OF_WALLET = sql(`INSERT INTO trail (time, actor, actor_name, action, key_id, details, request_id)
    SELECT ?, ?, ?, ?, id, ?, ? FROM keys WHERE wallet = ? AND revoked_at IS NULL AND id IS NOT ? ORDER BY created_at, id`);

const COLUMNS = `id, time, actor, actor_name AS actorName, action, key_id AS keyId, details, request_id AS requestId`;
const SELECT_ALL = sql(`SELECT ${COLUMNS} FROM trail ORDER BY id DESC LIMIT ?`);
const SELECT_OF_KEY = sql(`SELECT ${COLUMNS} FROM trail WHERE key_id = ? ORDER BY id DESC LIMIT ?`);

const SELECT_LAST = sql('SELECT ifnull(max(id), 0) AS id FROM trail');

interface TrailRow extends Omit<TrailEntry, 'actor' | 'details'> {
  readonly actor: Actor['kind'];
  readonly actorName: string | null;
  readonly details: string;
}

export const sqliteTrail = (db: SqlReader): TrailTable => ({
  add: (event) => write(INSERT, ...eventParams(event)),
  addIfValid: (event, validAt) =>
    write(INSERT_IF_VALID, ...actorParams(event), ...detailParams(event), event.keyId, validAt),
  addIfRoom: (event, holder, { unrevoked, aDay }) =>
    write(INSERT_IF_ROOM, ...eventParams(event), holder, unrevoked, holder, event.time - DAY_MS, aDay),
  addOfHolder: (event, holder, exceptId) =>
    write(INSERT_OF_WALLET, ...actorParams(event), ...detailParams(event), holder, exceptId),
  // Writers take their turns.
  horizon: async () => (await first<{ id: number }>(db, SELECT_LAST))?.id ?? 0,
  async list({ keyId, limit }) {
    const rows =
      keyId === null
        ? await db.query<TrailRow>(SELECT_ALL, [limit])
        : await db.query<TrailRow>(SELECT_OF_KEY, [keyId, limit]);
    return rows.map(({ actor: kind, actorName: name, details, ...rest }) => ({
      ...rest,
      actor: { kind, name },
      details: JSON.parse(details),
    }));
  },
});

const eventParams = (event: KeyEvent) => [...actorParams(event), event.keyId, ...detailParams(event)];
const actorParams = ({ time, actor, action }: TrailEvent): SqlValue[] => [time, actor.kind, nameOf(actor), action];
const detailParams = ({ actor, details }: TrailEvent): SqlValue[] => [JSON.stringify(details), requestOf(actor)];
const nameOf = (actor: Actor): string | null => (actor.kind === 'server' ? null : actor.name);
const requestOf = (actor: Actor): string | null => (actor.kind === 'key' ? actor.requestId : null);
