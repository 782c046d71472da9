import { idAt } from '../core/id.ts';
import type { Statement, Store } from '../store/store.ts';

/** Rows deleted per transaction, so that a long deletion does not delay requests. */
const PRUNE_BATCH = 1_000;
/** Keeps the features of outcomes that no checkpoint includes yet. */
const SLACK_MS = 600_000;

const COUNT_EXAMPLES: Statement = {
  sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM examples WHERE until < ? LIMIT ?)',
};
const DELETE_EXAMPLES: Statement = {
  sql: 'DELETE FROM examples WHERE decision IN (SELECT decision FROM examples WHERE until < ? ORDER BY until LIMIT ?)',
};
const COUNT_OUTCOMES: Statement = { sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM outcomes WHERE id < ? LIMIT ?)' };
const DELETE_OUTCOMES: Statement = {
  sql: 'DELETE FROM outcomes WHERE id IN (SELECT id FROM outcomes WHERE id < ? ORDER BY id LIMIT ?)',
};

/** Deletes examples past their feedback window. Rejects with StoreError. */
export const pruneExamples = (store: Store, now: number): Promise<void> =>
  deleteBelow(store, now - SLACK_MS, COUNT_EXAMPLES, DELETE_EXAMPLES);

/** Deletes outcomes before a time, ms since 1970. Rejects with StoreError. */
export const pruneOutcomes = (store: Store, before: number): Promise<void> =>
  deleteBelow(store, idAt(before), COUNT_OUTCOMES, DELETE_OUTCOMES);

async function deleteBelow(store: Store, limit: number, count: Statement, deletion: Statement): Promise<void> {
  for (;;) {
    const [old] = await store.query<{ n: number }>(count, [limit, PRUNE_BATCH]);
    if (!old?.n) return;
    await store.commit([{ statement: deletion, params: [limit, PRUNE_BATCH] }]);
  }
}
