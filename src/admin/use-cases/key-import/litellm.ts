import { NO_LIMITS, statedLimits } from '../../../access/terms.ts';
import { windowAt } from '../../../core/accounting/window.ts';
import { isObject, objectOf } from '../../../core/json/object.ts';
import { toMicrocredits } from '../../../core/money/amount.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { type Decimal, parseDecimal } from '../../../core/money/decimal.ts';
import type { KeyBudget } from '../../../core/people/caller.ts';
import {
  type ForeignKey,
  hashIn,
  hashOfPlain,
  momentIn,
  nextQuarter,
  type ReadingTerms,
  unusable,
} from './foreign-key.ts';

/** This file reads keys of LiteLLM: rows of `/key/list?return_full_object=true` and of its table `LiteLLM_VerificationToken` (1.110.2). */

export type LitellmRow = Readonly<Record<string, unknown>>;

/** Restrictions that Signalbox does not have for one key. Without them the key could do more, so a key that has one is not imported. */
const RESTRICTIONS: Readonly<Record<string, string>> = {
  permissions: 'Signalbox has no such permissions.',
  model_max_budget: 'A budget of a key counts all models.',
  budget_limits: 'Signalbox does not read several budgets of a key.',
  budget_id: 'Its limits are in the table of budgets. State them at the key.',
  tpd_limit: 'Signalbox has no limit of tokens for a day.',
  policies: 'The guards of a policy apply to all keys.',
  guardrails: 'The guards of a policy apply to all keys.',
};
/** The same in `metadata`. */
const METADATA_RESTRICTIONS: ReadonlySet<string> = new Set([
  'guardrails',
  'model_rpm_limit',
  'model_tpm_limit',
  'policies',
]);
/** Groups of routes that contain everything that an imported key may do. */
const ALL_ROUTES: ReadonlySet<unknown> = new Set(['llm_api_routes', 'openai_routes', '*']);

/** Settings without a counterpart. The key works without them, and can do no more than before. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  aliases: 'Signalbox has no aliases of one key; add the names to the models of the policy',
  config: 'Signalbox has no settings of this kind',
  router_settings: 'the policy decides how requests are routed',
  budget_fallbacks: 'the budget of a key can have the action downgrade',
  allowed_cache_controls: 'the policy decides about the cache',
  access_group_ids: 'Signalbox has no access groups',
  object_permission: 'Signalbox serves no such objects',
  object_permission_id: 'Signalbox serves no such objects',
  agent_id: 'Signalbox has no agents of this kind',
  project_id: 'Signalbox has no projects; use a label',
  organization_id: 'its limits do not come along; use the organization of Signalbox',
  org_id: 'its limits do not come along; use the organization of Signalbox',
  auto_rotate: 'Signalbox rotates keys with `keys rotate`',
};

/** The team of the keys that LiteLLM makes for logins to its own dashboard. */
const DASHBOARD_TEAM = 'litellm-dashboard';
/** The user whom LiteLLM gives to everything that its master key makes. */
const DEFAULT_USER = 'default_user_id';
/** The name under which LiteLLM books its master key. */
const MASTER_KEY = 'litellm_proxy_master_key';

