import { type KeyBudget, type KeyLimits, limitsBody, SCOPES } from '../../core/caller.ts';
import type { KeyInfo, KeyRow, KeyTable, StoredKey } from '../keys.ts';
import { raisedBy } from './news.ts';
import { type Migrations, type SqlReader, type SqlWrite, sql, write } from './statement.ts';
import { chainEarlier, TRAIL_CHAIN, TRAIL_OF_WALLETS, TRAIL_TABLE } from './trail.ts';

const KEY_UPDATE = `UPDATE OF name, hash, scopes, labels, models, limits, budgets, wallets, wallet, expires_at, revoked_at,
        rotated_at, previous_hash, previous_until`;
const SUSPENDED_KEY_UPDATE = `${KEY_UPDATE}, suspended_at, parent, team, "user"`;
const NUMBER_KEY = `
      UPDATE keys SET changed = (SELECT keys FROM news) WHERE id = NEW.id;`;

/**
 * Times are milliseconds since 1970. `hash` is the SHA-256 of the whole key, `previous_hash` that of the one before the
 * last rotation, valid until `previous_until`. The key itself is not stored. `wallets`: those that requests with the
 * key may name. `wallet`: the key's own.
 */
export const accessMigrations: Migrations = {
  room: 'access',
  versions: [
    `CREATE TABLE keys (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      scopes TEXT NOT NULL,
      labels TEXT NOT NULL,
      models TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER
    ) STRICT;`,
    `ALTER TABLE keys ADD COLUMN limits TEXT;
    ALTER TABLE keys ADD COLUMN budgets TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE keys ADD COLUMN last_used INTEGER;
    ALTER TABLE keys ADD COLUMN rotated_at INTEGER;
    ALTER TABLE keys ADD COLUMN previous_hash BLOB CHECK (length(previous_hash) = 32);
    ALTER TABLE keys ADD COLUMN previous_until INTEGER;
    ${TRAIL_TABLE}`,
    `ALTER TABLE keys ADD COLUMN wallets TEXT;
    ALTER TABLE keys ADD COLUMN wallet TEXT;
    CREATE INDEX keys_wallet ON keys (wallet) WHERE wallet IS NOT NULL;
    ${TRAIL_OF_WALLETS}`,
    `-- The number of the news with which a key was last changed; a use is no news.
    ALTER TABLE keys ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX keys_changed ON keys (changed);
    ${raisedBy('keys', 'keys', ['INSERT', KEY_UPDATE], NUMBER_KEY)}`,
    TRAIL_CHAIN,
    'DROP TABLE trail_before;',
    `-- IDs: of the key that made it, of its team and its user.
    ALTER TABLE keys ADD COLUMN suspended_at INTEGER;
    ALTER TABLE keys ADD COLUMN parent TEXT;
    ALTER TABLE keys ADD COLUMN team TEXT;
    ALTER TABLE keys ADD COLUMN "user" TEXT;
    CREATE INDEX keys_parent ON keys (parent) WHERE parent IS NOT NULL;
    CREATE INDEX keys_user ON keys ("user") WHERE "user" IS NOT NULL;
    DROP TRIGGER keys_are_news_update;
    ${raisedBy('keys', 'keys', [SUSPENDED_KEY_UPDATE], NUMBER_KEY)}`,
    `-- Of the parent's key as it was when it made this one; and the ID of the first key of the line.
    ALTER TABLE keys ADD COLUMN parent_hash BLOB CHECK (length(parent_hash) = 32);
    ALTER TABLE keys ADD COLUMN root TEXT;
    CREATE INDEX keys_root ON keys (root, created_at) WHERE root IS NOT NULL;`,
  ],
  steps: { 5: chainEarlier },
};

const INSERT =
  sql(`INSERT INTO keys (id, name, hash, scopes, labels, models, limits, budgets, wallets, wallet, created_at,
    expires_at, parent, team, "user", parent_hash, root) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
      (SELECT coalesce(root, id) FROM keys WHERE id = ?))`);
const CHANGE =
  sql(`UPDATE keys SET name = ?, scopes = ?, labels = ?, models = ?, limits = ?, budgets = ?, wallets = ?, expires_at = ?,
    suspended_at = ?, team = ?, "user" = ? WHERE id = ?`);
const REVOKE = sql('UPDATE keys SET revoked_at = ? WHERE id = ?');
const REVOKE_OF_WALLET = sql('UPDATE keys SET revoked_at = ? WHERE wallet = ? AND revoked_at IS NULL AND id IS NOT ?');
const ROTATE = sql('UPDATE keys SET previous_hash = hash, previous_until = ?, hash = ?, rotated_at = ? WHERE id = ?');
const PUT_USES = sql(`UPDATE keys SET last_used = max(coalesce(last_used, 0), uses.time)
    FROM (SELECT key AS id, value AS time FROM json_each(?)) AS uses WHERE keys.id = uses.id`);

