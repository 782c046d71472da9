import { ERASE_LINE } from '../../sqlite/cache.ts';
import { BASELINE } from '../../sqlite/statement.ts';
import BILLS from '../books/bills.sql' with { type: 'text' };
import DECIDE from '../books/decide.sql' with { type: 'text' };
import NAMES from '../books/names.sql' with { type: 'text' };
import OTHERS from '../books/others.sql' with { type: 'text' };
import RECALL from '../books/recall.sql' with { type: 'text' };
import STATED from '../books/stated.sql' with { type: 'text' };
import LEDGER from '../books/tables.sql' with { type: 'text' };
import type { Schema } from '../migrate.ts';
import PARTITION from '../partitions.sql' with { type: 'text' };
import TAKE from '../rates.sql' with { type: 'text' };
import { ACCESS_TRIGGERS, INSTANCE_TABLES, raisedBy } from './access.ts';

/** Inserts the row that stores how far traffic has been counted. */
export const COUNTING_BEGINS = 'INSERT INTO traffic_counting VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0)';

/** Numbers records in the order of their arrival, so that readers can follow them (see `horizon.ts`). */
const RECORD_NUMBERS = 'CREATE SEQUENCE records_seq;';

/** Indexes of the record tables, and one partition for each table that covers all IDs (see `partitions.sql`). */
const RECORDS = `CREATE INDEX records_arrival ON records (seq);
CREATE INDEX record_labels_id ON record_labels (id);
${['records', 'record_index', 'record_labels']
  .map((table) => `CREATE TABLE ${table}_last PARTITION OF ${table} FOR VALUES FROM (MINVALUE) TO (MAXVALUE);`)
  .join('\n')}`;

/** An index for queries of few series over a long time. */
const TRAFFIC = `CREATE INDEX traffic_series_times ON traffic (width, kind, series, bucket);
${COUNTING_BEGINS};`;

const LEDGER_NEWS = [
  raisedBy('policy', 'terms', 'UPDATE OF rank'),
  raisedBy('budgets', 'budgets', 'INSERT'),
  raisedBy('funds', 'adjustments', 'INSERT'),
  raisedBy('funds', 'funds', 'UPDATE OF is_opened', true, 'WHEN (NEW.is_opened AND NOT OLD.is_opened)'),
];

/** Rate limits that instances share: their buckets, and the open streams of each instance. */
const RATES = `CREATE TABLE rates (
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  unit TEXT NOT NULL CHECK (unit IN ('requests', 'tokens', 'streams')),
  most BIGINT NOT NULL CHECK (most > 0),
  -- In 1/60,000; negative where more was used than expected.
  units_left BIGINT NOT NULL,
  at BIGINT NOT NULL,
  -- What was taken ahead in a second, and in the one before it.
  second BIGINT NOT NULL,
  ahead BIGINT NOT NULL,
  before BIGINT NOT NULL,
  PRIMARY KEY (name, subject, unit)
) WITH (fillfactor = 70);
CREATE TABLE rate_streams (
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  slot BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  streams BIGINT NOT NULL CHECK (streams > 0),
  PRIMARY KEY (name, subject, slot, epoch)
);`;

const ERASE_CONVERSATIONS = `CREATE FUNCTION erase_conversations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM conversations WHERE key_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER conversations_erased AFTER UPDATE OF revoked_at ON keys FOR EACH ROW
  WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION erase_conversations();
`;

const ERASE_CACHED_ANSWERS = `CREATE FUNCTION erase_cached_answers_of_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${ERASE_LINE};
  RETURN NULL;
END $$;
CREATE TRIGGER cached_answers_of_key_erased AFTER UPDATE OF revoked_at ON keys FOR EACH ROW
  WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION erase_cached_answers_of_key();
CREATE FUNCTION erase_cached_answers_of_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM cached_answers WHERE user_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER cached_answers_of_person_erased AFTER UPDATE OF removed_at ON users FOR EACH ROW
  WHEN (NEW.removed_at IS NOT NULL) EXECUTE FUNCTION erase_cached_answers_of_person();
`;

/** The database functions. They do not depend on the order in which texts are sorted. */
const FUNCTIONS = NAMES + RECALL + DECIDE + OTHERS + TAKE + PARTITION;

/** Compares texts by their bytes, as SQLite does, independently of the locale of the database. */
const byBytes = (tables: string): string => tables.replaceAll(/ TEXT\b/g, ' TEXT COLLATE "C"');

/**
 * The versions of the schema, by number. Never edit a version that a server may have applied, not even a comment: databases would differ.
 */
export const SCHEMA: Schema = {
  [BASELINE]: {
    async sql() {
      const { tablesAlike } = await import('./alike.ts');
      const tables = [INSTANCE_TABLES, RECORD_NUMBERS, tablesAlike(), ACCESS_TRIGGERS, RECORDS];
      const ledger = [LEDGER, ...LEDGER_NEWS, TRAFFIC, RATES];
      return byBytes([...tables, ...ledger].join('\n')) + ERASE_CONVERSATIONS + ERASE_CACHED_ANSWERS + FUNCTIONS;
    },
    serves: BASELINE,
  },
  31: { sql: byBytes(BILLS), serves: 31 },
  32: { sql: byBytes(STATED), serves: 32 },
  33: {
    async sql() {
      const [{ inPostgres }, { IMPORTED_KEYS }] = await Promise.all([
        import('./alike.ts'),
        import('../../sqlite/keys.ts'),
      ]);
      return inPostgres(IMPORTED_KEYS);
    },
    serves: 32,
  },
};
