import { Type } from '@sinclair/typebox';
import type { AlertPolicy, AlertRule, AlertWebhook } from '../core/alert-policy.ts';
import { refuse } from '../core/errors.ts';
import { parseId } from '../core/id.ts';
import { TRIGGERS } from '../policy/schema-alerts.ts';
import type { AlertMessage, AlertTable } from '../store/alerts.ts';
import { inBatches } from '../store/batches.ts';
import { alertId, alertText } from './alerts/message.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import { pageOf } from './use-cases/pages.ts';
import { snakeKeys } from './use-cases/snake-keys.ts';

/** The services that operations on alerts use. */
export interface AlertServices {
  readonly alerts: Pick<AlertTable, 'list'> & {
    /** Sends a message to each webhook, once. @returns why it could not be sent; null where it was. Rejects with StoreError. */
    test(
      webhooks: readonly AlertWebhook[],
    ): Promise<readonly { readonly webhook: string; readonly problem: string | null }[]>;
  };
  /** The rules and webhooks of the active policy, or of the policy of a folder. */
  alertPolicy(): AlertPolicy | Promise<AlertPolicy>;
}
const operation = operationsOn<AlertServices>();

/** Messages by which the state of webhooks is reported. */
const STATE_MESSAGES = 200;
const LIMIT = 20;
const LIMIT_MAX = 200;

const WATCHED = [...Object.keys(TRIGGERS), 'test'];
const on = f.word(WATCHED, 'What the rule watches.', 'budget_share');
const problem = f.orNull(f.text('Why the last try failed; null where it did not.'));

/** `budgets ops sent` */
interface Delivery {
  readonly webhook: string;
  readonly state: string;
  readonly tries: number;
}
const deliveryText = ({ webhook, state, tries }: Delivery): string =>
  `${webhook} ${state}${tries > 1 ? ` after ${tries} tries` : ''}`;

const Alert = f.named('Alert', 'A message to people, and its way to each webhook.', {
  id: f.text('Names the alert. It is the same in each try.', 'alert_0a4x1wm3zk0'),
  time: f.moment('When it was made.'),
  type: f.word(['alert', 'recovery', 'test'], '`recovery`: what it tells of is over.'),
  rule: f.text('Name of the rule; empty for a test.', 'budgets'),
  on,
  text: f.inCommand(
    f.text(
      'The whole text, as people get it.',
      'Signalbox, budgets: Budget team-month of search has spent 82 % of its 50,000 Credits.',
    ),
    { text: (lines: string) => lines.replaceAll('\n', ' ') },
  ),
  subjects: f.list(
    f.mapOf(
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
      'The names and figures of one subject.',
    ),
    'What it is about, 20 at most.',
    {
      examples: [[{ budget: 'team-month', subject: 'search', spent_credits: 41_000, limit_credits: 50_000, at: 0.8 }]],
    },
  ),
  more: f.count('Subjects beyond those.', 0),
  deliveries: f.list(
    f.inCommand(
      f.shape('A webhook.', {
        webhook: f.text('Name of the webhook.', 'ops'),
        state: f.word(['waiting', 'sent', 'failed'], '`waiting`: for its first or next try.', 'sent'),
        tries: f.count('Tries that have ended; five at most.', 1),
        problem,
        tried_at: f.orNull(f.moment('The end of the last try; null before.', '2026-11-20T09:30:01.000Z')),
        next_try_at: f.orNull(f.moment('When the next try begins; null for none.')),
      }),
      { text: deliveryText },
    ),
    'Its way to each webhook.',
  ),
});

export const AlertList = f.named(
  'AlertList',
  'Alerts, the rules that they come from, and the webhooks that they go to.',
  {
    object: f.always('list'),
    data: f.list(Alert, 'Newest first.'),
    has_more: f.flag('Whether there are older ones. To get them, repeat the request with `after`.', false),
    rules: f.list(
      f.shape('A rule.', {
        name: f.text('Its name.', 'budgets'),
        on,
        to: f.list(Type.String(), 'Names of webhooks.', { examples: [['ops']] }),
        terms: f.mapOf(Type.Unknown(), 'Its terms.', { at: [0.8, 1], budgets: [] }),
        last_alert_at: f.orNull(
          f.moment('When it told of something last, of the last 200 alerts.', '2026-11-20T09:30:00.000Z'),
        ),
      }),
      'The rules of the policy in force.',
    ),
    webhooks: f.list(
      f.shape('A webhook.', {
        name: f.text('Its name.', 'ops'),
        format: f.word(['signalbox', 'slack'], 'The form of its messages.', 'signalbox'),
        url_env: f.text('The variable with its address.', 'OPS_WEBHOOK_URL'),
        secret_env: f.orNull(
          f.text('The variable with the secret that signs; null for a form without.', 'OPS_WEBHOOK_SECRET'),
        ),
        state: f.word(
          ['untried', 'ok', 'failing'],
          'By the last try of the last 200 alerts: `untried` where there is none, `failing` where it failed.',
          'ok',
        ),
        last_sent_at: f.orNull(f.moment('When a message arrived last, of those.', '2026-11-20T09:30:01.000Z')),
        problem,
      }),
      'The webhooks of the policy in force. Addresses and secrets are never shown.',
    ),
  },
);

