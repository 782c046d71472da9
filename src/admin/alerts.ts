import { Type } from '@sinclair/typebox';
import { sizedAs } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import { parseId } from '../core/id.ts';
import type { AlertPolicy, AlertRule, AlertWebhook } from '../core/policy/alerts.ts';
import { ALERT_EVENTS } from '../core/tables/alerts/index.ts';
import { snakeCase } from '../core/text/text.ts';
import type { AlertMessage, AlertTable } from '../store/alerts.ts';
import { inBatches } from '../store/batches.ts';
import { alertId, alertText } from './alerts/message.ts';
import { operationsOn } from './kit/operation.ts';
import { pageOf } from './use-cases/pages.ts';

/** The services that operations on alerts use. */
export interface AlertServices {
  readonly alerts: Pick<AlertTable, 'list'> & {
    /**
     * Sends a message to each webhook once.
     * @returns for each webhook why its message was not sent, or null if it was
     * @throws StoreError as a rejection
     */
    test(
      webhooks: readonly AlertWebhook[],
    ): Promise<readonly { readonly webhook: string; readonly problem: string | null }[]>;
  };
  /** The rules and webhooks of the active policy, or of the policy of a folder. @throws UsageError if that policy is rejected */
  alertPolicy(): AlertPolicy | Promise<AlertPolicy>;
  /** As `alertPolicy`, but null after a warning if that policy is rejected. The alerts that were sent need no policy. */
  alertPolicyIfValid(): AlertPolicy | Promise<AlertPolicy | null>;
}
const operation = operationsOn<AlertServices>();

/** The number of newest messages from which the state of each webhook is computed. */
const STATE_MESSAGES = 200;
const LIMIT = 20;
const LIMIT_MAX = 200;

const NO_ALERTS: AlertPolicy = { rules: [], webhooks: [] };

const WATCHED = [...Object.keys(ALERT_EVENTS), 'test'];
const on = f.word(WATCHED, 'What the rule watches.', 'budget_share');
const problem = f.orNull(f.text('Why the last try failed; null if it did not fail.'));

/** Writes a delivery as text, such as `budgets ops sent`. */
interface Delivery {
  readonly webhook: string;
  readonly state: string;
  readonly tries: number;
}
const deliveryText = ({ webhook, state, tries }: Delivery): string =>
  `${webhook} ${state}${tries > 1 ? ` after ${tries} tries` : ''}`;

const Alert = f.named('Alert', 'A message to people, and its delivery to each webhook.', {
  id: f.text('ID of the alert. The ID is the same in each try.', 'alert_0a4x1wm3zk0'),
  time: f.moment('When the server created the alert.'),
  type: f.word(
    ['alert', 'recovery', 'test'],
    '`alert` reports a problem, `recovery` reports that the problem is over, and `test` is a test message.',
  ),
  rule: f.text('Name of the rule; empty for a test.', 'budgets'),
  on,
  text: f.inCommand(
    f.text(
      'The whole text that people receive.',
      'Signalbox, budgets: Budget team-month of search has spent 82 % of its 50,000 Credits.',
    ),
    { text: (lines: string) => lines.replaceAll('\n', ' ') },
  ),
  subjects: f.list(
    f.mapOf(
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
      'The names and figures of one subject of the alert.',
    ),
    'The subjects of the alert, such as budgets or keys; at most 20.',
    {
      examples: [[{ budget: 'team-month', subject: 'search', spent_credits: 41_000, limit_credits: 50_000, at: 0.8 }]],
    },
  ),
  more: f.count('The number of subjects that the message does not name.', 0),
  deliveries: f.list(
    f.inCommand(
      f.shape('A webhook.', {
        webhook: f.text('Name of the webhook.', 'ops'),
        state: f.word(['waiting', 'sent', 'failed'], '`waiting`: the message waits for its first or next try.', 'sent'),
        tries: f.count('Number of tries that have ended; at most five.', 1),
        problem,
        tried_at: f.orNull(
          f.moment('The end of the last try; null before the first try ends.', '2026-11-20T09:30:01.000Z'),
        ),
        next_try_at: f.orNull(f.moment('When the next try begins; null if there is no next try.')),
      }),
      { text: deliveryText },
    ),
    'The delivery to each webhook.',
  ),
});

