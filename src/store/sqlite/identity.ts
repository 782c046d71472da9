import type { Migrations, SqlReader, Statement } from './statement.ts';

/** Names a database: random, made with it, and the same in each copy of it. */
export const identityMigrations: Migrations = {
  room: 'identity',
  versions: [
    `CREATE TABLE identity (id INTEGER PRIMARY KEY CHECK (id = 1), ledger TEXT NOT NULL) STRICT;
    INSERT INTO identity (id, ledger) VALUES (1, lower(hex(randomblob(16))));`,
  ],
};

const SELECT_TABLE: Statement = { sql: `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'identity'` };
const SELECT_NAME: Statement = { sql: 'SELECT ledger FROM identity' };

/** The name of a database, 32 hexadecimal digits; null for one that has none: an empty one, or one of 0.1. */
export async function identityOf(store: SqlReader): Promise<string | null> {
  if ((await store.query(SELECT_TABLE)).length === 0) return null;
  const [row] = await store.query<{ ledger: string }>(SELECT_NAME);
  return row?.ledger ?? null;
}
