import { type TObject, type TSchema, Type, TypeGuard } from '@sinclair/typebox';
import { closed, flag, optional, text, word } from '../../core/define/fields.ts';
import { itemName, VARIABLE_NAME } from '../../core/define/policy-words.ts';
import type { WebhookFormat } from '../../core/policy/alerts.ts';
import { ALERT_EVENTS, type AlertEvent } from '../../core/tables/alerts/index.ts';
import { together } from '../../core/text/text.ts';

export const WebhookText = closed('A destination to which Signalbox sends alerts by POST.', {
  url_env: text(
    'Name of the environment variable that holds the URL. The URL is a secret, because anyone who knows it can send messages there.',
    { ...VARIABLE_NAME, example: 'OPS_WEBHOOK_URL' },
  ),
  format: word(
    {
      signalbox: 'JSON with every figure, signed with HMAC-SHA256.',
      slack: 'The JSON format of Slack’s incoming webhooks, which other services also accept.',
    } satisfies Record<WebhookFormat, string>,
    'Format of the messages. `signalbox`: signed JSON with every figure. `slack`: only the text, in the format of Slack’s incoming webhooks.',
    { default: 'signalbox', example: 'slack' },
  ),
  secret_env: optional(
    text(
      'Name of the environment variable that holds the secret which signs messages, at least 16 characters. Required with `format: signalbox`, and not allowed with `slack`.',
      { ...VARIABLE_NAME, example: 'OPS_WEBHOOK_SECRET' },
    ),
  ),
  allow_private_network: flag(
    'Allows a host on this machine or in a private network. By default Signalbox sends only to public addresses.',
    { default: false, example: true },
  ),
});

/** An event that has a key, with its schema of the key. */
interface KeyOwner {
  readonly on: string;
  readonly schema: TSchema;
}

/** Groups events by what they say of a key. Each group has the names of its events as a text. */
function groupsOf(owners: readonly KeyOwner[], said: (schema: TSchema) => string): (readonly [string, string])[] {
  const groups = Map.groupBy(owners, ({ schema }) => said(schema));
  return [...groups].map(([value, group]) => [together(group.map(({ on }) => `\`${on}\``)), value]);
}

/** Whether a rule must state a key of its event. */
export const isRequired = (schema: TSchema): boolean => !TypeGuard.IsOptional(schema) && schema.default === undefined;

const meaningOf = (schema: TSchema): string => `${schema.description}${isRequired(schema) ? ' Required.' : ''}`;

/** Returns the schema of a key for rules on any event. Its description says what the key means with each event that has it. */
function ruleKey(key: string): TSchema {
  const owners = Object.values(ALERT_EVENTS).flatMap(({ on, keys: { [key]: schema } }) =>
    schema ? [{ on, schema }] : [],
  );
  const { default: usual, ...schema } = owners[0]!.schema;
  const means = groupsOf(owners, meaningOf).map(([on, said]) => `With ${on}: ${said}`);
  const defaults = groupsOf(owners, (one) => JSON.stringify(one.default) ?? '');
  if (defaults.length > 1) means.push(...defaults.map(([on, value]) => `Default with ${on}: ${value}.`));
  const described = { ...schema, description: means.join(' ') };
  return defaults.length > 1 || usual === undefined ? Type.Optional(described) : { ...described, default: usual };
}

/** The names of the keys that only some events have. */
export const EVENT_KEYS: readonly string[] = [
  ...new Set(Object.values(ALERT_EVENTS).flatMap(({ keys }) => Object.keys(keys))),
];

/** The meanings of events, for editors. */
const MEANINGS = Object.fromEntries(Object.values(ALERT_EVENTS).map(({ on, means }) => [on, means])) as Record<
  AlertEvent,
  string
>;

/** The keys that every rule has. */
const RULE_KEYS = {
  name: itemName('Name of the rule, in messages. A renamed rule is a new rule, and sends its alerts again.', 'budgets'),
  on: word(
    MEANINGS,
    'The event that causes an alert. [alerts.md](../operate/alerts.md) explains each event.',
    'budget_share',
  ),
  to: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    maxItems: 16,
    examples: [['ops']],
    description: 'Names of webhooks.',
  }),
};

const ALL_KEYS = { ...RULE_KEYS, ...Object.fromEntries(EVENT_KEYS.map((key) => [key, ruleKey(key)])) };

export const AlertRuleText: TObject<typeof ALL_KEYS> = closed(
  'What causes an alert, and where Signalbox sends it.',
  ALL_KEYS,
);

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
