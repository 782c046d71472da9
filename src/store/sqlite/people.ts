import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';

const TEAM_COLUMNS = 'name, origin, terms, member_defaults, removed_at';
const USER_COLUMNS = 'issuer, sub, name, email, team, role, terms, suspended_at, removed_at';
const numbered = (table: string) => `
      UPDATE ${table} SET changed = (SELECT people FROM news) WHERE id = NEW.id;`;

/**
 * `terms` and `member_defaults` are JSON. `changed` is the number of the news with which a row last changed. Rows are never deleted, but a
 * removed user's row has no personal text left.
 */
export const peopleMigrations: Migrations = {
  room: 'people',
  versions: {
    [BASELINE]: `CREATE TABLE teams (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      origin TEXT NOT NULL CHECK (origin IN ('api', 'policy', 'former')),
      terms TEXT NOT NULL,
      member_defaults TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      removed_at INTEGER,
      changed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX teams_name ON teams (name) WHERE removed_at IS NULL;
    CREATE INDEX teams_changed ON teams (changed);
    CREATE TABLE users (
      id TEXT PRIMARY KEY,
      issuer TEXT,
      sub TEXT,
      name TEXT NOT NULL,
      email TEXT,
      team TEXT,
      role TEXT NOT NULL,
      terms TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      suspended_at INTEGER,
      removed_at INTEGER,
      changed INTEGER NOT NULL DEFAULT 0,
      -- ID of the user who made it within the limits of a role.
      maker TEXT
    ) STRICT;
    CREATE UNIQUE INDEX users_person ON users (issuer, sub) WHERE removed_at IS NULL;
    CREATE INDEX users_team ON users (team) WHERE removed_at IS NULL;
    CREATE INDEX users_changed ON users (changed);
    ${raisedBy('people', 'teams', ['INSERT', `UPDATE OF ${TEAM_COLUMNS}`], numbered('teams'))}
    ${raisedBy('people', 'users', ['INSERT', `UPDATE OF ${USER_COLUMNS}`], numbered('users'))}
    CREATE INDEX users_maker ON users (maker, created_at) WHERE maker IS NOT NULL;
    -- The keys of a user are of its team. Child keys go along with the first key of their line.
    CREATE TRIGGER users_take_keys_along AFTER UPDATE OF team ON users WHEN NEW.team IS NOT OLD.team BEGIN
      UPDATE keys SET team = NEW.team WHERE "user" = NEW.id AND parent IS NULL AND revoked_at IS NULL;
    END;`,
  },
};
