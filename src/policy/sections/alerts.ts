import { Type } from '@sinclair/typebox';
import { ITEM_NAME } from '../../core/define/policy-words.ts';
import type { AlertPolicy, AlertRule, AlertWebhook } from '../../core/policy/alerts.ts';
import { ALERT_EVENTS, type AlertEvent } from '../../core/tables/alerts/index.ts';
import { BUDGETS as BUDGET_NAMES } from '../../core/tables/alerts/keys.ts';
import { checkValue, validPartsOf } from '../check/check.ts';
import { sectionSubject } from '../check/section-checks.ts';
import { type Environment, PLACEHOLDER } from '../define/environment.ts';
import { type DraftContext, defineSection, type KeyGuards, ORDINARY } from '../define/section.ts';
import { OF_WEBHOOK, reviewPrivateHost } from '../providers/addresses.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { listNames } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { type Entry, entryOf, placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { AlertMembers, AlertRuleText, AlertsText, EVENT_KEYS, isRequired, WebhookText } from './alerts-schema.ts';
import { BUDGETS } from './budgets.ts';

const NAME = new RegExp(ITEM_NAME.pattern);
const RuleBudgets = Type.Object({ budgets: BUDGET_NAMES });

const GUARDS: KeyGuards<(typeof AlertsText)['static']> = {
  webhooks: 'it decides who receives alerts',
  rules: ORDINARY,
};

/** The section `alerts`. */
export const ALERTS = defineSection({
  name: 'alerts',
  text: AlertsText,
  guard: GUARDS,
  page: ['Run', '../operate/alerts.md'],
  draft: draftAlerts,
  *compile(alerts, { env, report }): Generator<undefined, AlertPolicy> {
    yield;
    reviewWebhooks(alerts, env, report);
    return alerts;
  },
});

function draftAlerts(context: DraftContext): AlertPolicy {
  const { report } = context;
  const budgets = new Set(context.of(BUDGETS).map(({ name }) => name));
  const subject = sectionSubject('alerts', context);
  const { tree } = subject;
  checkValue(AlertMembers, subject, report);
  const stated = valueAt(tree, 'webhooks');
  const entries = stated?.kind === 'map' ? stated.entries : [];
  const webhooks = entries.flatMap((entry) => webhookOf(entry, report) ?? []);
  const names: RuleNames = { webhooks: new Set(entries.map(({ key }) => key)), budgets };
  const places = new Map<string, SourceSpan>();
  const list = valueAt(tree, 'rules');
  const items = list?.kind === 'list' ? list.items : [];
  return { webhooks, rules: items.flatMap((item, at) => ruleOf(item, at, names, places, report) ?? []) };
}

/** Returns null if a required key is wrong. The error about the wrong key was already reported. */
function webhookOf({ key, place, value: tree }: Entry, report: Report): AlertWebhook | null {
  const path = `alerts.webhooks.${key}`;
  checkValue(WebhookText, { path, tree, place }, report);
  if (!NAME.test(key)) report.add('bad-name', place, `\`${key}\` cannot be a name`, { expected: ITEM_NAME.expected });
  const {
    url_env: urlEnv,
    format,
    secret_env: secretEnv = null,
    allow_private_network,
  } = validPartsOf(WebhookText, tree);
  if (format === 'signalbox' && !entryOf(tree, 'secret_env')) {
    report.add('missing-key', place, `\`${path}\` needs the key \`secret_env\` with \`format: signalbox\``, {
      hint: 'messages in this format are signed: name the environment variable that holds a secret of yours; receivers use it to check the signature',
    });
  }
  const secret = entryOf(tree, 'secret_env');
  if (format === 'slack' && secret) {
    report.add('conflicting-keys', secret.place, `\`${path}.secret_env\` works only with \`format: signalbox\``, {
      hint: 'Slack checks no signature: remove `secret_env`; the URL itself is the secret',
    });
  }
  if (urlEnv === undefined || format === undefined) return null;
  return { name: key, place, urlEnv, secretEnv, format, allowPrivate: allow_private_network ?? false };
}

/** Names of budgets of the organization, teams, users and keys. The policy does not state budgets with such names. */
const OF_LEVEL = /^(?:organization|team|user|key)-(?:day|week|month|total)(?:[@:].*)?$/;

interface RuleNames {
  readonly webhooks: ReadonlySet<string>;
  readonly budgets: ReadonlySet<string>;
}

