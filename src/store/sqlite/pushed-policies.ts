import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';

export const pushedPolicyMigrations: Migrations = {
  room: 'policies',
  versions: {
    [BASELINE]: `CREATE TABLE pushed_policies (
      id INTEGER PRIMARY KEY,
      base INTEGER NOT NULL,
      revision TEXT NOT NULL,
      source TEXT NOT NULL,
      plugins TEXT NOT NULL,
      time INTEGER NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('offered', 'accepted', 'refused')),
      reason TEXT
    ) STRICT;
    ${raisedBy('policy', 'pushed_policies', ['INSERT', 'UPDATE'])}`,
  },
};
