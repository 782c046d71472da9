import { type DecisionRecord, modelOf, statusOf, summaryOf } from '../../core/decision/record.ts';
import { idText } from '../../core/id.ts';
import { toCredits } from '../../core/money/credits.ts';
import { usdWriter } from '../../core/money/usd.ts';
import { type Caller, roleOf } from '../../core/people/caller.ts';
import { iso } from '../../core/time/clock.ts';
import { errorsIn } from '../../policy/report/diagnostics.ts';
import type { ReloadAttempt } from '../../policy/runtime/status.ts';
import type { HealthChange } from '../../providers/health/types.ts';
import type { AlertMessage } from '../../store/alerts.ts';
import { alertId, alertText } from '../alerts/message.ts';
import type { Principal } from './principal.ts';
import { isWithin, type OwnedKey } from './reach.ts';
import { type Action, checkAction, reachOf } from './roles.ts';

/** An event that the feed sends. An event has names and figures, never content. */
export interface FeedEvent {
  readonly kind: 'decision' | 'alert' | 'policy' | 'endpoint';
  readonly data: object;
  /** The data for a key with the scope `report`, which must not see IDs of keys; absent if the data is the same. */
  readonly narrow?: object;
  /** For a decision: the key that made the request, with its team and user at that time. */
  readonly key?: OwnedKey;
}

/** The action that a caller must be allowed to take to receive events of a kind. */
const OPENED_BY = {
  decision: 'decisions.list',
  alert: 'alerts.read',
  policy: 'policy.read',
  endpoint: 'endpoints.read',
} as const satisfies Record<FeedEvent['kind'], Action>;

/**
 * Checks that a principal may follow the feed.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkFollower({ caller }: Principal): void {
  checkAction(caller, 'events.read');
}

/** Returns the part of an event that a caller may see; null if the caller may not see the event. */
export function eventFor(caller: Caller, { kind, data, narrow, key }: FeedEvent): object | null {
  const role = roleOf(caller);
  const reach = reachOf(role, OPENED_BY[kind]);
  if (reach === null || (key && !isWithin(reach, caller, key))) return null;
  return role === 'report' ? (narrow ?? data) : data;
}

/** The names, and the value of a Credit, that appear in events. */
export interface EventNames {
  keyName(id: string): string | null;
  readonly usdPerCredit: string | null;
}

export function decisionEvent(record: DecisionRecord, { keyName, usdPerCredit }: EventNames): FeedEvent {
  const { id, keyId, team, user, facts } = record;
  const { time, provider, error, charged, totalMs } = summaryOf(record);
  const data = {
    id: idText('dec_', id),
    time: iso(time),
    key_id: keyId,
    key_name: keyName(keyId),
    team_id: team,
    operation: facts.operation,
    model: modelOf(record),
    provider,
    task: facts.task,
    status: statusOf(record),
    error,
    credits_consumed: charged === null ? null : toCredits(charged),
    charged_usd: charged === null ? null : usdWriter(usdPerCredit)(charged),
    total_ms: totalMs,
  };
  return { kind: 'decision', data, narrow: { ...data, key_id: null }, key: { id: keyId, team, user } };
}

export function alertEvent({ id, time, content }: Pick<AlertMessage, 'id' | 'time' | 'content'>): FeedEvent {
  const { type, rule, on } = content;
  return { kind: 'alert', data: { id: alertId(id), time: iso(time), type, rule, on, text: alertText(content) } };
}

/** @returns null for a reload that changed nothing */
export function policyEvent({ time, result, revision, message, diagnostics }: ReloadAttempt): FeedEvent | null {
  if (result === 'unchanged') return null;
  return { kind: 'policy', data: { time: iso(time), result, revision, message, errors: errorsIn(diagnostics) } };
}

/** @param time ms since 1970 */
export const endpointEvent = (
  { provider, model, upstream, key, from, to, why }: HealthChange,
  time: number,
): FeedEvent => ({
  kind: 'endpoint',
  data: { time: iso(time), provider, model, upstream, ...(key !== undefined && { key }), from, to, why },
});
