import { BASELINE, type Migrations } from './statement.ts';

/** The numbers of subjects follow the order in which the subjects presented their first tokens. */
export const subjectMigrations: Migrations = {
  room: 'subjects',
  versions: {
    [BASELINE]: `CREATE TABLE subjects (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      issuer TEXT NOT NULL,
      sub TEXT NOT NULL,
      name TEXT NOT NULL,
      first_seen INTEGER NOT NULL,
      last_seen INTEGER NOT NULL
    ) STRICT;`,
  },
};
