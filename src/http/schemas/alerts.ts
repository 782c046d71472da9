import { type Static, Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';
import { TRIGGERS } from '../../policy/schema-alerts.ts';

const WATCHED = [...Object.keys(TRIGGERS), 'test'];
const PROBLEM = 'it answered with 500';

const Alert = field.named('Alert', 'A message to people, and its way to each webhook.', {
  id: field.text('Names the alert. It is the same in each try.', 'alert_0a4x1wm3zk0'),
  time: field.moment('When it was made.'),
  type: field.word(['alert', 'recovery', 'test'], '`recovery`: what it tells of is over.'),
  rule: field.text('Name of the rule; empty for a test.', 'budgets'),
  on: field.word(WATCHED, 'What the rule watches.', 'budget_share'),
  text: field.text(
    'The whole text, as people get it.',
    'Signalbox, budgets: Budget team-month of search has spent 82 % of its 50,000 Credits.',
  ),
  subjects: field.arrayOf(
    field.mapOf(
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
      'The names and figures of one subject.',
    ),
    'What it is about, 20 at most.',
    [{ budget: 'team-month', subject: 'search', spent_credits: 41_000, limit_credits: 50_000, at: 0.8 }],
  ),
  more: field.count('Subjects beyond those.', 0),
  deliveries: field.rows('Its way to each webhook.', {
    webhook: field.text('Name of the webhook.', 'ops'),
    state: field.word(['waiting', 'sent', 'failed'], '`waiting`: for its first or next try.', 'sent'),
    tries: field.count('Tries that have ended; five at most.', 1),
    problem: field.textOrNull('Why the last try failed; null where it did not.'),
    tried_at: field.momentOrNull('The end of the last try; null before.', '2026-11-20T09:30:01.000Z'),
    next_try_at: field.momentOrNull('When the next try begins; null for none.'),
  }),
});

export const AlertList = field.named(
  'AlertList',
  'Alerts, the rules that they come from, and the webhooks that they go to.',
  {
    ...field.listOf(Alert, 'Newest first.'),
    has_more: field.flag('Whether there are older ones. To get them, repeat the request with `after`.', false),
    rules: field.rows('The rules of the policy in force.', {
      name: field.text('Its name.', 'budgets'),
      on: field.word(WATCHED, 'What it watches.', 'budget_share'),
      to: field.textList('Names of webhooks.', ['ops']),
      terms: field.mapOf(Type.Unknown(), 'Its terms.', { at: [0.8, 1], budgets: [] }),
      last_alert_at: field.momentOrNull(
        'When it told of something last, of the last 200 alerts.',
        '2026-11-20T09:30:00.000Z',
      ),
    }),
    webhooks: field.rows('The webhooks of the policy in force. Addresses and secrets are never shown.', {
      name: field.text('Its name.', 'ops'),
      format: field.word(['signalbox', 'slack'], 'The form of its messages.', 'signalbox'),
      url_env: field.text('The variable with its address.', 'OPS_WEBHOOK_URL'),
      secret_env: field.textOrNull(
        'The variable with the secret that signs; null for a form without.',
        'OPS_WEBHOOK_SECRET',
      ),
      state: field.word(['untried', 'ok', 'failing'], 'By the last try of the last 200 alerts.', 'ok'),
      last_sent_at: field.momentOrNull('When a message arrived last, of those.', '2026-11-20T09:30:01.000Z'),
      problem: field.textOrNull('Why the last try failed; null where it did not.'),
    }),
  },
);

export const AlertTestRequest = field.partialBody('The webhook to test.', {
  webhook: field.orNull(Type.String({ examples: ['ops'] }), 'Name of the webhook; null for all.'),
});
export type AlertTestRequest = Static<typeof AlertTestRequest>;

export const AlertTest = field.named(
  'AlertTest',
  'The result of a test.',
  field.listOf(
    field.shape('The result at one webhook.', {
      webhook: field.text('Name of the webhook.', 'ops'),
      sent: field.flag('Whether it answered with a 2xx.', false),
      problem: field.textOrNull('Why it was not sent; null where it was.', PROBLEM),
    }),
    'In the order of the policy.',
  ),
);
