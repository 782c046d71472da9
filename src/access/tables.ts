import { SCOPES, type Scope } from '../core/caller.ts';
import type { Migrations, SqlValue, Statement, Write } from '../store/store.ts';

/** Times are milliseconds since 1970; `hash` is the SHA-256 of the whole key. The key itself is nowhere. */
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
  ],
};

const INSERT: Statement = {
  sql: 'INSERT INTO keys (id, name, hash, scopes, labels, models, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
};
const REVOKE: Statement = { sql: 'UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL' };

export const SELECT_KEYS: Statement = {
  sql: `SELECT id, name, hash, scopes, labels, models, created_at AS createdAt, expires_at AS expiresAt,
    revoked_at AS revokedAt FROM keys ORDER BY created_at, id`,
};

/** What is known of a key. Times are milliseconds since 1970. */
export interface KeyInfo {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that it may use; null for all. */
  readonly models: readonly string[] | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** A row as the database gives it; lists are JSON. */
export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly hash: Uint8Array;
  readonly scopes: string;
  readonly labels: string;
  readonly models: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export function insertKey(key: KeyInfo, hash: Uint8Array): Write {
  const models: SqlValue = key.models && JSON.stringify(key.models);
  const lists = [JSON.stringify(key.scopes), JSON.stringify(key.labels), models];
  return { statement: INSERT, params: [key.id, key.name, hash, ...lists, key.createdAt, key.expiresAt] };
}

export function revokeKey(id: string, time: number): Write {
  return { statement: REVOKE, params: [time, id] };
}

/** Reads a row. A scope that this version does not know is left out: it opens nothing. */
export function keyInfo(row: KeyRow): KeyInfo {
  const { hash: _, scopes, labels, models, ...rest } = row;
  const granted: unknown[] = JSON.parse(scopes);
  return {
    ...rest,
    scopes: SCOPES.filter((scope) => granted.includes(scope)),
    labels: JSON.parse(labels),
    models: models === null ? null : JSON.parse(models),
  };
}