export const AlertList = f.named(
  'AlertList',
  'Alerts, the rules that create them, and the webhooks that receive them.',
  {
    object: f.always('list'),
    data: f.list(Alert, 'The alerts, newest first.'),
    has_more: f.flag('Whether there are older alerts. To get them, repeat the request with `after`.', false),
    rules: f.list(
      f.shape('A rule.', {
        name: f.text('The name of the rule.', 'budgets'),
        on,
        to: f.list(Type.String(), 'Names of webhooks.', ['ops']),
        terms: f.mapOf(Type.Unknown(), 'The settings of the rule.', { at: [0.8, 1], budgets: [] }),
        last_alert_at: f.orNull(
          f.moment('When the rule last caused one of the newest 200 alerts.', '2026-11-20T09:30:00.000Z'),
        ),
      }),
      'The alert rules of the active policy.',
    ),
    webhooks: f.list(
      f.shape('A webhook.', {
        name: f.text('The name of the webhook.', 'ops'),
        format: f.word(['signalbox', 'slack'], 'The format of the messages to this webhook.', 'signalbox'),
        url_env: f.text('The environment variable with the URL of the webhook.', 'OPS_WEBHOOK_URL'),
        secret_env: f.orNull(
          f.text(
            'The environment variable with the secret that signs messages; null for a format without signatures.',
            'OPS_WEBHOOK_SECRET',
          ),
        ),
        state: f.word(
          ['untried', 'ok', 'failing'],
          'State of the last try among the newest 200 alerts: `untried` if there was none, `failing` if it failed.',
          'ok',
        ),
        last_sent_at: f.orNull(
          f.moment('When the webhook last accepted one of the newest 200 alerts.', '2026-11-20T09:30:01.000Z'),
        ),
        problem,
      }),
      'The webhooks of the active policy. The URLs and secrets of webhooks are never shown.',
    ),
  },
);

export const AlertTest = f.named('AlertTest', 'The result of a test message.', {
  object: f.always('list'),
  data: f.list(
    f.shape('The result of one webhook.', {
      webhook: f.text('Name of the webhook.', 'ops'),
      sent: f.flag('Whether the webhook answered with a 2xx status.', false),
      problem: f.orNull(f.text('Why the message was not sent; null if it was sent.', 'it answered with 500')),
    }),
    'One result for each webhook, in the order of the policy.',
  ),
});

const shownMessage = ({ id, time, content, deliveries }: AlertMessage) => ({
  ...content,
  id: alertId(id),
  time,
  text: alertText(content),
  deliveries: deliveries.map(({ nextAt, ...delivery }) => ({
    ...delivery,
    nextTryAt: delivery.state === 'waiting' ? nextAt : null,
  })),
});

function shownRule({ name, on: watched, to, ...terms }: AlertRule, recent: readonly AlertMessage[]) {
  const last = recent.find(({ content }) => content.rule === name);
  const named = Object.fromEntries(Object.entries(terms).map(([term, value]) => [snakeCase(term), value]));
  return { name, on: watched, to, terms: named, lastAlertAt: last?.time ?? null };
}

function shownWebhook(webhook: AlertWebhook, recent: readonly AlertMessage[]) {
  const tried = recent
    .flatMap(({ deliveries }) => deliveries)
    .filter((one) => one.webhook === webhook.name && one.triedAt !== null)
    .sort((one, other) => (other.triedAt ?? 0) - (one.triedAt ?? 0));
  const [last] = tried;
  const state = !last ? ('untried' as const) : last.problem === null ? ('ok' as const) : ('failing' as const);
  const lastSentAt = tried.find((one) => one.state === 'sent')?.triedAt ?? null;
  return { ...webhook, state, lastSentAt, problem: last?.problem ?? null };
}

/**
 * Finds the webhooks to test.
 * @param name null for all webhooks
 * @throws SignalboxError if the policy has no webhook of this name
 */
function testedWebhooks({ webhooks }: AlertPolicy, name: string | null): readonly AlertWebhook[] {
  const found = webhooks.filter((webhook) => name === null || webhook.name === name);
  if (found.length > 0) return found;
  const message =
    name === null
      ? 'The policy declares no webhook. Add one to `alerts.webhooks`.'
      : `The policy has no webhook \`${name}\`. Use a name from \`alerts.webhooks\`.`;
  return refuse('webhook', message);
}

