import type { BrokenDeclaration, BrokenDeclarationTable } from '../endpoints.ts';
import { type SqlReader, sql, write } from './statement.ts';

const SELECT =
  sql(`SELECT provider, upstream, model, margin_tokens AS marginTokens, margin_ms AS marginMs, since, excess
    FROM broken_declarations ORDER BY provider, upstream, model`);
const PUT = sql(`INSERT INTO broken_declarations (provider, upstream, model, margin_tokens, margin_ms, since, excess)
    VALUES ($provider, $upstream, $model, $marginTokens, $marginMs, $since, $excess)
    ON CONFLICT (provider, upstream, model) DO UPDATE SET margin_tokens = excluded.margin_tokens, margin_ms = excluded.margin_ms,
      since = excluded.since, excess = excluded.excess`);
const DELETE = sql(
  'DELETE FROM broken_declarations WHERE provider = $provider AND upstream = $upstream AND model = $model',
);

export const sqlBrokenDeclarations = (db: SqlReader): BrokenDeclarationTable => ({
  all: () => db.query<BrokenDeclaration>(SELECT),
  put: (broken) => write(PUT, { ...broken }),
  delete: (endpoint) => write(DELETE, { ...endpoint }),
});
