import { BASELINE, type Migrations } from './statement.ts';

/** Deletes the rows of a key and of all keys below it, in a trigger on its row. */
export const ERASE_LINE = `DELETE FROM cached_answers WHERE key_id IN (WITH RECURSIVE line (id) AS (
        SELECT id FROM keys WHERE id = NEW.id
        UNION SELECT keys.id FROM line JOIN keys ON keys.parent = line.id)
      SELECT id FROM line)`;

/** Commands that revoke a key or remove a user do not know of these rows, so triggers delete them. */
export const cacheMigrations: Migrations = {
  room: 'cache',
  versions: {
    [BASELINE]: `CREATE TABLE cached_answers (
      name BLOB NOT NULL PRIMARY KEY CHECK (length(name) = 32),
      key_id TEXT NOT NULL,
      user_id TEXT,
      stored INTEGER NOT NULL,
      expires INTEGER NOT NULL,
      used INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      answer BLOB NOT NULL
    ) STRICT;
    CREATE INDEX cached_answers_key ON cached_answers (key_id);
    CREATE INDEX cached_answers_person ON cached_answers (user_id) WHERE user_id IS NOT NULL;
    CREATE INDEX cached_answers_expires ON cached_answers (expires);
    CREATE INDEX cached_answers_used ON cached_answers (used, name, bytes);
    CREATE TRIGGER cached_answers_of_line_erased AFTER UPDATE OF revoked_at ON keys WHEN NEW.revoked_at IS NOT NULL BEGIN
      ${ERASE_LINE};
    END;
    CREATE TRIGGER cached_answers_of_person_erased AFTER UPDATE OF removed_at ON users WHEN NEW.removed_at IS NOT NULL BEGIN
      DELETE FROM cached_answers WHERE user_id = NEW.id;
    END;`,
  },
};
