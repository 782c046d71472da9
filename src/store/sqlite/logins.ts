import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';

/**
 * `hash` is the SHA-256 of the cookie's value. A login belongs to a user, or to a key with the hash of its secret. `token` is a refresh
 * token that only the cookie's value decrypts. `renewing` is the end of an instance's claim to use the token.
 */
export const loginMigrations: Migrations = {
  room: 'logins',
  versions: {
    [BASELINE]: `CREATE TABLE logins (
      id TEXT PRIMARY KEY,
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      user TEXT,
      key TEXT,
      key_hash BLOB CHECK (length(key_hash) = 32),
      created_at INTEGER NOT NULL,
      used_at INTEGER NOT NULL,
      confirmed_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      browser TEXT NOT NULL,
      address TEXT,
      token BLOB,
      renewing INTEGER NOT NULL DEFAULT 0,
      changed INTEGER NOT NULL DEFAULT 0,
      CHECK ((user IS NULL) <> (key IS NULL) AND (key IS NULL) = (key_hash IS NULL))
    ) STRICT;
    CREATE INDEX logins_changed ON logins (changed);
    CREATE INDEX logins_expires ON logins (expires_at);
    ${raisedBy(
      'logins',
      'logins',
      ['INSERT', 'UPDATE OF used_at, confirmed_at, expires_at, ended_at'],
      `
      UPDATE logins SET changed = (SELECT logins FROM news) WHERE id = NEW.id;`,
    )}`,
  },
};
