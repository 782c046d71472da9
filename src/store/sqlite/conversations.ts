import { BASELINE, type Migrations } from './statement.ts';

/** A command that revokes a key does not know of these rows, so a trigger deletes them. */
export const conversationMigrations: Migrations = {
  room: 'conversations',
  versions: {
    [BASELINE]: `CREATE TABLE conversations (
      conversation TEXT NOT NULL PRIMARY KEY,
      key_id TEXT NOT NULL,
      seen INTEGER NOT NULL,
      prompt TEXT,
      prompt_at INTEGER NOT NULL DEFAULT 0,
      signal TEXT,
      answers INTEGER NOT NULL DEFAULT 0,
      is_escalated INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX conversations_key ON conversations (key_id, seen, is_escalated);
    CREATE INDEX conversations_seen ON conversations (seen);
    CREATE TRIGGER conversations_erased AFTER UPDATE OF revoked_at ON keys WHEN NEW.revoked_at IS NOT NULL BEGIN
      DELETE FROM conversations WHERE key_id = NEW.id;
    END;`,
  },
};
