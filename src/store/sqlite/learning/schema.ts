import { raisedBy } from '../news.ts';
import type { Migrations } from '../statement.ts';

/**
 * `outcomes` has the scores. `learning_resets` has the times up to which scores are excluded from the means. `learnt` has the usual lengths
 * of questions (part `tasks` of `learned`). Version 0.1 learned from outcomes, and used further tables and parts.
 */
export const learningMigrations: Migrations = {
  room: 'learning',
  versions: {
    1: `CREATE TABLE learning_secret (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      secret BLOB NOT NULL CHECK (length(secret) = 8)
    ) STRICT;
    CREATE TABLE examples (
      decision INTEGER PRIMARY KEY,
      until INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      estimator TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      declared REAL NOT NULL,
      probability REAL NOT NULL CHECK (probability > 0 AND probability <= 1),
      among INTEGER NOT NULL CHECK (among > 0),
      features BLOB
    ) STRICT;
    CREATE INDEX examples_until ON examples (until);
    CREATE TABLE outcomes (
      id INTEGER PRIMARY KEY,
      decision INTEGER NOT NULL,
      source TEXT NOT NULL CHECK (source IN ('caller', 'checks', 'retry')),
      estimator TEXT NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      score REAL NOT NULL CHECK (score >= 0 AND score <= 1),
      offered REAL NOT NULL CHECK (offered >= 0 AND offered <= 1),
      weight REAL NOT NULL CHECK (weight >= 0 AND weight <= offered),
      declared REAL NOT NULL,
      estimated REAL NOT NULL,
      probability REAL NOT NULL,
      among INTEGER NOT NULL,
      looked INTEGER NOT NULL,
      label TEXT,
      UNIQUE (decision, source)
    ) STRICT;
    CREATE TABLE learnt (
      estimator TEXT NOT NULL,
      part TEXT NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (estimator, part)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE learnt_through (
      estimator TEXT PRIMARY KEY,
      outcome INTEGER NOT NULL,
      reset INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE learning_standing (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      outcome INTEGER NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE learning_resets (
      id INTEGER PRIMARY KEY,
      model TEXT,
      at INTEGER NOT NULL,
      applied INTEGER
    ) STRICT;`,
    20: `${raisedBy('learning', 'learning_resets', ['INSERT'])}
    DROP TABLE learning_secret;
    DROP TABLE examples;
    DROP TABLE learnt_through;
    DROP TABLE learning_standing;`,
  },
};
