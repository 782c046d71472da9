import { BASELINE, type Migrations } from './statement.ts';

/** `outcomes` has the scores. `learning_resets` has the times up to which scores are excluded from the means. */
export const learningMigrations: Migrations = {
  room: 'learning',
  versions: {
    [BASELINE]: `CREATE TABLE outcomes (
      id INTEGER PRIMARY KEY,
      decision INTEGER NOT NULL UNIQUE,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      task TEXT NOT NULL,
      score REAL NOT NULL CHECK (score >= 0 AND score <= 1),
      declared REAL NOT NULL,
      label TEXT
    ) STRICT;
    CREATE TABLE learning_resets (
      id INTEGER PRIMARY KEY,
      model TEXT,
      at INTEGER NOT NULL
    ) STRICT;`,
  },
};
