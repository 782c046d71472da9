import { setImmediate } from 'node:timers/promises';
import { timeOfId } from '../../core/id.ts';
import type { RecordEntry, RecordLog, RecordQuery } from '../../store/records.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import type { Sight } from './sight.ts';

/** The most records that are examined for one answer. It bounds the work of a call. */
const COUNTED_MAX = 100_000;
/** How many records are examined together. */
const PAGE = 1_000;

/** Selects the requests to count: the times are ms since 1970, `from` inclusive, `to` exclusive. */
export type CountQuery = Pick<RecordQuery, 'from' | 'to' | 'keyId' | 'keyIds' | 'team' | 'user' | 'model'>;

/**
 * Passes the records of requests that a principal may see to a function, the newest first, up to a limited number of records.
 * @returns the time of the oldest record that was passed, ms since 1970; null if all were passed
 * @throws StoreError, by rejecting
 */
export async function countRecords(
  by: Principal,
  log: Pick<RecordLog, 'list'>,
  query: CountQuery,
  { sight, most = COUNTED_MAX }: { readonly sight: Sight; readonly most?: number | undefined },
  count: (entry: RecordEntry) => void,
): Promise<number | null> {
  const ids = await sight.idsWithin(checkAction(by.caller, 'decisions.list'));
  const asked = query.keyIds ?? (ids && (query.keyId === undefined ? [...ids] : [query.keyId]));
  const keyIds = asked?.filter((id) => ids?.has(id) ?? true);
  let read = 0;
  let next: number | null = null;
  do {
    const limit = Math.min(PAGE, most - read);
    const place = next === null ? {} : { after: next };
    const page = await log.list({ ...query, ...(keyIds && { keyIds }), ...place, limit, looksMax: limit });
    for (const entry of page.entries) count(entry);
    next = page.next;
    // A page with fewer entries has examined as many records, of which few match.
    read += limit;
    // SQLite answers without a wait, so without this pause the process would serve no request until the count ends.
    await setImmediate();
  } while (next !== null && read < most);
  return next === null ? null : timeOfId(next);
}
