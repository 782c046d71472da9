import { BASELINE, type Migrations } from './statement.ts';

/**
 * `add_ons` is JSON. A key's newest rows by `id`, which grows, are kept. A command that revokes a key does not know of these rows, so a
 * trigger deletes them.
 */
export const threadMigrations: Migrations = {
  room: 'threads',
  versions: {
    [BASELINE]: `CREATE TABLE threads (
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
  },
};
