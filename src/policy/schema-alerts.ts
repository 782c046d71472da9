import { type Static, Type } from '@sinclair/typebox';
import type { AlertTrigger, WebhookFormat } from '../core/alert-policy.ts';
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
} from './schema-parts.ts';

export const WebhookText = closed('A place that alerts are sent to by POST.', {
  url_env: string(
    { ...VARIABLE_NAME, example: 'OPS_WEBHOOK_URL' },
    'Variable with its address, which is a secret: whoever has it can write there.',
  ),
  format: oneOfExplained({
    means: {
      signalbox: 'JSON with every figure, signed by HMAC-SHA256.',
      slack: 'The JSON of an incoming webhook of Slack, which other services read, too.',
    } satisfies Record<WebhookFormat, string>,
    default: 'signalbox',
    examples: ['slack'],
    description:
      '`signalbox`: JSON with every figure, signed. `slack`: the text alone, as incoming webhooks of Slack read it.',
  }),
  secret_env: optional.string(
    { ...VARIABLE_NAME, example: 'OPS_WEBHOOK_SECRET' },
    'Only with `signalbox`, and needed there: variable with the secret that signs messages, at least 16 characters.',
  ),
  allow_private_network: boolean(
    { default: false, example: true },
    'Allows its host to be this machine or in a private network. Otherwise only public addresses are called.',
  ),
});

export type TriggerName = AlertTrigger['on'];

export const TRIGGERS: Readonly<Record<TriggerName, string>> = {
  budget_share: 'A budget has spent a share of its limit, once in each window.',
  budget_forecast: 'At its present pace a budget will spend more than its limit, once in each window.',
  cached_share: 'Providers had less of the input in their caches than usual.',
  key_expiry: 'A key is about to expire.',
  policy_refused: 'An edit of the policy was refused.',
  policy_split: 'Servers at one database run different policies.',
  provider_down: 'A provider does not answer.',
};

/** The keys of a rule that only some triggers have. */
export const TRIGGER_KEYS: Readonly<Record<TriggerName, readonly string[]>> = {
  budget_share: ['at', 'budgets'],
  budget_forecast: ['budgets'],
  cached_share: ['below', 'window_minutes'],
  key_expiry: ['days'],
  policy_refused: [],
  policy_split: ['after_seconds'],
  provider_down: ['after_seconds'],
};

export const AlertRuleText = closed('What people are told of, and where.', {
  name: itemName('Its name, in messages. Under another name it is another rule, and alerts anew.', 'budgets'),
  on: oneOfExplained({
    means: TRIGGERS,
    examples: ['budget_share'],
    description: 'What it watches. [alerts.md](../operate/alerts.md) tells of each.',
  }),
  to: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    maxItems: 16,
    examples: [['ops']],
    description: 'Names of webhooks.',
  }),
  at: Type.Array(number({ exclusiveMinimum: 0, maximum: 1 }, 'Share of the limit: 0.8 is 80 %.'), {
    minItems: 1,
    maxItems: 16,
    default: [0.8, 1],
    examples: [[0.5, 0.8, 1]],
    description: 'With `budget_share`: shares of the limit, above 0 and up to 1.',
  }),
  budgets: Type.Array(Type.String({ minLength: 1 }), {
    maxItems: 500,
    default: [],
    examples: [['team-month']],
    description:
      'With `budget_share` and `budget_forecast`: names of budgets, `team-month` and the like among them. Default: all.',
  }),
  below: optional.number(
    { exclusiveMinimum: 0, maximum: 1, example: 0.4 },
    'Only with `cached_share`, and needed there: share of input tokens, above 0 and up to 1.',
  ),
  window_minutes: integer(
    { minimum: 5, maximum: 1_440, default: 60 },
    'With `cached_share`: how many minutes of input count.',
  ),
  days: Type.Array(integer({ minimum: 1, maximum: 365 }, 'Days before the expiry.'), {
    minItems: 1,
    maxItems: 8,
    default: [14, 3, 1],
    examples: [[30, 7, 1]],
    description: 'With `key_expiry`: days before the expiry. Keys whose whole life is shorter are not named.',
  }),
  after_seconds: integer(
    { minimum: 0, maximum: 86_400, default: 60 },
    'With `provider_down`: seconds without an answer.',
  ),
});
export type AlertRuleText = Static<typeof AlertRuleText>;

/** The section without what is in its members, which are checked one by one. */
export const AlertMembers = Type.Object(
  {
    webhooks: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    rules: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 100 })),
  },
  { additionalProperties: false },
);

export const AlertsText = closed('Messages to people, by webhooks. None by default.', {
  webhooks: Type.Record(Type.String(), WebhookText, { default: {}, description: 'Name → webhook.' }),
  rules: Type.Array(AlertRuleText, { maxItems: 100, default: [], description: 'What people are told of.' }),
});
