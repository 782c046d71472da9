import { iso, parseMoment } from '../core/clock.ts';
import { toCredits } from '../core/credits.ts';
import { RECORD_STATUSES, type RecordStatus } from '../core/decision-record.ts';
import { idText, parseId } from '../core/id.ts';
import { OPERATION_NAMES, type Operation } from '../core/operation.ts';
import { usdWriter } from '../core/usd.ts';
import type { RecordEntry, RecordLog, RecordPage, RecordQuery } from '../store/records.ts';
import { GrowingPage } from './pages.ts';
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
/** `after` is `next_after` of the page before. */
type TextFilter =
  | ('from' | 'to' | 'key' | 'team' | 'user' | 'model' | 'task' | 'status' | 'operation' | 'session')
  | ('after' | 'newerThan' | 'limit');

/** A filter that cannot be read. */
export class DecisionFilterError extends Error {
  override readonly name = 'DecisionFilterError';
  readonly filter: keyof DecisionFilters;
  constructor(filter: keyof DecisionFilters, message: string) {
    super(message);
    this.filter = filter;
  }
}

/** Rejects with DecisionFilterError. */
export async function decisionQuery(filters: DecisionFilters, sight = FULL_SIGHT): Promise<RecordQuery> {
  const {
    from,
    to,
    key,
    team,
    user,
    model,
    task,
    status,
    operation,
    session,
    label = [],
    after,
    newerThan,
    limit,
  } = filters;
  const query: RecordQuery = {
    from: from === undefined ? undefined : timeOf('from', from),
    to: to === undefined ? undefined : timeOf('to', to),
    ...(key !== undefined && (await keysIn(key, sight))),
    team,
    user: user !== undefined && sight.isNarrow ? refuseNarrow('user') : user,
    model,
    task,
    status: status === undefined ? undefined : wordOf<RecordStatus>('status', status, RECORD_STATUSES),
    operation: operation === undefined ? undefined : wordOf<Operation>('operation', operation, OPERATION_NAMES),
    session: session !== undefined && sight.isNarrow ? refuseNarrow('session') : session,
    labels: Object.fromEntries(label.map(labelOf)),
    after: after === undefined ? undefined : cursorOf('after', after),
    newerThan: newerThan === undefined ? undefined : cursorOf('newerThan', newerThan),
    limit: limit === undefined ? PAGE_LIMIT : limitOf(limit),
  };
  if (query.from !== undefined && query.to !== undefined && query.from >= query.to) {
    throw new DecisionFilterError('to', 'must be later than the beginning of the period');
  }
  return query;
}

/** The IDs of keys that a filter means. */
async function keysIn(key: string, sight: Sight): Promise<Pick<RecordQuery, 'keyId' | 'keyIds'>> {
  const ids = await sight.idsOf(key);
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

const cursorOf = (filter: 'after' | 'newerThan', text: string): number =>
  parseId('dec_', text) ?? refuse(filter, 'takes the ID of a decision', text);

function limitOf(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= PAGE_LIMIT_MAX ? limit : refuse('limit', `takes 1 to ${PAGE_LIMIT_MAX}`, text);
}

function refuse(filter: keyof DecisionFilters, form: string, text: string): never {
  throw new DecisionFilterError(filter, `${form}, not "${text.slice(0, 64)}"`);
}

/** A page of decisions, as they are stored and as the answer shows them. */
export interface DecisionPage extends RecordPage {
  readonly data: readonly object[];
}

/**
 * Lists the decisions that a principal may see.
 * @throws StoreError, by rejecting
 */
export async function listDecisions(
  by: Principal,
  { log, usdPerCredit }: DecisionSource,
  query: RecordQuery,
  sight = FULL_SIGHT,
): Promise<DecisionPage> {
  const ids = await sight.idsWithin(checkAction(by.caller, 'decisions.list'));
  const asked = query.keyIds ?? (ids && (query.keyId === undefined ? [...ids] : [query.keyId]));
  const keyIds = asked?.filter((id) => ids?.has(id) ?? true);
  const page = new GrowingPage<RecordEntry, object>(query.limit);
  const usd = usdWriter(usdPerCredit);
  const wanted = { ...query, ...(keyIds && { keyIds }) };
  for (let after = query.after; ; ) {
    const limit = Math.min(BATCH, query.limit - page.rows.length);
    const { entries, next } = await log.list({ ...wanted, after, limit });
    await sight.learn(entries.map(({ keyId }) => keyId));
    const isWhole = entries.every((entry) => page.take(entry, entryBody(entry, sight, usd)));
    const { rows, data } = page;
    if (!isWhole) return { entries: rows, data, next: rows.at(-1)?.id ?? next };
    // A page ends where the log has looked far enough, even if it is not full.
    if (next === null || page.isFull || entries.length < limit) return { entries: rows, data, next };
    after = next;
  }
}

/** Records that are read at once. Some have long texts. */
const BATCH = 64;

/** The sources of a list of decisions. */
interface DecisionSource {
  readonly log: Pick<RecordLog, 'list'>;
  /** The worth of a Credit; null in a ledger that never had a policy. */
  readonly usdPerCredit: string | null;
}

/** A page as `GET /admin/decisions` answers and `signalbox decisions list --json` prints it. */
export function decisionPageBody({ data, next }: DecisionPage): object {
  return {
    object: 'list',
    data,
    has_more: next !== null,
    next_after: next === null ? null : idText('dec_', next),
  };
}

/** Null where a record of version 0.1 lacks the fact, and for all facts of an unreadable record. */
function entryBody(
  { id, keyId, model, task, status, operation, team, user, session, summary }: RecordEntry,
  sight: Sight,
  usd: ReturnType<typeof usdWriter>,
): object {
  const { charged = null, saved = null, labels = null } = summary ?? {};
  return {
    id: idText('dec_', id),
    object: 'decision.summary',
    created: summary && Math.floor(summary.time / 1000),
    time: summary && iso(summary.time),
    key_id: sight.isNarrow ? null : keyId,
    key_name: sight.nameOf(keyId),
    team_id: team,
    user_id: sight.isNarrow ? null : user,
    ...{ operation, status, model, task },
    provider: summary?.provider ?? null,
    selector: summary?.selector ?? null,
    stream: summary?.stream ?? null,
    labels,
    metadata: (!sight.isNarrow && summary?.metadata) || null,
    session: sight.showsRunsOf(keyId, labels ?? {}) ? session : null,
    route_reason: summary?.reason ?? null,
    policy_revision: summary?.revision ?? null,
    error: summary?.error ?? null,
    attempts: summary?.attempts ?? null,
    credits_consumed: charged === null ? null : toCredits(charged),
    charged_usd: charged === null ? null : usd(charged),
    cost_saved_credits: saved === null ? null : toCredits(saved),
    saved_usd: saved === null ? null : usd(saved),
    input_tokens: summary?.inputTokens ?? null,
    output_tokens: summary?.outputTokens ?? null,
    first_part_ms: summary?.firstPartMs ?? null,
    total_ms: summary?.totalMs ?? null,
  };
}
