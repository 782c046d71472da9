import type { Migrations } from './statement.ts';

/** Numbers are given in the order of the subjects' first tokens. */
export const subjectMigrations: Migrations = {
  room: 'subjects',
  versions: [
    `CREATE TABLE subjects (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      issuer TEXT NOT NULL,
      sub TEXT NOT NULL,
      name TEXT NOT NULL,
      first_seen INTEGER NOT NULL,
      last_seen INTEGER NOT NULL
    ) STRICT;`,
  ],
};