/** Returns null if a required key is wrong. The error about the wrong key was already reported. */
function ruleOf(
  tree: Tree,
  position: number,
  names: RuleNames,
  places: Map<string, SourceSpan>,
  report: Report,
): AlertRule | null {
  const { name, on, to = [] } = validPartsOf(AlertRuleText, tree);
  if (name !== undefined) report.isFirst(name, placeAt(tree, 'name'), places, `alerts.rules.${name}`);
  const path = name === undefined ? `alerts.rules[${position}]` : `alerts.rules.${name}`;
  checkValue(AlertRuleText, { path, tree, place: tree.place }, report);
  to.forEach((one, at) => {
    if (!names.webhooks.has(one)) report.addUnknown('webhook', one, names.webhooks, placeAt(tree, 'to', at));
  });
  reviewBudgets(names, tree, report);
  if (on === undefined) return null;
  reviewKeys(on, tree, path, report);
  const trigger = ALERT_EVENTS[on].parse(validPartsOf(Type.Object(ALERT_EVENTS[on].keys), tree));
  return trigger && name !== undefined ? { name, to, ...trigger } : null;
}

/** Reports unknown budgets, also if another key of the rule is wrong. */
function reviewBudgets(names: RuleNames, tree: Tree, report: Report): void {
  const { budgets = [] } = validPartsOf(RuleBudgets, tree);
  budgets.forEach((one, at) => {
    if (names.budgets.has(one) || OF_LEVEL.test(one)) return;
    report.addUnknown('budget', one, names.budgets, placeAt(tree, 'budgets', at));
  });
}

/** Reports keys of a rule that belong to other events, and required keys that are missing. */
function reviewKeys(on: AlertEvent, tree: Tree, path: string, report: Report): void {
  const { keys } = ALERT_EVENTS[on];
  for (const key of EVENT_KEYS) {
    const foreign = keys[key] ? undefined : entryOf(tree, key);
    if (!foreign) continue;
    const owners = Object.values(ALERT_EVENTS).filter((one) => Object.hasOwn(one.keys, key));
    const message = `\`${path}.${key}\` works only with ${listNames(owners.map((one) => one.on))}, but this rule is on \`${on}\``;
    const own = Object.keys(keys);
    report.add('conflicting-keys', foreign.place, message, {
      expected: own.length === 0 ? 'no keys other than `name`, `on` and `to`' : `only ${listNames(own)}`,
    });
  }
  for (const [key, schema] of Object.entries(keys)) {
    if (!isRequired(schema) || entryOf(tree, key)) continue;
    report.add('missing-key', placeAt(tree, 'on'), `\`${path}\` needs the key \`${key}\` with \`on: ${on}\``, {
      hint: `\`${key}\` is ${schema.description}`,
    });
  }
}

/** The fewest characters of a signing secret. */
const SECRET_MIN = 16;

/**
 * Reports environment variables of webhooks that are not set or hold an unusable value. Messages about these variables never show a value.
 */
function reviewWebhooks({ webhooks }: AlertPolicy, env: Environment, report: Report): void {
  for (const { name, place, urlEnv, secretEnv, allowPrivate } of webhooks) {
    const [url, secret] = [urlEnv, secretEnv].map((variable) => variable && env.get(variable)?.trim());
    const unset = [...(url ? [] : [urlEnv]), ...(secretEnv && !secret ? [secretEnv] : [])];
    if (unset.length > 0) {
      report.add(
        'webhook-unset',
        place,
        `webhook \`${name}\` cannot send, because ${listNames(unset)} ${unset.length > 1 ? 'are' : 'is'} not set in the environment`,
        {
          hint: `set ${unset.length > 1 ? 'them' : 'it'}, or \`${unset[0]}_FILE\` to the path of a file with the value`,
        },
      );
    }
    if (url && !isWebAddress(url)) {
      report.add(
        'bad-environment',
        place,
        `the environment variable \`${urlEnv}\` of webhook \`${name}\` holds no URL`,
        {
          expected: 'https:// or http:// with a host, without user and password',
        },
      );
    }
    if (url && isWebAddress(url) && !allowPrivate && url !== PLACEHOLDER) {
      reviewPrivateHost(url, `the address in \`${urlEnv}\` of webhook \`${name}\``, place, OF_WEBHOOK, report);
    }
    if (secret && secret.length < SECRET_MIN) {
      report.add(
        'bad-environment',
        place,
        `the environment variable \`${secretEnv}\` of webhook \`${name}\` holds a secret that is too short`,
        {
          expected: `at least ${SECRET_MIN} characters, such as \`openssl rand -hex 32\` prints`,
        },
      );
    }
  }
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
