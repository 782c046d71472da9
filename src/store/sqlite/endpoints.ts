import type { BrokenDeclaration, BrokenDeclarationTable } from '../endpoints.ts';
import { raisedBy } from './news.ts';
import { type Migrations, type SqlReader, sql, write } from './statement.ts';

export const endpointMigrations: Migrations = {
  room: 'endpoints',
  versions: [
    `CREATE TABLE broken_declarations (
      provider TEXT NOT NULL,
      upstream TEXT NOT NULL,
      model TEXT NOT NULL,
      margin_tokens INTEGER NOT NULL,
      margin_ms INTEGER NOT NULL,
      since INTEGER NOT NULL,
      excess INTEGER NOT NULL,
      PRIMARY KEY (provider, upstream, model)
    ) STRICT, WITHOUT ROWID;`,
    raisedBy('endpoints', 'broken_declarations', ['INSERT', 'UPDATE', 'DELETE']),
  ],
};

const SELECT =
  sql(`SELECT provider, upstream, model, margin_tokens AS marginTokens, margin_ms AS marginMs, since, excess
    FROM broken_declarations ORDER BY provider, upstream, model`);
const PUT = sql(`INSERT INTO broken_declarations (provider, upstream, model, margin_tokens, margin_ms, since, excess)
    VALUES ($provider, $upstream, $model, $marginTokens, $marginMs, $since, $excess)
    ON CONFLICT DO UPDATE SET margin_tokens = excluded.margin_tokens, margin_ms = excluded.margin_ms,
      since = excluded.since, excess = excluded.excess`);
const DELETE = sql(
  'DELETE FROM broken_declarations WHERE provider = $provider AND upstream = $upstream AND model = $model',
);

export const sqliteBrokenDeclarations = (db: SqlReader): BrokenDeclarationTable => ({
  all: () => db.query<BrokenDeclaration>(SELECT),
  put: (broken) => write(PUT, { ...broken }),
  delete: (endpoint) => write(DELETE, { ...endpoint }),
});
