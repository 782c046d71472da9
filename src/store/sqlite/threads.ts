import type { ThreadRow, ThreadTable } from '../threads.ts';
import { batchDeletion } from './delete-batches.ts';
import { first, type Migrations, type SqlTables, sql, write } from './statement.ts';

/** `add_ons` is JSON. Rows of a key are kept by `id`, which grows. A command that revokes a key knows nothing of them: the trigger erases them. */
export const threadMigrations: Migrations = {
  room: 'threads',
  versions: [
    `CREATE TABLE threads (
      id INTEGER PRIMARY KEY,
      key_id TEXT NOT NULL,
      answer TEXT NOT NULL,
      model TEXT NOT NULL,
      provider TEXT NOT NULL,
      origin TEXT NOT NULL,
      tokens INTEGER NOT NULL,
      add_ons TEXT,
      time INTEGER NOT NULL,
      UNIQUE (key_id, answer)
    ) STRICT;
    CREATE INDEX threads_key ON threads (key_id, id);
    CREATE INDEX threads_time ON threads (time);
    CREATE TRIGGER threads_erased AFTER UPDATE OF revoked_at ON keys WHEN NEW.revoked_at IS NOT NULL BEGIN
      DELETE FROM threads WHERE key_id = NEW.id;
    END;`,
  ],
};

type SqlThreadRow = Omit<ThreadRow, 'addOns'> & { readonly addOns: string | null };

const SELECT = sql(`SELECT key_id AS keyId, answer, model, provider, origin, tokens, add_ons AS addOns, time
    FROM threads WHERE key_id = ? AND answer = ?`);
const PUT = sql(`INSERT OR REPLACE INTO threads (key_id, answer, model, provider, origin, tokens, add_ons, time)
    SELECT $keyId, $answer, $model, $provider, $origin, $tokens, $addOns, $time
    WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = $keyId AND revoked_at IS NOT NULL)`);
const TRIM = sql(`DELETE FROM threads WHERE key_id = ?1 AND id <=
    (SELECT id FROM threads WHERE key_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`);
const deleteOld = batchDeletion({ table: 'threads', key: 'id', by: 'time', comparison: '<=', batch: 1_000 });

export const sqliteThreads = (db: SqlTables): ThreadTable => ({
  async find(keyId, answer) {
    const row = await first<SqlThreadRow>(db, SELECT, keyId, answer);
    return row && { ...row, addOns: row.addOns === null ? null : JSON.parse(row.addOns) };
  },
  put: (row, most) => [
    write(PUT, { ...row, addOns: row.addOns && JSON.stringify(row.addOns) }),
    write(TRIM, row.keyId, most),
  ],
  prune: (until) => deleteOld(db, until),
});
