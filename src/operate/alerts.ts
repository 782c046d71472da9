import { alertId, alertText } from '../alerts/message.ts';
import type { AlertPolicy, AlertRule, AlertWebhook } from '../core/alert-policy.ts';
import { iso } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import { parseId } from '../core/id.ts';
import type { AlertMessage, AlertTable } from '../store/alerts.ts';
import { inBatches } from '../store/batches.ts';
import { pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';
import { snakeKeys } from './snake-keys.ts';

/** Messages by which the state of webhooks is told. */
const STATE_MESSAGES = 200;
export const ALERTS_LIMIT = 20;
export const ALERTS_LIMIT_MAX = 200;

/** `untried`: nothing was sent yet. `failing`: the last message could not be sent, or its last try failed. */
export type WebhookState = 'untried' | 'ok' | 'failing';

/** The sources of what is known of alerts. */
export interface AlertSources {
  readonly alerts: Pick<AlertTable, 'list'>;
  readonly policy: AlertPolicy;
}

/** A page of messages, newest first. */
export interface AlertPage {
  readonly limit: number;
  /** The ID of the last message of the page before; null for the first page. */
  readonly after: string | null;
}

/** The rules, the webhooks and a page of messages, as the admin API shows them. Throws SignalboxError; rejects with StoreError. */
export async function alertsBody({ caller }: Principal, { alerts, policy }: AlertSources, { limit, after }: AlertPage) {
  checkAction(caller, 'alerts.read');
  const before = after === null ? null : parseId('alert_', after);
  if (after !== null && before === null) {
    throw new SignalboxError('invalid_value', '`after` must be the ID of an alert.', { param: 'after' });
  }
  const recent = await alerts.list({ before: null, limit: STATE_MESSAGES });
  const all = inBatches<AlertMessage>((last, most) => alerts.list({ before: last?.id ?? before, limit: most }));
  const { data, hasMore } = await pageOf(all, limit, messageBody);
  return {
    object: 'list' as const,
    data,
    has_more: hasMore,
    rules: policy.rules.map((rule) => ruleBody(rule, recent)),
    webhooks: policy.webhooks.map((webhook) => webhookBody(webhook, recent)),
  };
}

const messageBody = ({ id, time, content, deliveries }: AlertMessage) => ({
  id: alertId(id),
  time: iso(time),
  type: content.type,
  rule: content.rule,
  on: content.on,
  text: alertText(content),
  subjects: content.subjects,
  more: content.more,
  deliveries: deliveries.map(({ webhook, state, tries, triedAt, nextAt, problem }) => ({
    ...{ webhook, state, tries, problem },
    tried_at: triedAt === null ? null : iso(triedAt),
    next_try_at: state === 'waiting' ? iso(nextAt) : null,
  })),
});

function ruleBody(rule: AlertRule, recent: readonly AlertMessage[]) {
  const { name, on, to, ...terms } = rule;
  const last = recent.find(({ content }) => content.rule === name);
  return { name, on, to, terms: snakeKeys(terms), last_alert_at: last ? iso(last.time) : null };
}

function webhookBody({ name, format, urlEnv, secretEnv }: AlertWebhook, recent: readonly AlertMessage[]) {
  const tried = recent
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ webhook, triedAt }) => webhook === name && triedAt !== null)
    .sort((one, other) => (other.triedAt ?? 0) - (one.triedAt ?? 0));
  const [last] = tried;
  const sent = tried.find(({ state }) => state === 'sent')?.triedAt ?? null;
  const state: WebhookState = !last ? 'untried' : last.problem === null ? 'ok' : 'failing';
  return {
    ...{ name, format, url_env: urlEnv, secret_env: secretEnv, state },
    last_sent_at: sent === null ? null : iso(sent),
    problem: last?.problem ?? null,
  };
}

/** The webhooks that a test is for. @param name null for all. Throws SignalboxError. */
export function testedWebhooks(
  { caller }: Principal,
  { webhooks }: AlertPolicy,
  name: string | null,
): readonly AlertWebhook[] {
  checkAction(caller, 'alerts.test');
  const found = webhooks.filter((webhook) => name === null || webhook.name === name);
  if (found.length > 0) return found;
  const message =
    name === null ? 'The policy has no webhook in `alerts.webhooks`.' : `The policy has no webhook \`${name}\`.`;
  throw new SignalboxError('invalid_value', message, { param: 'webhook' });
}
