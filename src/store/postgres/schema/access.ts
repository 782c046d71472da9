import type { NewsSubject } from '../../news.ts';
import { NEWS_CHANNEL } from '../news.ts';

/**
 * Creates a trigger that raises a subject of the news with each changed row, as in SQLite. The trigger locks the row of the news until the
 * commit, so numbers become visible in ascending order.
 * @param numbered true to store the number in the column `changed` of the row
 * @param when a WHEN clause about `OLD` and `NEW`; '' to fire always
 */
export const raisedBy = (subject: NewsSubject, table: string, changes: string, numbered = false, when = ''): string =>
  `CREATE TRIGGER ${table}_are_news_${numbered ? 'numbered' : 'raised'} ${numbered ? 'BEFORE' : 'AFTER'} ${changes} ON ${table}
    FOR EACH ROW ${when} EXECUTE FUNCTION ${numbered ? 'number_by_news' : 'raise_news'}('${subject}');`;

/**
 * Creates a trigger that refuses a change of a row, with an error of one sentence.
 * @param when a WHEN clause about `OLD` and `NEW`; '' to fire always
 */
const refusedFor = (table: string, name: string, change: string, when = ''): string =>
  `CREATE TRIGGER ${name} BEFORE ${change} ON ${table} FOR EACH ROW ${when} EXECUTE FUNCTION refuse_change();`;

/** The functions of the news triggers, and the tables of instances. */
export const INSTANCE_TABLES = `
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
`;

/** The row of the news, and the triggers of tables that exist in both databases. */
export const ACCESS_TRIGGERS = `
INSERT INTO news (id) VALUES (1);
CREATE TRIGGER news_are_told AFTER UPDATE ON news FOR EACH ROW EXECUTE FUNCTION tell_news();
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

-- A child key has the team and the user of the first key of its line, revoked or not.
CREATE FUNCTION take_line_along() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET team = NEW.team, "user" = NEW."user" WHERE root = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER keys_take_lines_along AFTER UPDATE OF team, "user" ON keys FOR EACH ROW
  WHEN (NEW.parent IS NULL AND (NEW.team IS DISTINCT FROM OLD.team OR NEW."user" IS DISTINCT FROM OLD."user"))
  EXECUTE FUNCTION take_line_along();
-- The keys of a user are of its team. Child keys go along with the first key of their line.
CREATE FUNCTION take_keys_along() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE keys SET team = NEW.team WHERE "user" = NEW.id AND parent IS NULL AND revoked_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER users_take_keys_along AFTER UPDATE OF team ON users FOR EACH ROW
  WHEN (NEW.team IS DISTINCT FROM OLD.team) EXECUTE FUNCTION take_keys_along();
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
-- A deposit is committed with the change to captured, so a second one for the same payment fails.
${refusedFor(
  'payments',
  'payments_arrive_once',
  'UPDATE OF state',
  `WHEN (OLD.state IN ('captured', 'settled') AND NEW.state <> 'settled')`,
)}
`;
