import { isDeepStrictEqual } from 'node:util';
import { type KeyBudget, type KeyLimits, limitsBody, SCOPES } from '../../core/caller.ts';
import type { KeyInfo, KeyRow, KeyTable, StoredKey } from '../keys.ts';
import { type Migrations, type SqlReader, type SqlWrite, sql, write } from './statement.ts';
import { TRAIL_OF_WALLETS, TRAIL_TABLE } from './trail.ts';

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
  ],
};

const INSERT =
  sql(`INSERT INTO keys (id, name, hash, scopes, labels, models, limits, budgets, wallets, wallet, created_at,
    expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const REVOKE = sql('UPDATE keys SET revoked_at = ? WHERE id = ?');
const REVOKE_OF_WALLET = sql('UPDATE keys SET revoked_at = ? WHERE wallet = ? AND revoked_at IS NULL AND id IS NOT ?');
const ROTATE = sql('UPDATE keys SET previous_hash = hash, previous_until = ?, hash = ?, rotated_at = ? WHERE id = ?');
const PUT_USES = sql(`UPDATE keys SET last_used = max(coalesce(last_used, 0), uses.time)
    FROM (SELECT key AS id, value AS time FROM json_each(?)) AS uses WHERE keys.id = uses.id`);

const SELECT_ALL =
  sql(`SELECT id, name, hash, scopes, labels, models, limits, budgets, wallets AS holders, wallet AS holder, created_at AS createdAt,
    expires_at AS expiresAt, revoked_at AS revokedAt, last_used AS lastUsedAt, rotated_at AS rotatedAt, previous_hash AS previousHash,
    previous_until AS overlapEndsAt FROM keys ORDER BY created_at, id`);

/** A row as the database returns it; lists are JSON. */
type SqlKeyRow = Omit<KeyInfo, 'scopes' | 'labels' | 'models' | 'limits' | 'budgets' | 'holders'> &
  Pick<StoredKey, 'hash' | 'previousHash'> &
  Readonly<Record<'scopes' | 'labels' | 'budgets', string>> &
  Readonly<Record<'models' | 'limits' | 'holders', string | null>>;

export function sqliteKeys(db: SqlReader): KeyTable {
  /** Keys of the last reading, so that only those that have changed are parsed. */
  let parsed = new Map<string, { readonly row: SqlKeyRow; readonly key: StoredKey }>();
  return {
    async all() {
      const rows = await db.query<SqlKeyRow>(SELECT_ALL);
      const before = parsed;
      parsed = new Map();
      return rows.map((row): KeyRow => {
        const found = before.get(row.id);
        const one =
          found && isDeepStrictEqual({ ...row, lastUsedAt: found.row.lastUsedAt }, found.row)
            ? found
            : { row, key: keyOf(row) };
        parsed.set(row.id, one);
        return { key: one.key, lastUsedAt: row.lastUsedAt };
      });
    },
    insert: insertKey,
    rotate: (id, hash, time, overlapEndsAt) => write(ROTATE, overlapEndsAt, hash, time, id),
    revoke: (id, time) => write(REVOKE, time, id),
    revokeOfHolder: (holder, exceptId, time) => write(REVOKE_OF_WALLET, time, holder, exceptId),
    putUses: (uses) => write(PUT_USES, JSON.stringify(uses)),
  };
}

function insertKey(key: KeyInfo, hash: Uint8Array): SqlWrite {
  const { id, name, scopes, labels, models, limits, budgets, holders, holder, createdAt, expiresAt } = key;
  const values = [scopes, labels, models, limits && limitsBody(limits), budgets.map(budgetRow), holders];
  const texts = values.map((value) => value && JSON.stringify(value));
  return write(INSERT, id, name, hash, ...texts, holder, createdAt, expiresAt);
}

/** Parses a row. A scope unknown to this version is dropped: it opens nothing. */
function keyOf(row: SqlKeyRow): StoredKey {
  const { hash, previousHash, lastUsedAt: _, scopes, labels, models, limits, budgets, holders, ...rest } = row;
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
  return { info, hash, previousHash };
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
