import type { RecordEntry, RecordLog, RecordPage, RecordQuery } from '../../store/records.ts';
import { GrowingPage } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT } from './sight.ts';

/**
 * Lists the decisions that a principal may see.
 * @param bodyOf returns the JSON of a decision, whose size limits the page
 * @throws StoreError, by rejecting
 */
export async function listDecisions(
  by: Principal,
  log: Pick<RecordLog, 'list'>,
  query: RecordQuery,
  sight = FULL_SIGHT,
  bodyOf: (entry: RecordEntry) => unknown = (entry) => entry,
): Promise<RecordPage> {
  const ids = await sight.idsWithin(checkAction(by.caller, 'decisions.list'));
  const asked = query.keyIds ?? (ids && (query.keyId === undefined ? [...ids] : [query.keyId]));
  const keyIds = asked?.filter((id) => ids?.has(id) ?? true);
  const page = new GrowingPage<RecordEntry, unknown>(query.limit);
  const wanted = { ...query, ...(keyIds && { keyIds }) };
  for (let after = query.after; ; ) {
    const limit = Math.min(BATCH, query.limit - page.rows.length);
    const { entries, next } = await log.list({ ...wanted, after, limit });
    await sight.learn(entries.map(({ keyId }) => keyId));
    const isWhole = entries.every((entry) => page.take(entry, bodyOf(entry)));
    const { rows } = page;
    if (!isWhole) return { entries: rows, next: rows.at(-1)?.id ?? next };
    // A page also ends when the search has examined enough decisions, even if the page is not full.
    if (next === null || page.isFull || entries.length < limit) return { entries: rows, next };
    after = next;
  }
}

/** How many records are read together. Some decision records have long texts. */
const BATCH = 64;
