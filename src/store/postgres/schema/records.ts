import PARTITION from '../partitions.sql' with { type: 'text' };

/** The tables of records, whose partitions are dropped: see `partitions.sql`. Each begins as one. */
const PARTITIONED = ['records', 'record_index', 'record_labels'];

/**
 * Records of decisions. A row of the index comes with its record: it is narrow, so that a list reads few pages. Its `seq`, and
 * `decisions`, are of SQLite, which fills its index behind the records. `seq` of a record numbers the order of arrival, for what follows
 * them: see `horizon.ts`.
 */
export const RECORD_TABLES = `
CREATE SEQUENCE records_seq;
CREATE TABLE records (
  seq BIGINT NOT NULL DEFAULT nextval('records_seq'),
  id BIGINT PRIMARY KEY,
  time BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  operation TEXT NOT NULL,
  status TEXT NOT NULL,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  labels TEXT NOT NULL,
  revision TEXT NOT NULL,
  frame BIGINT,
  quality BYTEA NOT NULL,
  estimate BYTEA,
  body TEXT NOT NULL,
  session TEXT,
  team_id TEXT,
  user_id TEXT
) PARTITION BY RANGE (id);
CREATE INDEX records_arrival ON records (seq);
CREATE TABLE record_index (
  id BIGINT PRIMARY KEY,
  seq BIGINT CHECK (seq IS NULL),
  key_id TEXT NOT NULL,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  status TEXT NOT NULL,
  operation TEXT NOT NULL,
  session TEXT,
  team_id TEXT,
  user_id TEXT,
  summary TEXT
) PARTITION BY RANGE (id);
CREATE INDEX record_index_key ON record_index (key_id, id);
CREATE INDEX record_index_model ON record_index (model, id);
CREATE INDEX record_index_task ON record_index (task, id);
CREATE INDEX record_index_status ON record_index (status, id) WHERE status <> 'completed';
CREATE INDEX record_index_operation ON record_index (operation, id) WHERE operation <> 'chat';
CREATE INDEX record_index_session ON record_index (session, id) WHERE session IS NOT NULL;
CREATE INDEX record_index_team ON record_index (team_id, id) WHERE team_id IS NOT NULL;
CREATE INDEX record_index_user ON record_index (user_id, id) WHERE user_id IS NOT NULL;
CREATE TABLE record_labels (
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  id BIGINT NOT NULL,
  PRIMARY KEY (name, value, id)
) PARTITION BY RANGE (id);
CREATE INDEX record_labels_id ON record_labels (id);
${PARTITIONED.map((table) => `CREATE TABLE ${table}_last PARTITION OF ${table} FOR VALUES FROM (MINVALUE) TO (MAXVALUE);`).join('\n')}

CREATE TABLE revisions (
  revision TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  models TEXT NOT NULL,
  surroundings TEXT,
  saved BIGINT NOT NULL
);
CREATE TABLE contents (
  id BIGINT PRIMARY KEY,
  until BIGINT NOT NULL,
  prompt TEXT,
  answer TEXT,
  is_cut BIGINT NOT NULL
);
CREATE INDEX contents_until ON contents (until);
CREATE TABLE frames (
  number BIGINT PRIMARY KEY,
  figures BYTEA NOT NULL
);
`;

/** It takes no texts whose order matters. */
export const RECORD_FUNCTIONS = PARTITION;
