import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';
import { TRAIL_TABLES } from './trail.ts';

const KEY_UPDATE = `UPDATE OF name, hash, scopes, labels, models, limits, budgets, wallets, wallet, expires_at, revoked_at,
        rotated_at, previous_hash, previous_until, suspended_at, parent, team, "user"`;
const NUMBER_KEY = `
      UPDATE keys SET changed = (SELECT keys FROM news) WHERE id = NEW.id;`;

/** Version 31 of the tables. The keys of other gateways are found by the hash with which they were imported. */
export const IMPORTED_KEYS = `ALTER TABLE keys ADD COLUMN imported_hash BLOB CHECK (length(imported_hash) = 32);
    CREATE UNIQUE INDEX keys_imported ON keys (imported_hash) WHERE imported_hash IS NOT NULL;
    CREATE INDEX keys_hash ON keys (hash);`;

/**
 * Times are ms since 1970. `hash` is the SHA-256 of the whole key. `previous_hash` is the hash before the last rotation, valid until
 * `previous_until`. The key itself is not stored. `wallets`: the holders that requests with the key may name. `wallet`: the key's own
 * holder.
 */
export const accessMigrations: Migrations = {
  room: 'access',
  versions: {
    [BASELINE]: `CREATE TABLE keys (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      hash BLOB NOT NULL CHECK (length(hash) = 32),
      scopes TEXT NOT NULL,
      labels TEXT NOT NULL,
      models TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      revoked_at INTEGER,
      limits TEXT,
      budgets TEXT NOT NULL DEFAULT '[]',
      last_used INTEGER,
      rotated_at INTEGER,
      previous_hash BLOB CHECK (length(previous_hash) = 32),
      previous_until INTEGER,
      wallets TEXT,
      wallet TEXT,
      -- The number of the news with which a key was last changed; a use is no news.
      changed INTEGER NOT NULL DEFAULT 0,
      suspended_at INTEGER,
      -- IDs: of the key that made it, of its team and its user.
      parent TEXT,
      team TEXT,
      "user" TEXT,
      -- Of the parent's key as it was when it made this one; and the ID of the first key of the line.
      parent_hash BLOB CHECK (length(parent_hash) = 32),
      root TEXT,
      -- ID of the user who made it within the limits of users.
      maker TEXT,
      not_models TEXT
    ) STRICT;
    CREATE INDEX keys_wallet ON keys (wallet) WHERE wallet IS NOT NULL;
    CREATE INDEX keys_changed ON keys (changed);
    -- Lists of keys go on where a page ended.
    CREATE INDEX keys_order ON keys (created_at, id);
    CREATE INDEX keys_unrevoked ON keys (created_at, id) WHERE revoked_at IS NULL;
    CREATE INDEX keys_name ON keys (name);
    CREATE INDEX keys_parent ON keys (parent, created_at, id) WHERE parent IS NOT NULL;
    CREATE INDEX keys_root ON keys (root, created_at) WHERE root IS NOT NULL;
    CREATE INDEX keys_team ON keys (team, created_at, id) WHERE team IS NOT NULL;
    CREATE INDEX keys_user ON keys ("user", created_at, id) WHERE "user" IS NOT NULL;
    CREATE INDEX keys_maker ON keys (maker, created_at) WHERE maker IS NOT NULL;
    ${raisedBy('keys', 'keys', ['INSERT', KEY_UPDATE], NUMBER_KEY)}
    -- A child key has the team and the user of the first key of its line, revoked or not.
    CREATE TRIGGER keys_take_lines_along AFTER UPDATE OF team, "user" ON keys
      WHEN NEW.parent IS NULL AND (NEW.team IS NOT OLD.team OR NEW."user" IS NOT OLD."user") BEGIN
      UPDATE keys SET team = NEW.team, "user" = NEW."user" WHERE root = NEW.id;
    END;
    ${TRAIL_TABLES}`,
    31: IMPORTED_KEYS,
  },
};
