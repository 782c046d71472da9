import type { Statement, Store } from '../store/store.ts';

const BEGIN: Statement = {
  sql: 'SELECT revision FROM revisions WHERE substr(revision, 1, length(?1)) = ?1 ORDER BY saved DESC LIMIT 100',
};

/** The revisions of kept policies that begin so, at most 100, the one saved last first. */
export async function revisionsLike(store: Pick<Store, 'query'>, beginning: string): Promise<string[]> {
  const rows = await store.query<{ readonly revision: string }>(BEGIN, [beginning]);
  return rows.map(({ revision }) => revision);
}