/** The name of a row, for errors. */
export const litellmName = ({ key_alias: alias, key_name: name }: LitellmRow): string =>
  textOf(alias) ?? textOf(name) ?? '';

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Reads a row. @throws UnusableRow */
export function litellmKey(row: LitellmRow, at: string, terms: ReadingTerms): ForeignKey {
  const token = textOf(row.token);
  if (token === null) return unusable('The row has no `token`.');
  if (row.team_id === DASHBOARD_TEAM) unusable('LiteLLM made the key for a login to its dashboard.');
  if (token === MASTER_KEY || row.key_alias === MASTER_KEY || row.user_role === 'proxy_admin')
    unusable('The key administers LiteLLM. Create keys for administrators in Signalbox.');
  for (const [field, reason] of Object.entries(RESTRICTIONS)) {
    if (!isEmpty(valueIn(row[field]))) unusable(restricted(field, reason));
  }
  const routes = listIn('allowed_routes', row.allowed_routes);
  if (routes.length > 0 && !routes.some((route) => ALL_ROUTES.has(route)))
    unusable(restricted('allowed_routes', 'Scopes of a key decide which operations it may use.'));
  const { labels, leftOut } = labelsOf(row);
  const models = modelsOf(row);
  const user = textOf(row.user_id);
  return {
    at,
    hash: token.startsWith('sk-') ? hashOfPlain(token) : (hashIn(token) ?? unusable('`token` is no SHA-256.')),
    terms: {
      name: litellmName(row),
      models,
      labels,
      budgets: budgetsOf(row, terms),
      limits: statedLimits({
        ...NO_LIMITS,
        requestsPerMinute: numberOf('rpm_limit', row),
        tokensPerMinute: numberOf('tpm_limit', row),
        concurrentStreams: numberOf('max_parallel_requests', row),
      }),
      expiresAt: momentOf('expires', row),
    },
    team: textOf(row.team_id),
    user: user === DEFAULT_USER ? null : user,
    isSuspended: flagOf('blocked', row),
    leftOut: [
      ...Object.entries(LEFT_OUT).flatMap(([field, reason]) =>
        isEmpty(valueIn(row[field])) ? [] : [`\`${field}\`: ${reason}`],
      ),
      ...leftOut,
    ],
  };
}

const restricted = (field: string, reason: string) =>
  `\`${field}\` limits the key. ${reason} Remove it from the file to import the key without this limit.`;

/** Lengths of windows, in seconds, by their unit. LiteLLM also has months, which begin on the first day of a month in UTC. */
const UNIT_S: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
const DURATION_WORDS: Readonly<Record<string, string>> = { hourly: '1h', daily: '24h', weekly: '7d', monthly: '30d' };

/**
 * The budget of a row. Its windows begin at `budget_reset_at`, as in LiteLLM. The spend of the row is the opening of its window: LiteLLM resets
 * the spend late, so it may be of a window that is over, and then it does not count.
 */
function budgetsOf(row: LitellmRow, { usdPerCredit }: ReadingTerms): readonly KeyBudget[] {
  const limit = amountOf('max_budget', row, usdPerCredit);
  if (limit === null) return [];
  const windows = windowsOf(row);
  const spent = amountOf('spend', row, usdPerCredit) ?? 0;
  const { until, ...window } = windows;
  return [{ limit, timeZone: 'UTC', onExhausted: 'cap', ...window, ...(spent > 0 && { opening: { spent, until } }) }];
}

type Windows = Pick<KeyBudget, 'window' | 'every'> & { readonly until: number | null };

