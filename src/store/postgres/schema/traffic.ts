/** The counting begins with the first row. */
export const COUNTING_BEGINS = 'INSERT INTO traffic_counting VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0)';

/**
 * Buckets of traffic, as in `sqlite/traffic/schema.ts`. Some series of a long time are read by the second index. A bucket is written
 * again with each count of its time: room for that is left on its page.
 */
export const TRAFFIC_TABLES = `
CREATE TABLE traffic (
  width BIGINT NOT NULL,
  kind BIGINT NOT NULL,
  bucket BIGINT NOT NULL,
  series BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  failed_attempts BIGINT NOT NULL,
  microcredits BIGINT NOT NULL,
  saved BIGINT NOT NULL,
  input BIGINT NOT NULL,
  cached BIGINT NOT NULL,
  output BIGINT NOT NULL,
  visible BIGINT NOT NULL,
  visible_ms BIGINT NOT NULL,
  ttft BYTEA NOT NULL,
  duration BYTEA NOT NULL,
  PRIMARY KEY (width, kind, bucket, series)
) WITH (fillfactor = 80);
CREATE INDEX traffic_series_times ON traffic (width, kind, series, bucket);
CREATE TABLE traffic_series (
  kind BIGINT NOT NULL,
  number BIGINT NOT NULL,
  name TEXT NOT NULL,
  last_day BIGINT NOT NULL,
  PRIMARY KEY (kind, name),
  UNIQUE (kind, number)
);
CREATE TABLE traffic_waiting (
  seq BIGINT PRIMARY KEY,
  id BIGINT NOT NULL,
  key_id TEXT NOT NULL,
  team_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  labels TEXT NOT NULL,
  model TEXT,
  provider TEXT,
  microcredits BIGINT NOT NULL
);
CREATE INDEX traffic_waiting_id ON traffic_waiting (id);
CREATE TABLE traffic_counting (
  "only" BIGINT PRIMARY KEY CHECK ("only" = 1),
  version BIGINT NOT NULL,
  records_through BIGINT NOT NULL,
  records_before BIGINT NOT NULL,
  old_before BIGINT NOT NULL,
  journal_through BIGINT NOT NULL,
  journal_before BIGINT NOT NULL,
  recount_from BIGINT NOT NULL,
  is_clearing BIGINT NOT NULL,
  pruned_below BIGINT NOT NULL
);
${COUNTING_BEGINS};
`;
