import { type KeyBudget, type KeyLimits, SCOPES } from '../../core/caller.ts';
import type { KeyInfo, KeyRow, KeyTable, StoredKey } from '../keys.ts';
import { type Migrations, type SqlReader, type SqlValue, type SqlWrite, sql, write } from './statement.ts';
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
  sql(`SELECT id, name, hash, scopes, labels, models, limits, budgets, wallets, wallet, created_at AS createdAt,
    expires_at AS expiresAt, revoked_at AS revokedAt, last_used AS lastUsedAt, rotated_at AS rotatedAt, previous_hash AS previousHash,
    previous_until AS overlapEndsAt FROM keys ORDER BY created_at, id`);

/** A row as the database returns it; lists are JSON. */
interface SqlKeyRow {
  readonly id: string;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly scopes: string;
  readonly labels: string;
  readonly models: string | null;
  readonly limits: string | null;
  readonly budgets: string;
  readonly wallets: string | null;
  readonly wallet: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
  readonly rotatedAt: number | null;
  readonly previousHash: Uint8Array | null;
  readonly overlapEndsAt: number | null;
}

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
        const one = found && isSame(row, found.row) ? found : { row, key: keyOf(row) };
        parsed.set(row.id, one);
        return { key: one.key, lastUsedAt: row.lastUsedAt };
      });
    },
    insert: insertKey,
    rotate: (id, hash, time, overlapEndsAt) => write(ROTATE, overlapEndsAt, hash, time, id),
    revoke: (id, time) => write(REVOKE, time, id),
    revokeOfWallet: (wallet, exceptId, time) => write(REVOKE_OF_WALLET, time, wallet, exceptId),
    putUses: (uses) => write(PUT_USES, JSON.stringify(uses)),
  };
}

function insertKey(key: KeyInfo, hash: Uint8Array): SqlWrite {
  const models: SqlValue = key.models && JSON.stringify(key.models);
  const limits: SqlValue = key.limits && JSON.stringify(limitsRow(key.limits));
  const lists = [JSON.stringify(key.scopes), JSON.stringify(key.labels), models, limits, budgetsText(key.budgets)];
  const wallets: SqlValue = key.wallets && JSON.stringify(key.wallets);
  const rest: SqlValue[] = [wallets, key.wallet, key.createdAt, key.expiresAt];
  return write(INSERT, key.id, key.name, hash, ...lists, ...rest);
}

const TEXTS = ['name', 'scopes', 'labels', 'models', 'limits', 'budgets', 'wallets', 'wallet'] as const;
const TIMES = ['createdAt', 'expiresAt', 'revokedAt', 'rotatedAt', 'overlapEndsAt'] as const;

const isSame = (row: SqlKeyRow, other: SqlKeyRow): boolean =>
  TEXTS.every((name) => row[name] === other[name]) &&
  TIMES.every((name) => row[name] === other[name]) &&
  isSameHash(row.hash, other.hash) &&
  isSameHash(row.previousHash, other.previousHash);

function isSameHash(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

/** Parses a row. A scope unknown to this version is dropped: it opens nothing. */
function keyOf(row: SqlKeyRow): StoredKey {
  const { hash, previousHash, lastUsedAt: _, scopes, labels, models, limits, budgets, wallets, ...rest } = row;
  const granted: unknown[] = JSON.parse(scopes);
  const info = {
    ...rest,
    scopes: SCOPES.filter((scope) => granted.includes(scope)),
    labels: JSON.parse(labels),
    models: models === null ? null : JSON.parse(models),
    limits: limits === null ? null : limitsOf(JSON.parse(limits)),
    budgets: storedBudgets(budgets),
    wallets: wallets === null ? null : JSON.parse(wallets),
  };
  return { info, hash, previousHash };
}

const limitsRow = ({ requestsPerMinute, tokensPerMinute, concurrentStreams }: KeyLimits) => ({
  requests_per_minute: requestsPerMinute,
  tokens_per_minute: tokensPerMinute,
  concurrent_streams: concurrentStreams,
});

const limitsOf = (stored: ReturnType<typeof limitsRow>): KeyLimits => ({
  requestsPerMinute: stored.requests_per_minute,
  tokensPerMinute: stored.tokens_per_minute,
  concurrentStreams: stored.concurrent_streams,
});

/** In microcredits: only programs read a row. */
interface StoredBudget {
  readonly limit: number;
  readonly window: KeyBudget['window'];
  readonly time_zone: string;
  readonly on_exhausted: KeyBudget['onExhausted'];
}

function budgetsText(budgets: readonly KeyBudget[]): string {
  const stored = budgets.map(
    ({ limit, window, timeZone, onExhausted }): StoredBudget => ({
      limit,
      window,
      time_zone: timeZone,
      on_exhausted: onExhausted,
    }),
  );
  return JSON.stringify(stored);
}

function storedBudgets(text: string): KeyBudget[] {
  const stored: StoredBudget[] = JSON.parse(text);
  return stored.map(({ limit, window, time_zone, on_exhausted }) => ({
    limit,
    window,
    timeZone: time_zone,
    onExhausted: on_exhausted,
  }));
}
