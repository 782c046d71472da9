import { BASELINE, type Migrations } from './statement.ts';

/** The name of a database, which is random, created with the database, and the same in each copy. */
export const identityMigrations: Migrations = {
  room: 'identity',
  versions: {
    [BASELINE]: `CREATE TABLE identity (id INTEGER PRIMARY KEY CHECK (id = 1), ledger TEXT NOT NULL) STRICT;
    INSERT INTO identity (id, ledger) VALUES (1, lower(hex(randomblob(16))));`,
  },
};
