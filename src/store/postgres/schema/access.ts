import { NEWS_SUBJECTS, type NewsSubject } from '../../news.ts';
import { NEWS_CHANNEL } from '../news.ts';

/**
 * Raises a subject with each row of a change, as the triggers of SQLite do. The row of the news is locked until the commit: whoever raises a
 * number does so behind all lower ones.
 * @param numbered whether the row keeps the number
 * @param when a condition of `OLD` and `NEW`; '' for any
 */
export const raisedBy = (subject: NewsSubject, table: string, changes: string, numbered = false, when = ''): string =>
  `CREATE TRIGGER ${table}_are_news_${numbered ? 'numbered' : 'raised'} ${numbered ? 'BEFORE' : 'AFTER'} ${changes} ON ${table}
    FOR EACH ROW ${when} EXECUTE FUNCTION ${numbered ? 'number_by_news' : 'raise_news'}('${subject}');`;

/** Refuses a change of a row, with a sentence. @param when a condition of `OLD` and `NEW`; '' for any */
export const refusedFor = (table: string, name: string, change: string, when = ''): string =>
  `CREATE TRIGGER ${name} BEFORE ${change} ON ${table} FOR EACH ROW ${when} EXECUTE FUNCTION refuse_change();`;

/** The numbers of the news, who may come in, and the trail. */
export const ACCESS_TABLES = `
CREATE TABLE news (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  ${NEWS_SUBJECTS.map((subject) => `${subject} BIGINT NOT NULL DEFAULT 0`).join(',\n  ')}
);
INSERT INTO news (id) VALUES (1);

CREATE FUNCTION raise_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('UPDATE news SET %I = %I + 1', TG_ARGV[0], TG_ARGV[0]);
  RETURN NULL;
END $$;

CREATE FUNCTION number_by_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('UPDATE news SET %I = %I + 1 RETURNING %I', TG_ARGV[0], TG_ARGV[0], TG_ARGV[0]) INTO NEW.changed;
  RETURN NEW;
END $$;

-- The subject alone, once a commit.
CREATE FUNCTION tell_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('${NEWS_CHANNEL}', now.key) FROM jsonb_each(to_jsonb(NEW)) AS now
    WHERE now.value IS DISTINCT FROM to_jsonb(OLD) -> now.key;
  RETURN NULL;
END $$;
CREATE TRIGGER news_are_told AFTER UPDATE ON news FOR EACH ROW EXECUTE FUNCTION tell_news();

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'this row of % stays as it is', TG_TABLE_NAME;
END $$;

CREATE TABLE instances (
  slot BIGINT PRIMARY KEY CHECK (slot BETWEEN 0 AND 127),
  epoch BIGINT NOT NULL,
  until BIGINT NOT NULL,
  ids_through BIGINT NOT NULL,
  is_released BIGINT NOT NULL
);
${raisedBy('instances', 'instances', 'INSERT OR UPDATE OF epoch')}
-- The histories of the database that operators, or a synchronous standby, vouch for.
CREATE TABLE timelines (
  timeline TEXT PRIMARY KEY,
  accepted BIGINT NOT NULL
);
CREATE TABLE leaders (
  job TEXT PRIMARY KEY,
  slot BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  until BIGINT NOT NULL
);
CREATE TABLE instance_reports (
  slot BIGINT PRIMARY KEY,
  epoch BIGINT NOT NULL,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  follows TEXT NOT NULL,
  revision TEXT NOT NULL,
  since BIGINT NOT NULL,
  rank BIGINT NOT NULL,
  error TEXT,
  pushed BIGINT,
  judged BIGINT,
  refusal TEXT,
  judged_revision TEXT,
  seen BIGINT NOT NULL,
  clock_offset_ms BIGINT NOT NULL
);

CREATE TABLE pushed_policies (
  id BIGINT PRIMARY KEY,
  base BIGINT NOT NULL,
  revision TEXT NOT NULL,
  source TEXT NOT NULL,
  plugins TEXT NOT NULL,
  time BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('offered', 'accepted', 'refused')),
  reason TEXT
);
${raisedBy('policy', 'pushed_policies', 'INSERT OR UPDATE')}

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  hash BYTEA NOT NULL CHECK (length(hash) = 32),
  scopes TEXT NOT NULL,
  labels TEXT NOT NULL,
  models TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  limits TEXT,
  budgets TEXT NOT NULL DEFAULT '[]',
  last_used BIGINT,
  rotated_at BIGINT,
  previous_hash BYTEA CHECK (length(previous_hash) = 32),
  previous_until BIGINT,
  wallets TEXT,
  wallet TEXT,
  changed BIGINT NOT NULL DEFAULT 0,
  suspended_at BIGINT,
  parent TEXT,
  team TEXT,
  "user" TEXT,
  parent_hash BYTEA CHECK (length(parent_hash) = 32),
  root TEXT
);
CREATE INDEX keys_wallet ON keys (wallet) WHERE wallet IS NOT NULL;
CREATE INDEX keys_changed ON keys (changed);
CREATE INDEX keys_parent ON keys (parent) WHERE parent IS NOT NULL;
CREATE INDEX keys_user ON keys ("user") WHERE "user" IS NOT NULL;
CREATE INDEX keys_root ON keys (root, created_at) WHERE root IS NOT NULL;
${raisedBy(
  'keys',
  'keys',
  `INSERT OR UPDATE OF name, hash, scopes, labels, models, limits, budgets, wallets, wallet, expires_at, revoked_at, rotated_at,
    previous_hash, previous_until, suspended_at, parent, team, "user"`,
  true,
)}

CREATE TABLE trail (
  id BIGINT PRIMARY KEY,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  time BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject_kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  facts TEXT NOT NULL,
  request_id TEXT,
  by_seal TEXT,
  from_seal TEXT,
  details_seal TEXT
);
CREATE INDEX trail_subject ON trail (subject);
CREATE INDEX trail_anchors ON trail (id) WHERE action = 'anchor';
CREATE TABLE trail_words (
  entry BIGINT NOT NULL,
  slot TEXT NOT NULL,
  salt TEXT NOT NULL,
  words TEXT NOT NULL,
  PRIMARY KEY (entry, slot)
);
${refusedFor('trail', 'trail_is_not_changed', 'UPDATE')}
${refusedFor('trail_words', 'trail_words_are_not_changed', 'UPDATE')}
CREATE FUNCTION refuse_unanchored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM trail WHERE action = 'anchor' AND id > OLD.id AND (facts::json ->> 'through')::bigint >= OLD.id) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'the trail is append-only';
END $$;
CREATE TRIGGER trail_is_not_shortened BEFORE DELETE ON trail FOR EACH ROW EXECUTE FUNCTION refuse_unanchored();

CREATE TABLE teams (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('api', 'policy', 'former')),
  terms TEXT NOT NULL,
  member_defaults TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT,
  changed BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX teams_name ON teams (name) WHERE removed_at IS NULL;
CREATE INDEX teams_changed ON teams (changed);
${raisedBy('people', 'teams', 'INSERT OR UPDATE OF name, origin, terms, member_defaults, removed_at', true)}
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  issuer TEXT,
  sub TEXT,
  name TEXT NOT NULL,
  email TEXT,
  team TEXT,
  role TEXT NOT NULL,
  terms TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  suspended_at BIGINT,
  removed_at BIGINT,
  changed BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX users_person ON users (issuer, sub) WHERE removed_at IS NULL;
CREATE INDEX users_team ON users (team) WHERE removed_at IS NULL;
CREATE INDEX users_changed ON users (changed);
${raisedBy('people', 'users', 'INSERT OR UPDATE OF issuer, sub, name, email, team, role, terms, suspended_at, removed_at', true)}
-- The keys of a user are of its team.
CREATE FUNCTION take_keys_along() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET team = NEW.team WHERE "user" = NEW.id AND revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER users_take_keys_along AFTER UPDATE OF team ON users FOR EACH ROW
  WHEN (NEW.team IS DISTINCT FROM OLD.team) EXECUTE FUNCTION take_keys_along();

CREATE TABLE logins (
  id TEXT PRIMARY KEY,
  hash BYTEA NOT NULL CHECK (length(hash) = 32),
  "user" TEXT,
  key TEXT,
  key_hash BYTEA CHECK (length(key_hash) = 32),
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  confirmed_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ended_at BIGINT,
  browser TEXT NOT NULL,
  address TEXT,
  token BYTEA,
  renewing BIGINT NOT NULL DEFAULT 0,
  changed BIGINT NOT NULL DEFAULT 0,
  CHECK (("user" IS NULL) <> (key IS NULL) AND (key IS NULL) = (key_hash IS NULL))
);
CREATE INDEX logins_changed ON logins (changed);
CREATE INDEX logins_expires ON logins (expires_at);
${raisedBy('logins', 'logins', 'INSERT OR UPDATE OF used_at, confirmed_at, expires_at, ended_at', true)}

CREATE TABLE subjects (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  issuer TEXT NOT NULL,
  sub TEXT NOT NULL,
  name TEXT NOT NULL,
  first_seen BIGINT NOT NULL,
  last_seen BIGINT NOT NULL
);

CREATE TABLE threads (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  key_id TEXT NOT NULL,
  answer TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  origin TEXT NOT NULL,
  tokens BIGINT NOT NULL,
  add_ons TEXT,
  time BIGINT NOT NULL,
  UNIQUE (key_id, answer)
);
CREATE INDEX threads_key ON threads (key_id, id);
CREATE INDEX threads_time ON threads (time);
CREATE FUNCTION erase_threads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM threads WHERE key_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER threads_erased AFTER UPDATE OF revoked_at ON keys FOR EACH ROW
  WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION erase_threads();
-- A revocation under way is waited for: it has erased the threads that it saw.
CREATE FUNCTION keep_thread_of_valid_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM keys WHERE id = NEW.key_id FOR SHARE;
  IF EXISTS (SELECT 1 FROM keys WHERE id = NEW.key_id AND revoked_at IS NOT NULL) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER threads_of_valid_keys BEFORE INSERT ON threads FOR EACH ROW EXECUTE FUNCTION keep_thread_of_valid_key();
`;

