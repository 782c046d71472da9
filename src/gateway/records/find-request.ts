import { idSpan } from '../../core/id.ts';
import type { RecordEntry, RecordLog } from '../../store/records.ts';

/** How far the ID of a decision may be below the number of its request, ms: both count independently within a millisecond. */
const BEFORE_MS = 1_000;
/** How long after its arrival a request may be decided, ms. Most requests are decided within the first period. */
const PERIODS_MS = [1_000, 10_000, 60_000, 900_000] as const;

/**
 * Finds the record of a request. The search begins at the arrival of the request, because records have no index by request.
 * @param request the number of `req_…`
 * @returns null for an unknown or deleted request
 */
export async function findRequest(log: Pick<RecordLog, 'list'>, request: number): Promise<RecordEntry | null> {
  let newerThan = Math.max(0, request - idSpan(BEFORE_MS));
  for (const ms of PERIODS_MS) {
    const end = request + idSpan(ms);
    for (let after: number | null = end; after !== null; ) {
      const { entries, next }: Awaited<ReturnType<RecordLog['list']>> = await log.list({
        request,
        newerThan,
        after,
        limit: 1,
      });
      if (entries[0]) return entries[0];
      after = next;
    }
    newerThan = end - 1;
  }
  return null;
}