const placeOf = (text: string): number =>
  parseId('alert_', text) ?? refuse('after', '`after` must be the ID of an alert.');

interface PrintedList {
  readonly webhooks: readonly { readonly name: string; readonly state: string; readonly problem: string | null }[];
}
/** Describes the state of each webhook, below the table of alerts. */
const webhooksText = ({ webhooks }: PrintedList): string =>
  webhooks.length === 0
    ? 'No webhook was found in alerts.webhooks.\n'
    : webhooks.map(({ name, state, problem: why }) => `Webhook ${name}: ${state}${why ? `, ${why}` : ''}.\n`).join('');

/** The operations of `/admin/alerts` and `signalbox alerts`: list the alerts that were sent, and test a webhook. */
export const ALERT_OPERATIONS = [
  operation({
    name: 'alerts list',
    use: 'to see which alerts were sent, and whether a webhook fails.',
    example: 'alerts list --limit 5',
    http: 'GET /admin/alerts',
    action: 'alerts.read',
    summary: 'List alerts, their rules and webhooks',
    details:
      'Lists the alerts that were sent to people, newest first, with the delivery to each webhook. Also lists the alert rules, and the webhooks with their state. URLs and secrets of webhooks are never shown.',
    input: f.closed('Which alerts.', {
      limit: f.pageSize({ most: LIMIT_MAX, unlessGiven: LIMIT }),
      after: f.afterLast('alert'),
    }),
    output: AlertList,
    answer: 'A page of alerts.',
    errorField: 'limit',
    commandLimit: LIMIT,
    prints: { columns: ['time', 'type', 'rule', 'deliveries', 'text'], sum: webhooksText },
    async run({ alerts, alertPolicyIfValid }, _, { limit = LIMIT, after }) {
      const before = after === undefined ? null : placeOf(after);
      const { rules, webhooks } = (await alertPolicyIfValid()) ?? NO_ALERTS;
      const recent = await alerts.list({ before: null, limit: STATE_MESSAGES });
      const all = inBatches<AlertMessage>((last, most) => alerts.list({ before: last?.id ?? before, limit: most }));
      const bodyOf = sizedAs(Alert);
      const page = await pageOf(all, limit, (message) => bodyOf(shownMessage(message)));
      return {
        data: page.rows.map(shownMessage),
        hasMore: page.hasMore,
        rules: rules.map((rule) => shownRule(rule, recent)),
        webhooks: webhooks.map((webhook) => shownWebhook(webhook, recent)),
      };
    },
  }),
  operation({
    name: 'alerts test',
    use: 'after you have set up a webhook.',
    example: 'alerts test ops',
    http: 'POST /admin/alerts/test',
    action: 'alerts.test',
    summary: 'Send a test message to webhooks',
    details:
      'Sends a test message to one webhook or to all of them, and returns the result of each. The server tries each webhook once, with the environment variables of the server. The message is then listed among the alerts. `./signalbox alerts test` ends with exit code 2 when a webhook did not accept the message.',
    input: f.closed('The webhook to test.', {
      webhook: f.optional(
        f.inCommand(
          f.orNull(f.text('The name of the webhook.', 'ops'), 'Name of the webhook; null for all webhooks.'),
          {
            isPositional: true,
            help: 'Name of the webhook. Without a name, the command tests all webhooks.',
          },
        ),
      ),
    }),
    output: AlertTest,
    answer: 'The result of each webhook.',
    examples: {
      one: { summary: 'One webhook', value: { webhook: 'ops' } },
      all: { summary: 'All webhooks', value: {} },
    },
    errorField: 'webhook',
    prints: { columns: ['webhook', 'sent', 'problem'] },
    isFinding: ({ data }: { readonly data: readonly { readonly sent: boolean }[] }) => data.some(({ sent }) => !sent),
    async run({ alerts, alertPolicy }, _, { webhook = null }) {
      const results = await alerts.test(testedWebhooks(await alertPolicy(), webhook));
      return { data: results.map((one) => ({ ...one, sent: one.problem === null })) };
    },
  }),
];
