import { BASELINE, type Migrations } from '../statement.ts';

/**
 * `kind` is the position in `TRAFFIC_KINDS`, `width` the length of a bucket in minutes, and `bucket` its number since 1970. Rows with the
 * same kind and time are stored together, because most queries read a period. `traffic_series` gives series their numbers; 0 is the number
 * of all further series. `ttft` and `duration` are histograms, see `core/time/histogram.ts`.
 *
 * `traffic_counting` stores how far records and journal are counted: rows up to `…_through`, and from `…_before` on. Rows that are counted
 * again are the past, and are counted backwards. Each change of the counting state increases `version`, and every change is conditional on the version. `traffic_waiting` has the charges whose record is not
 * written yet. `traffic_kept` has, for each bucket length, the first bucket since which no cell was deleted or left out because of its age.
 * A bucket length without a row in `traffic_kept` has lost no cell.
 */
export const trafficMigrations: Migrations = {
  room: 'traffic',
  versions: {
    [BASELINE]: `CREATE TABLE traffic (
      width INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      bucket INTEGER NOT NULL,
      series INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      errors INTEGER NOT NULL,
      failed_attempts INTEGER NOT NULL,
      microcredits INTEGER NOT NULL,
      saved INTEGER NOT NULL,
      input INTEGER NOT NULL,
      cached INTEGER NOT NULL,
      output INTEGER NOT NULL,
      visible INTEGER NOT NULL,
      visible_ms INTEGER NOT NULL,
      ttft BLOB NOT NULL,
      duration BLOB NOT NULL,
      refused INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (width, kind, bucket, series)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE traffic_series (
      kind INTEGER NOT NULL,
      number INTEGER NOT NULL,
      name TEXT NOT NULL,
      last_day INTEGER NOT NULL,
      PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX traffic_series_number ON traffic_series (kind, number);
    CREATE TABLE traffic_waiting (
      seq INTEGER PRIMARY KEY,
      id INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      team_id TEXT NOT NULL,
      model TEXT,
      provider TEXT,
      microcredits INTEGER NOT NULL,
      -- Of the account of a charge. Its user and labels are those of the time, as its team is.
      user_id TEXT NOT NULL DEFAULT '',
      labels TEXT NOT NULL DEFAULT '{}'
    ) STRICT;
    CREATE INDEX traffic_waiting_id ON traffic_waiting (id);
    CREATE TABLE traffic_counting (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      version INTEGER NOT NULL,
      records_through INTEGER NOT NULL,
      records_before INTEGER NOT NULL,
      journal_through INTEGER NOT NULL,
      journal_before INTEGER NOT NULL,
      recount_from INTEGER NOT NULL,
      is_clearing INTEGER NOT NULL,
      pruned_below INTEGER NOT NULL
    ) STRICT;
    INSERT INTO traffic_counting VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0);
    CREATE TABLE traffic_kept (
      width INTEGER PRIMARY KEY,
      bucket INTEGER NOT NULL
    ) STRICT;`,
  },
};
