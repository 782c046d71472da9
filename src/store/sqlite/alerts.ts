import { BASELINE, type Migrations } from './statement.ts';

/** `content` and `deliveries` are JSON. These two columns contain names (of the policy, of budgets and of keys) and figures. */
export const alertMigrations: Migrations = {
  room: 'alerts',
  versions: {
    [BASELINE]: `CREATE TABLE alert_marks (
      id TEXT PRIMARY KEY,
      state TEXT NOT NULL,
      since INTEGER NOT NULL,
      until INTEGER NOT NULL,
      slot INTEGER NOT NULL,
      epoch INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE alert_messages (
      id INTEGER PRIMARY KEY,
      time INTEGER NOT NULL,
      content TEXT NOT NULL,
      deliveries TEXT NOT NULL,
      waits INTEGER NOT NULL,
      slot INTEGER NOT NULL,
      epoch INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX alert_messages_waiting ON alert_messages (id) WHERE waits = 1;`,
  },
};