const COLUMNS = `id, name, hash, scopes, labels, models, limits, budgets, wallets AS holders, wallet AS holder, created_at AS createdAt,
    expires_at AS expiresAt, revoked_at AS revokedAt, last_used AS lastUsedAt, rotated_at AS rotatedAt, previous_hash AS previousHash,
    previous_until AS overlapEndsAt, suspended_at AS suspendedAt, parent, team, "user", parent_hash AS parentHash, changed AS version`;
const SELECT_ALL = sql(`SELECT ${COLUMNS} FROM keys ORDER BY created_at, id`);
const SELECT_ONE = sql(`SELECT ${COLUMNS} FROM keys WHERE id = ?`);
const SELECT_OF_WALLET = sql(`SELECT ${COLUMNS} FROM keys WHERE wallet = ? ORDER BY created_at, id`);
const SELECT_CHANGED = sql(`SELECT ${COLUMNS} FROM keys WHERE changed > ? ORDER BY created_at, id`);

/** A row as the database returns it; lists are JSON. */
type SqlKeyRow = Omit<KeyInfo, 'scopes' | 'labels' | 'models' | 'limits' | 'budgets' | 'holders'> &
  Pick<StoredKey, 'hash' | 'previousHash' | 'parentHash'> &
  Pick<KeyRow, 'version'> &
  Readonly<Record<'scopes' | 'labels' | 'budgets', string>> &
  Readonly<Record<'models' | 'limits' | 'holders', string | null>>;

export function sqliteKeys(db: SqlReader): KeyTable {
  const rowOf = (row: SqlKeyRow): KeyRow => ({ key: keyOf(row), lastUsedAt: row.lastUsedAt, version: row.version });
  return {
    all: async () => (await db.query<SqlKeyRow>(SELECT_ALL)).map(rowOf),
    find: async (id) => (await db.query<SqlKeyRow>(SELECT_ONE, [id])).map(rowOf)[0] ?? null,
    ofHolder: async (holder) => (await db.query<SqlKeyRow>(SELECT_OF_WALLET, [holder])).map(rowOf),
    async changedAfter(number) {
      const rows = await db.query<SqlKeyRow>(SELECT_CHANGED, [number]);
      // One commit after the other raises a subject, so none below the greatest number is still to come.
      const through = rows.reduce((last, { version }) => Math.max(last, version), number);
      return { rows: rows.map(rowOf), through };
    },
    insert: insertKey,
    rotate: (id, hash, time, overlapEndsAt) => write(ROTATE, overlapEndsAt, hash, time, id),
    change: changeKey,
    revoke: (id, time) => write(REVOKE, time, id),
    revokeOfHolder: (holder, exceptId, time) => write(REVOKE_OF_WALLET, time, holder, exceptId),
    putUses: (uses) => write(PUT_USES, JSON.stringify(uses)),
  };
}

/** The terms that are kept as JSON. */
function textsOf({ scopes, labels, models, limits, budgets, holders }: KeyInfo): (string | null)[] {
  const values = [scopes, labels, models, limits && limitsBody(limits), budgets.map(budgetRow), holders];
  return values.map((value) => value && JSON.stringify(value));
}

function insertKey(key: KeyInfo, hash: Uint8Array, parentHash: Uint8Array | null = null): SqlWrite {
  const { id, name, holder, createdAt, expiresAt, parent, team, user } = key;
  const place = [parent, team, user, parentHash, parent];
  return write(INSERT, id, name, hash, ...textsOf(key), holder, createdAt, expiresAt, ...place);
}

function changeKey(key: KeyInfo): SqlWrite {
  const { id, name, expiresAt, suspendedAt, team, user } = key;
  return write(CHANGE, name, ...textsOf(key), expiresAt, suspendedAt, team, user, id);
}

/** Parses a row. A scope unknown to this version is dropped: it opens nothing. */
function keyOf(row: SqlKeyRow): StoredKey {
  const { hash, previousHash, parentHash, lastUsedAt: _, version: __, ...more } = row;
  const { scopes, labels, models, limits, budgets, holders, ...rest } = more;
  const granted: unknown[] = JSON.parse(scopes);
  const info = {
    ...rest,
    scopes: SCOPES.filter((scope) => granted.includes(scope)),
    labels: JSON.parse(labels),
    models: models === null ? null : JSON.parse(models),
    limits: limits === null ? null : limitsOf(JSON.parse(limits)),
    budgets: JSON.parse(budgets).map(budgetOf),
    holders: holders === null ? null : JSON.parse(holders),
  };
  return { info, hash, previousHash, parentHash };
}

const limitsOf = (stored: ReturnType<typeof limitsBody>): KeyLimits => ({
  requestsPerMinute: stored.requests_per_minute,
  tokensPerMinute: stored.tokens_per_minute,
  concurrentStreams: stored.concurrent_streams,
});

/** In microcredits: only programs read a row. */
const budgetRow = ({ limit, window, timeZone, onExhausted }: KeyBudget) => ({
  limit,
  window,
  time_zone: timeZone,
  on_exhausted: onExhausted,
});

const budgetOf = ({ limit, window, time_zone, on_exhausted }: ReturnType<typeof budgetRow>): KeyBudget => ({
  limit,
  window,
  timeZone: time_zone,
  onExhausted: on_exhausted,
});