export const AlertTest = f.named('AlertTest', 'The result of a test.', {
  object: f.always('list'),
  data: f.list(
    f.shape('The result at one webhook.', {
      webhook: f.text('Name of the webhook.', 'ops'),
      sent: f.flag('Whether it answered with a 2xx.', false),
      problem: f.orNull(f.text('Why it was not sent; null where it was.', 'it answered with 500')),
    }),
    'In the order of the policy.',
  ),
});

const shownMessage = ({ id, time, content, deliveries }: AlertMessage) => ({
  ...content,
  ...{ id: alertId(id), time, text: alertText(content) },
  deliveries: deliveries.map(({ nextAt, ...delivery }) => ({
    ...delivery,
    nextTryAt: delivery.state === 'waiting' ? nextAt : null,
  })),
});

function shownRule({ name, on: watched, to, ...terms }: AlertRule, recent: readonly AlertMessage[]) {
  const last = recent.find(({ content }) => content.rule === name);
  return { name, on: watched, to, terms: snakeKeys(terms), lastAlertAt: last?.time ?? null };
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

/** The webhooks that a test is for. @param name null for all. @throws SignalboxError */
function testedWebhooks({ webhooks }: AlertPolicy, name: string | null): readonly AlertWebhook[] {
  const found = webhooks.filter((webhook) => name === null || webhook.name === name);
  if (found.length > 0) return found;
  const message =
    name === null ? 'The policy has no webhook in `alerts.webhooks`.' : `The policy has no webhook \`${name}\`.`;
  return refuse('webhook', message);
}

const placeOf = (text: string): number =>
  parseId('alert_', text) ?? refuse('after', '`after` must be the ID of an alert.');

interface PrintedList {
  readonly webhooks: readonly { readonly name: string; readonly state: string; readonly problem: string | null }[];
}
/** The state of the webhooks, which follows the table of alerts. */
const webhooksText = ({ webhooks }: PrintedList): string =>
  webhooks.length === 0
    ? 'The policy has no webhook: alerts.webhooks is empty.\n'
    : webhooks.map(({ name, state, problem: why }) => `Webhook ${name}: ${state}${why ? `, ${why}` : ''}.\n`).join('');

/** `/admin/alerts` and `signalbox alerts`: what people were sent, and a message to try a webhook. */
export const ALERT_OPERATIONS = [
  operation({
    name: 'alerts list',
    http: 'GET /admin/alerts',
    action: 'alerts.read',
    summary: 'Alerts, their rules and webhooks',
    details:
      'Returns the alerts that people were sent, newest first, with the way of each to its webhooks; the rules; and the webhooks, with those that fail. Addresses and secrets are never shown.',
    input: f.body('Which alerts.', {
      limit: f.pageSize({ most: LIMIT_MAX, unlessGiven: LIMIT }),
      after: f.afterLast('alert'),
    }),
    output: AlertList,
    answer: 'A page of alerts.',
    errorField: 'limit',
    commandLimit: LIMIT,
    prints: { columns: ['time', 'type', 'rule', 'deliveries', 'text'], sum: webhooksText },
    async run({ alerts, alertPolicy }, _, { limit = LIMIT, after }) {
      const before = after === undefined ? null : placeOf(after);
      const { rules, webhooks } = await alertPolicy();
      const recent = await alerts.list({ before: null, limit: STATE_MESSAGES });
      const all = inBatches<AlertMessage>((last, most) => alerts.list({ before: last?.id ?? before, limit: most }));
      const bodyOf = f.sizedAs(Alert);
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
    http: 'POST /admin/alerts/test',
    action: 'alerts.test',
    summary: 'Send a test to webhooks',
    details:
      'Sends a test message to one webhook or to all of them, one try each, with the variables of this server, and returns the result of each. The message is listed among the alerts. The exit code of `./signalbox alerts test` is 2 when a webhook could not be reached.',
    input: f.body('The webhook to test.', {
      webhook: f.optional(
        f.inCommand(f.orNull(f.text('Its name.', 'ops'), 'Name of the webhook; null for all.'), {
          isPositional: true,
          help: 'Name of the webhook; all unless stated.',
        }),
      ),
    }),
    output: AlertTest,
    answer: 'The result at each webhook.',
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
