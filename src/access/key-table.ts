import { type KeyBudget, type KeyLimits, SCOPES, type Scope } from '../core/caller.ts';
import type { Migrations, SqlValue, Statement, Write } from '../store/store.ts';
import { limitsBody } from './terms.ts';
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

const INSERT: Statement = {
  sql: `INSERT INTO keys (id, name, hash, scopes, labels, models, limits, budgets, wallets, wallet, created_at,
    expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
};
const REVOKE: Statement = { sql: 'UPDATE keys SET revoked_at = ? WHERE id = ?' };
const REVOKE_OF_WALLET: Statement = {
  sql: 'UPDATE keys SET revoked_at = ? WHERE wallet = ? AND revoked_at IS NULL AND id IS NOT ?',
};
const ROTATE: Statement = {
  sql: 'UPDATE keys SET previous_hash = hash, previous_until = ?, hash = ?, rotated_at = ? WHERE id = ?',
};
const PUT_USES: Statement = {
  sql: `UPDATE keys SET last_used = max(coalesce(last_used, 0), uses.time)
    FROM (SELECT key AS id, value AS time FROM json_each(?)) AS uses WHERE keys.id = uses.id`,
};

export const SELECT_KEYS: Statement = {
  sql: `SELECT id, name, hash, scopes, labels, models, limits, budgets, wallets, wallet, created_at AS createdAt,
    expires_at AS expiresAt, revoked_at AS revokedAt, last_used AS lastUsedAt, rotated_at AS rotatedAt, previous_hash AS previousHash,
    previous_until AS overlapEndsAt FROM keys ORDER BY created_at, id`,
};

/** The data of a key without its hashes. Times are milliseconds since 1970. */
export interface KeyInfo {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that it may use; null for all. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits | null;
  readonly budgets: readonly KeyBudget[];
  /** Addresses that requests with it may name as `agent_wallet`; null for all. */
  readonly wallets: readonly string[] | null;
  /** Address of the wallet whose balance it spends; null for a key with its own. */
  readonly wallet: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Null for never. Uses in another process appear up to a minute late. */
  readonly lastUsedAt: number | null;
  /** Null for never. */
  readonly rotatedAt: number | null;
  /** The end of the old secret's validity after the last rotation; null if never rotated. */
  readonly overlapEndsAt: number | null;
}

/** A row as the database returns it; lists are JSON. */
export interface KeyRow {
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

/** The holder of the balance that the key spends, as the ledger names it. */
export const holderOf = ({ id, wallet }: KeyInfo): string => wallet ?? id;

export function insertKey(key: KeyInfo, hash: Uint8Array): Write {
  const models: SqlValue = key.models && JSON.stringify(key.models);
  const limits: SqlValue = key.limits && JSON.stringify(limitsBody(key.limits));
  const lists = [JSON.stringify(key.scopes), JSON.stringify(key.labels), models, limits, budgetsText(key.budgets)];
  const wallets: SqlValue = key.wallets && JSON.stringify(key.wallets);
  const rest: SqlValue[] = [wallets, key.wallet, key.createdAt, key.expiresAt];
  return { statement: INSERT, params: [key.id, key.name, hash, ...lists, ...rest] };
}

export function revokeKey(id: string, time: number): Write {
  return { statement: REVOKE, params: [time, id] };
}

/** Revokes all keys of a wallet except one; null for none. */
export function revokeKeysOf(wallet: string, exceptId: string | null, time: number): Write {
  return { statement: REVOKE_OF_WALLET, params: [time, wallet, exceptId] };
}

/** Gives a key another secret. The present one works until `overlapEndsAt`, an older one no longer. */
export function rotateKey(id: string, hash: Uint8Array, time: number, overlapEndsAt: number): Write {
  return { statement: ROTATE, params: [overlapEndsAt, hash, time, id] };
}

/** Writes last uses by key ID. Later uses already stored stay. */
export function putUses(uses: Readonly<Record<string, number>>): Write {
  return { statement: PUT_USES, params: [JSON.stringify(uses)] };
}

/** Parses a row. A scope unknown to this version is dropped: it opens nothing. */
export function keyInfo(row: KeyRow): KeyInfo {
  const { hash: _, previousHash: __, scopes, labels, models, limits, budgets, wallets, ...rest } = row;
  const granted: unknown[] = JSON.parse(scopes);
  return {
    ...rest,
    scopes: SCOPES.filter((scope) => granted.includes(scope)),
    labels: JSON.parse(labels),
    models: models === null ? null : JSON.parse(models),
    limits: limits === null ? null : limitsOf(JSON.parse(limits)),
    budgets: storedBudgets(budgets),
    wallets: wallets === null ? null : JSON.parse(wallets),
  };
}

function limitsOf(stored: ReturnType<typeof limitsBody>): KeyLimits {
  return {
    requestsPerMinute: stored.requests_per_minute,
    tokensPerMinute: stored.tokens_per_minute,
    concurrentStreams: stored.concurrent_streams,
  };
}

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
