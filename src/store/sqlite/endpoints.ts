import { raisedBy } from './news.ts';
import { BASELINE, type Migrations } from './statement.ts';

export const endpointMigrations: Migrations = {
  room: 'endpoints',
  versions: {
    [BASELINE]: `CREATE TABLE broken_declarations (
      provider TEXT NOT NULL,
      upstream TEXT NOT NULL,
      model TEXT NOT NULL,
      margin_tokens INTEGER NOT NULL,
      margin_ms INTEGER NOT NULL,
      since INTEGER NOT NULL,
      excess INTEGER NOT NULL,
      PRIMARY KEY (provider, upstream, model)
    ) STRICT, WITHOUT ROWID;
    ${raisedBy('endpoints', 'broken_declarations', ['INSERT', 'UPDATE', 'DELETE'])}`,
  },
};