/** As the version of SQLite: who made a key within the limits of users, and indexes for lists of keys. */
export const KEY_LIMITS = `ALTER TABLE keys ADD COLUMN maker TEXT;
CREATE INDEX keys_maker ON keys (maker, created_at) WHERE maker IS NOT NULL;
CREATE INDEX keys_order ON keys (created_at, id);
CREATE INDEX keys_unrevoked ON keys (created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX keys_name ON keys (name);
CREATE INDEX keys_team ON keys (team, created_at, id) WHERE team IS NOT NULL;
DROP INDEX keys_user;
CREATE INDEX keys_user ON keys ("user", created_at, id) WHERE "user" IS NOT NULL;
DROP INDEX keys_parent;
CREATE INDEX keys_parent ON keys (parent, created_at, id) WHERE parent IS NOT NULL;
`;

/** As the versions of SQLite: who made a user within the limits of a role, no terms of removed users, and lines that go along. */
export const LINE_OWNERS = `CREATE FUNCTION take_line_along() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET team = NEW.team, "user" = NEW."user" WHERE root = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_take_lines_along AFTER UPDATE OF team, "user" ON keys FOR EACH ROW
  WHEN (NEW.parent IS NULL AND (NEW.team IS DISTINCT FROM OLD.team OR NEW."user" IS DISTINCT FROM OLD."user"))
  EXECUTE FUNCTION take_line_along();
UPDATE keys SET team = first.team, "user" = first."user" FROM keys AS first
  WHERE first.id = keys.root AND (first.team IS DISTINCT FROM keys.team OR first."user" IS DISTINCT FROM keys."user");
CREATE OR REPLACE FUNCTION take_keys_along() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET team = NEW.team WHERE "user" = NEW.id AND parent IS NULL AND revoked_at IS NULL;
  RETURN NULL;
END $$;
ALTER TABLE users ADD COLUMN maker TEXT;
CREATE INDEX users_maker ON users (maker, created_at) WHERE maker IS NOT NULL;
UPDATE users SET terms = '{"models":null,"limits":null,"budgets":null}' WHERE removed_at IS NOT NULL;
`;
