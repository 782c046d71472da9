import { parseMoment } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
import { RECORD_STATUSES, type RecordStatus } from '../core/decision-record.ts';
import { idText, parseId } from '../core/id.ts';
import { OPERATION_NAMES, type Operation } from '../core/operation.ts';
import type { RecordEntry, RecordLog, RecordQuery } from '../store/records.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';

/** Decisions of a page, unless it names another number, and at most. */
export const PAGE_LIMIT = 50;
export const PAGE_LIMIT_MAX = 500;

/** The filters as texts, as the admin API and the command line take them. Empty lists and absent texts admit all. */
export type DecisionFilters = Readonly<Partial<Record<TextFilter, string>>> & {
  /** Each as `name=value`. */
  readonly label?: readonly string[];
};
/** `after` is the ID of the last decision of the page before. */
type TextFilter =
  | ('from' | 'to' | 'key' | 'team' | 'user' | 'model' | 'task' | 'status' | 'operation' | 'session')
  | ('after' | 'limit');

/** A filter that cannot be read. */
export class DecisionFilterError extends Error {
  override readonly name = 'DecisionFilterError';
  readonly filter: keyof DecisionFilters;
  constructor(filter: keyof DecisionFilters, message: string) {
    super(message);
    this.filter = filter;
  }
}

/** @throws DecisionFilterError */
export function decisionQuery(filters: DecisionFilters, sight = FULL_SIGHT): RecordQuery {
  const { from, to, key, team, user, model, task, status, operation, session, label = [], after, limit } = filters;
  const query: RecordQuery = {
    from: from === undefined ? undefined : timeOf('from', from),
    to: to === undefined ? undefined : timeOf('to', to),
    ...(key !== undefined && keysIn(key, sight)),
    team,
    user: user !== undefined && sight.isNarrow ? refuseNarrow('user') : user,
    model,
    task,
    status: status === undefined ? undefined : wordOf<RecordStatus>('status', status, RECORD_STATUSES),
    operation: operation === undefined ? undefined : wordOf<Operation>('operation', operation, OPERATION_NAMES),
    session: session !== undefined && sight.isNarrow ? refuseNarrow('session') : session,
    labels: Object.fromEntries(label.map(labelOf)),
    after: after === undefined ? undefined : cursorOf(after),
    limit: limit === undefined ? PAGE_LIMIT : limitOf(limit),
  };
  if (query.from !== undefined && query.to !== undefined && query.from >= query.to) {
    throw new DecisionFilterError('to', 'must be later than the beginning of the period');
  }
  return query;
}

/** The IDs of keys that a filter means. */
function keysIn(key: string, sight: Sight): Pick<RecordQuery, 'keyId' | 'keyIds'> {
  const ids = sight.idsOf(key);
  return ids.length === 1 ? { keyId: ids[0] } : { keyIds: ids };
}

/** A filter would confirm a guess. */
function refuseNarrow(filter: 'session' | 'user'): never {
  throw new DecisionFilterError(filter, 'is not open to a key with the scope `report`');
}

const timeOf = (filter: 'from' | 'to', text: string): number =>
  parseMoment(text) ?? refuse(filter, 'takes 2026-11-20 or 2026-11-20T08:00Z', text);

const wordOf = <Word extends string>(filter: keyof DecisionFilters, text: string, words: readonly Word[]): Word =>
  words.find((one) => one === text) ?? refuse(filter, `takes ${words.join(', ')}`, text);

function labelOf(text: string): [string, string] {
  const at = text.indexOf('=');
  return at >= 1 ? [text.slice(0, at), text.slice(at + 1)] : refuse('label', 'is written name=value', text);
}

const cursorOf = (text: string): number => parseId('dec_', text) ?? refuse('after', 'takes the ID of a decision', text);

function limitOf(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= PAGE_LIMIT_MAX ? limit : refuse('limit', `takes 1 to ${PAGE_LIMIT_MAX}`, text);
}

function refuse(filter: keyof DecisionFilters, form: string, text: string): never {
  throw new DecisionFilterError(filter, `${form}, not "${text.slice(0, 64)}"`);
}

/** The newest decisions first. */
export interface DecisionPage {
  readonly entries: readonly RecordEntry[];
  /** Whether older decisions match, too. */
  readonly hasMore: boolean;
}

/**
 * Lists the decisions that a principal may see.
 * @throws StoreError, by rejecting
 */
export async function listDecisions(
  by: Principal,
  log: Pick<RecordLog, 'list'>,
  query: RecordQuery,
  sight = FULL_SIGHT,
): Promise<DecisionPage> {
  const ids = sight.idsWithin(checkAction(by.caller, 'decisions.list'));
  const asked = query.keyIds ?? (ids && [...ids]);
  const keyIds = asked?.filter((id) => ids?.has(id) ?? true);
  const entries = await log.list({ ...query, ...(keyIds && { keyIds }), limit: query.limit + 1 });
  return { entries: entries.slice(0, query.limit), hasMore: entries.length > query.limit };
}

/** A page as `GET /admin/decisions` answers and `signalbox decisions list --json` prints it. */
export const decisionPageBody = ({ entries, hasMore }: DecisionPage, sight = FULL_SIGHT): object => ({
  object: 'list',
  data: entries.map((entry) => entryBody(entry, sight)),
  has_more: hasMore,
});

/** Null where a record of version 0.1 lacks the fact, and for all facts of an unreadable record. */
function entryBody({ id, keyId, model, task, status, operation, record }: RecordEntry, sight: Sight): object {
  const outcome = record?.outcome ?? null;
  return {
    id: idText('dec_', id),
    object: 'decision.summary',
    created: record && Math.floor(record.time / 1000),
    ...(sight.isNarrow ? { key_id: null, key_name: sight.keyOf(keyId) } : { key_id: keyId }),
    team_id: record?.team ?? null,
    user_id: (!sight.isNarrow && record?.user) || null,
    ...{ operation, status, model, task },
    selector: record && (record.facts.pinned ? 'pinned' : record.facts.model),
    stream: record?.stream ?? null,
    labels: record?.labels ?? null,
    metadata: (!sight.isNarrow && record?.metadata) || null,
    session: (sight.showsRunsOf(keyId, record?.labels ?? {}) && record?.session) || null,
    route_reason: record?.reason ?? null,
    policy_revision: record?.revision ?? null,
    error: outcome?.error ?? null,
    attempts: outcome?.attempts.length ?? null,
    credits_consumed: outcome && toCredits(outcome.charged),
    cost_saved_credits: outcome && toCredits(outcome.saved),
    first_part_ms: outcome?.firstPartMs ?? null,
    total_ms: outcome?.totalMs ?? null,
  };
}
