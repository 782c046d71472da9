import { type DecisionRecord, modelOf, statusOf, summaryOf } from '../../core/decision/record.ts';
import { SignalboxError } from '../../core/errors.ts';
import { parseId } from '../../core/id.ts';
import type { RecordReader } from '../../gateway/records/records.ts';
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

/** A request as an entry of the list, with the record of its decision; null for a refused request. */
interface FoundEntry {
  readonly entry: RecordEntry;
  readonly record: DecisionRecord | null;
}

/**
 * Finds a request as an entry of the list, with its record.
 * @param id `req_…` or `dec_…`
 * @throws SignalboxError `not_found`, also for a request of another person
 */
export async function findShown(
  by: Principal,
  records: Pick<RecordReader, 'find' | 'findRequest'>,
  id: string,
  sight = FULL_SIGHT,
): Promise<FoundEntry> {
  const keyIds = await sight.idsWithin(checkAction(by.caller, 'decisions.list'));
  const request = parseId('req_', id);
  const listed = request === null ? null : await records.findRequest(request);
  const decision = request === null ? parseId('dec_', id) : listed?.status === 'refused' ? null : (listed?.id ?? null);
  const record = decision === null ? null : await records.find(decision);
  const entry = listed ?? (record && entryOf(record));
  if (!entry || keyIds?.has(entry.keyId) === false) {
    const message =
      'There is no request or decision with this ID, or this key cannot see it. A request appears when it ends. For each key together with its child keys, only 60 refused requests of a minute are stored with their ID.';
    throw new SignalboxError('not_found', message);
  }
  await sight.learn([entry.keyId]);
  return { entry, record };
}

function entryOf(record: DecisionRecord): RecordEntry {
  const { id, request, keyId, team, user, session, facts } = record;
  const { task, operation } = facts;
  const names = { model: modelOf(record), task, status: statusOf(record), operation };
  return { id, request, keyId, ...names, team, user, session, summary: summaryOf(record) };
}