function windowsOf(row: LitellmRow): Windows {
  const stated = textOf(row.budget_duration);
  if (stated === null) return { window: 'total', until: null };
  const reset = momentOf('budget_reset_at', row);
  const duration = DURATION_WORDS[stated.trim().toLowerCase()] ?? stated;
  if (reset === null) {
    return unusable(
      '`budget_reset_at` is missing, so the time at which the budget begins again is unknown. State it in the file.',
    );
  }
  if (duration === '1mo') return monthly(reset);
  const [, count, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(duration) ?? [];
  const seconds = Number(count) * (UNIT_S[unit] ?? 0);
  if (!(seconds > 0)) return unusable(restricted('budget_duration', `Signalbox has no windows of ${stated}.`));
  const from = nextQuarter(reset);
  return { window: 'every', every: { seconds, from }, until: from };
}

function monthly(reset: number): Windows {
  if (windowAt('month', 'UTC', reset).starts === reset) return { window: 'month', until: reset };
  return unusable('`budget_reset_at` is not the first day of a month. State `budget_duration` in days.');
}

function amountOf(field: string, row: LitellmRow, usdPerCredit: Decimal | null): Microcredits | null {
  const value = row[field];
  if (value === null || value === undefined || value === '') return null;
  const number = Number(value);
  if (typeof value === 'object' || !Number.isFinite(number) || number < 0)
    return unusable(`\`${field}\` takes an amount of USD.`);
  const decimal = parseDecimal(number.toFixed(12));
  const amount = decimal && toMicrocredits({ value: decimal, unit: 'USD' }, { bare: 'USD', usdPerCredit });
  if (typeof amount === 'number') return amount;
  return unusable(`\`${field}\` ${amount?.problem ?? 'takes an amount of USD.'}`);
}

function modelsOf(row: LitellmRow): readonly string[] | null {
  const models = listIn('models', row.models);
  if (models.includes('no-default-models')) unusable('`models` allows no model.');
  const isAll = models.length === 0 || models.some((model) => ALL_MODELS.has(model));
  if (isAll) return null;
  const pattern = models.find((model) => model.includes('*'));
  if (pattern !== undefined)
    unusable(`\`models\` has the pattern "${pattern}". A key lists the IDs of models: list them in the file.`);
  return models;
}
/** `all-team-models` allows the models of the team, which apply to every key of a team in Signalbox, too. */
const ALL_MODELS: ReadonlySet<string> = new Set(['*', 'all-proxy-models', 'all-team-models']);

/** Texts, numbers and flags of `metadata`, and the tags, become labels. */
function labelsOf(
  row: LitellmRow,
): Pick<ForeignKey, 'leftOut'> & { readonly labels: Readonly<Record<string, string>> } {
  const metadata = objectOf(valueIn(row.metadata));
  const labels: Record<string, string> = {};
  const leftOut: string[] = [];
  for (const [name, value] of Object.entries(metadata)) {
    if (isEmpty(value) || name === 'tags') continue;
    if (METADATA_RESTRICTIONS.has(name))
      unusable(restricted(`metadata.${name}`, 'Signalbox has no such limit of a key.'));
    if (typeof value === 'object') leftOut.push(`\`metadata.${name}\`: a label is one text`);
    else labels[name] = String(value);
  }
  const tags = [...listIn('tags', row.tags), ...listIn('metadata.tags', metadata.tags)];
  return { labels: tags.length === 0 ? labels : { ...labels, tags: [...new Set(tags)].join(',') }, leftOut };
}

function numberOf(field: string, row: LitellmRow): number | null {
  const value = valueIn(row[field]);
  if (value === null || value === undefined || value === '') return null;
  const number = Number(value);
  return Number.isSafeInteger(number) && typeof value !== 'object'
    ? number
    : unusable(`\`${field}\` takes a whole number.`);
}

function momentOf(field: string, row: LitellmRow): number | null {
  const text = textOf(row[field]);
  return text === null ? null : (momentIn(text) ?? unusable(`\`${field}\` is no moment.`));
}

function flagOf(field: string, row: LitellmRow): boolean {
  const value = row[field];
  if ([true, 't', 'true'].includes(value as string)) return true;
  return isEmpty(value) || value === 'f' || value === 'false' ? false : unusable(`\`${field}\` takes true or false.`);
}

/** A value of a CSV export: JSON as a text. */
function valueIn(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A list of texts, also in the form in which PostgreSQL exports it: `{gpt-4,"a b"}`. */
function listIn(field: string, given: unknown): readonly string[] {
  const value = valueIn(given);
  if (isEmpty(value)) return [];
  if (Array.isArray(value)) {
    return value.map((one: unknown) =>
      typeof one === 'string' ? one : unusable(`\`${field}\` takes a list of texts.`),
    );
  }
  const [, inner] = /^\{(.*)\}$/s.exec(String(value)) ?? [];
  if (inner === undefined || isObject(value)) return unusable(`\`${field}\` takes a list of texts.`);
  return [...inner.matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)].map(
    ([, quoted, plain = '']) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain,
  );
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  value === '{}' ||
  (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);
