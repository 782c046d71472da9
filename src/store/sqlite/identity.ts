import type { Migrations } from './statement.ts';

/** Names a database: random, made with it, and the same in each copy of it. */
export const identityMigrations: Migrations = {
  room: 'identity',
  versions: [
    `CREATE TABLE identity (id INTEGER PRIMARY KEY CHECK (id = 1), ledger TEXT NOT NULL) STRICT;
    INSERT INTO identity (id, ledger) VALUES (1, lower(hex(randomblob(16))));`,
  ],
};
