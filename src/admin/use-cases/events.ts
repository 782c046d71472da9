import { type Caller, roleOf } from '../../core/caller.ts';
import { iso } from '../../core/clock.ts';
import { toCredits } from '../../core/credits.ts';
import { type DecisionRecord, modelOf, statusOf, summaryOf } from '../../core/decision-record.ts';
import { idText } from '../../core/id.ts';
import { usdWriter } from '../../core/usd.ts';
import { errorsIn } from '../../policy/diagnostics.ts';
import type { ReloadAttempt } from '../../policy/runtime/status.ts';
import type { HealthChange } from '../../providers/health/types.ts';
import type { AlertMessage } from '../../store/alerts.ts';
import { alertId, alertText } from '../alerts/message.ts';
import type { Principal } from './principal.ts';
import { isWithin, type OwnedKey } from './reach.ts';
import { type Action, checkAction, reachOf } from './roles.ts';

/** An event as the feed sends it: names and figures, never content. */
export interface FeedEvent {
  readonly kind: 'decision' | 'alert' | 'policy' | 'endpoint';
  readonly data: object;
  /** The same for a key for reports, which is shown no IDs of keys; absent where it is equal. */
  readonly narrow?: object;
  /** Of a decision: the key that made the request, as it belonged then. */
  readonly key?: OwnedKey;
}

/** The action that opens the events of a kind. */
const OPENED_BY = {
  decision: 'decisions.list',
  alert: 'alerts.read',
  policy: 'policy.read',
  endpoint: 'endpoints.read',
} as const satisfies Record<FeedEvent['kind'], Action>;

/**
 * Opens the feed to a principal.
 * @throws SignalboxError `insufficient_permissions`
 */
export function checkFollower({ caller }: Principal): void {
  checkAction(caller, 'events.read');
}

/** An event as a caller may see it; null where it may not. */
export function eventFor(caller: Caller, { kind, data, narrow, key }: FeedEvent): object | null {
  const role = roleOf(caller);
  const reach = reachOf(role, OPENED_BY[kind]);
  if (reach === null || (key && !isWithin(reach, caller, key))) return null;
  return role === 'report' ? (narrow ?? data) : data;
}

/** The names and the worth of a Credit that an event is written with. */
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
export const endpointEvent = ({ provider, model, upstream, from, to, why }: HealthChange, time: number): FeedEvent => ({
  kind: 'endpoint',
  data: { time: iso(time), provider, model, upstream, from, to, why },
});
