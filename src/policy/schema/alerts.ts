import { type Static, Type } from '@sinclair/typebox';
import type { AlertTrigger, CachedEach, WebhookFormat } from '../../core/policy/alerts.ts';
import {
  boolean,
  closed,
  integer,
  itemName,
  number,
  oneOfExplained,
  optional,
  string,
  VARIABLE_NAME,
} from './parts.ts';

export const WebhookText = closed('A destination to which Signalbox sends alerts by POST.', {
  url_env: string(
    { ...VARIABLE_NAME, example: 'OPS_WEBHOOK_URL' },
    'Name of the environment variable that holds the URL. The URL is a secret, because anyone who knows it can send messages there.',
  ),
  format: oneOfExplained({
    means: {
      signalbox: 'JSON with every figure, signed with HMAC-SHA256.',
      slack: 'The JSON format of Slack’s incoming webhooks, which other services also accept.',
    } satisfies Record<WebhookFormat, string>,
    default: 'signalbox',
    examples: ['slack'],
    description:
      'Format of the messages. `signalbox`: signed JSON with every figure. `slack`: only the text, in the format of Slack’s incoming webhooks.',
  }),
  secret_env: optional.string(
    { ...VARIABLE_NAME, example: 'OPS_WEBHOOK_SECRET' },
    'Name of the environment variable that holds the secret which signs messages, at least 16 characters. Required with `format: signalbox`, and not allowed with `slack`.',
  ),
  allow_private_network: boolean(
    { default: false, example: true },
    'Allows a host on this machine or in a private network. By default Signalbox sends only to public addresses.',
  ),
});

export type TriggerName = AlertTrigger['on'];

export const TRIGGERS: Readonly<Record<TriggerName, string>> = {
  budget_share: 'A budget has spent a share of its limit. One alert for each share in each window.',
  budget_forecast: 'At its current rate a budget will spend more than its limit. One alert in each window.',
  cached_share: 'The share of the input that providers read from their caches is too low.',
  error_rate: 'Too many requests end with an error of Signalbox or a provider.',
  guard_failing: 'A guard fails at every request, for example because its service is down.',
  key_expiry: 'A key is about to expire.',
  key_refused: 'A provider refuses one of its keys.',
  policy_refused: 'An edit of the policy was refused.',
  policy_split: 'Servers that share one database run different policies.',
  provider_down: 'A provider does not answer.',
  slow_answers: 'Answers begin too late.',
};

/** Keys of a rule that only some triggers have. */
export const TRIGGER_KEYS: Readonly<Record<TriggerName, readonly string[]>> = {
  budget_share: ['at', 'budgets'],
  budget_forecast: ['budgets'],
  cached_share: ['below', 'window_minutes', 'each'],
  error_rate: ['above', 'window_minutes'],
  guard_failing: ['after_seconds'],
  key_expiry: ['days'],
  key_refused: [],
  policy_refused: [],
  policy_split: ['after_seconds'],
  provider_down: ['after_seconds'],
  slow_answers: ['above_seconds', 'window_minutes'],
};

const EACH: Readonly<Record<CachedEach, string>> = {
  key: 'Each key of a caller.',
  endpoint: 'Each endpoint; for a provider with several keys, each of them.',
};

export const AlertRuleText = closed('What causes an alert, and where Signalbox sends it.', {
  name: itemName('Name of the rule, in messages. A renamed rule is a new rule, and sends its alerts again.', 'budgets'),
  on: oneOfExplained({
    means: TRIGGERS,
    examples: ['budget_share'],
    description: 'The event that causes an alert. [alerts.md](../operate/alerts.md) explains each event.',
  }),
  to: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    maxItems: 16,
    examples: [['ops']],
    description: 'Names of webhooks.',
  }),
  at: Type.Array(number({ exclusiveMinimum: 0, maximum: 1 }, 'A share of the limit: 0.8 is 80 %.'), {
    minItems: 1,
    maxItems: 16,
    default: [0.8, 1],
    examples: [[0.5, 0.8, 1]],
    description: 'With `budget_share`: the shares of the limit at which an alert is sent, above 0 and at most 1.',
  }),
  budgets: Type.Array(Type.String({ minLength: 1 }), {
    maxItems: 500,
    default: [],
    examples: [['team-month']],
    description:
      'With `budget_share` and `budget_forecast`: names of the budgets to watch, also IDs such as `team-month:cap` for the budgets of teams. Default: all budgets.',
  }),
  below: optional.number(
    { exclusiveMinimum: 0, maximum: 1, example: 0.4 },
    'With `cached_share`, where it is required: the share of input tokens below which an alert is sent, above 0 and at most 1.',
  ),
  above: number(
    { exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.05, example: 0.1 },
    'With `error_rate`: the share of requests that end with an error above which an alert is sent, above 0 and below 1.',
  ),
  above_seconds: number(
    { exclusiveMinimum: 0, maximum: 3_600, default: 10, example: 5 },
    'With `slow_answers`: an alert is sent if one of 10 answers begins after more than this number of seconds.',
  ),
  window_minutes: optional.integer(
    { minimum: 5, maximum: 1_440, example: 60 },
    'With `cached_share`, `error_rate` and `slow_answers`: over how many minutes the figure is computed. Default: 60 with `cached_share`, 5 with the others.',
  ),
  each: Type.Optional(
    oneOfExplained({
      means: EACH,
      examples: ['key'],
      description:
        'With `cached_share`: whose share is compared. Default: the share of all requests together. A server watches the 200 keys and the 200 endpoints with the most input.',
    }),
  ),
  days: Type.Array(integer({ minimum: 1, maximum: 365 }, 'A number of days before the key expires.'), {
    minItems: 1,
    maxItems: 8,
    default: [14, 3, 1],
    examples: [[30, 7, 1]],
    description:
      'With `key_expiry`: how many days before a key expires to send an alert. A key that was valid for fewer days from the start causes no alert.',
  }),
  after_seconds: integer(
    { minimum: 0, maximum: 86_400, default: 60 },
    'With `provider_down`: seconds without an answer after which the alert is sent. With `guard_failing`: seconds in which the guard failed at every request.',
  ),
});
export type AlertRuleText = Static<typeof AlertRuleText>;

/** The section `alerts` without its webhooks and rules, which are checked separately. */
export const AlertMembers = Type.Object(
  {
    webhooks: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    rules: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 100 })),
  },
  { additionalProperties: false },
);

export const AlertsText = closed('Alerts that Signalbox sends to people through webhooks. Default: none.', {
  webhooks: Type.Record(Type.String(), WebhookText, { default: {}, description: 'Name → webhook.' }),
  rules: Type.Array(AlertRuleText, {
    maxItems: 100,
    default: [],
    description: 'Rules that decide which alerts are sent, and where.',
  }),
});
