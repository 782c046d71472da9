import { raisedBy } from './news.ts';
import type { Migrations } from './statement.ts';

const NEWS = raisedBy(
  'logins',
  'logins',
  ['INSERT', 'UPDATE OF used_at, confirmed_at, expires_at, ended_at'],
  `
      UPDATE logins SET changed = (SELECT logins FROM news) WHERE id = NEW.id;`,
);

/** @param owners the table columns that name the owner of a login */
const loginsTable = (owners: string, check = '') => `CREATE TABLE logins (
      id TEXT PRIMARY KEY,
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      ${owners},
      created_at INTEGER NOT NULL,
      used_at INTEGER NOT NULL,
      confirmed_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      ended_at INTEGER,
      browser TEXT NOT NULL,
      address TEXT,
      token BLOB,
      renewing INTEGER NOT NULL DEFAULT 0,
      changed INTEGER NOT NULL DEFAULT 0${check}
    ) STRICT;`;
const INDEXES = `CREATE INDEX logins_changed ON logins (changed);
    CREATE INDEX logins_expires ON logins (expires_at);`;

/**
 * `hash` is the SHA-256 of the cookie's value. `token` is a refresh token that only the cookie's value decrypts. `renewing` is the end of
 * an instance's claim to use the token.
 */
export const loginMigrations: Migrations = {
  room: 'logins',
  versions: [
    `${loginsTable('user TEXT NOT NULL')}
    ${INDEXES}
    ${NEWS}`,
    // SQLite cannot make a column nullable in place. A login belongs to a user, or to a key with the hash of its secret.
    `ALTER TABLE logins RENAME TO logins_of_users;
    DROP TRIGGER logins_are_news_insert;
    DROP TRIGGER logins_are_news_update;
    DROP INDEX logins_changed;
    DROP INDEX logins_expires;
    ${loginsTable(
      'user TEXT, key TEXT, key_hash BLOB CHECK (length(key_hash) = 32)',
      `,
      CHECK ((user IS NULL) <> (key IS NULL) AND (key IS NULL) = (key_hash IS NULL))`,
    )}
    INSERT INTO logins (id, hash, user, created_at, used_at, confirmed_at, expires_at, ended_at, browser, address, token, renewing, changed)
      SELECT id, hash, user, created_at, used_at, confirmed_at, expires_at, ended_at, browser, address, token, renewing, changed FROM logins_of_users;
    DROP TABLE logins_of_users;
    ${INDEXES}
    ${NEWS}`,
  ],
};
