import { type Decimal, plainText, times, toNumber } from '../../core/decimal.ts';
import { block, exact, type Field, type FieldBlock, field, isOneOf } from '../emit.ts';
import { decimalOf, windowOf } from './amounts.ts';
import { asName, type ImportContext, itemsOf, mapOf } from './context.ts';
import type { Deployment } from './entries.ts';
import type { LitellmSettings } from './fallbacks.ts';
import { TakenNames } from './names.ts';
import { type ConfigNode, type MapNode, scalarText, valueAt } from './tree.ts';

/** Every written policy defines a Credit as 0.001 USD. */
const CREDITS_PER_USD = 1000n;
const CREDITS_MAX = 1_000_000_000;

/** The sections of limits.yaml. */
export interface ImportedLimits {
  readonly budgets: readonly FieldBlock[];
  readonly rateLimits: readonly FieldBlock[];
}

/** A budget of the configuration. */
interface BudgetSource {
  readonly name: string;
  readonly limit: ConfigNode | undefined;
  readonly duration: ConfigNode | undefined;
  readonly each?: string;
  readonly match?: string;
  /** How the meaning changes, apart from the window; empty if it does not. */
  readonly differs: string;
  readonly comment: string;
}

/**
 * Reads every budget and rate limit.
 * @param namesOf the selectors and aliases under which callers request a group
 */
export function readLimits(
  { library: settings }: LitellmSettings,
  deployments: readonly Deployment[],
  namesOf: (group: string) => readonly string[],
  context: ImportContext,
): ImportedLimits {
  const budgets = [
    ...globalBudget(settings, context),
    ...userBudget(settings, context),
    ...teamBudgets(settings, context),
    ...tagBudgets(settings, context),
    ...deploymentBudgets(deployments, namesOf, context),
  ];
  const { budget, rateLimits } = keyLimits(settings, context);
  return { budgets: unique([...budgets, ...budget]), rateLimits };
}

/** The limit and the duration of a budget, by their usual keys. */
const amountsIn = (owner: ConfigNode | null | undefined) => ({
  limit: valueAt(owner, 'max_budget'),
  duration: valueAt(owner, 'budget_duration'),
});

function globalBudget(settings: MapNode | null, context: ImportContext): FieldBlock[] {
  const { limit, duration } = amountsIn(settings);
  if (decimalOf(limit)?.digits === 0n) {
    context.outcomes.leftOut(limit, 'LiteLLM treats 0 as no budget');
    context.outcomes.leftOut(duration, 'its budget is 0, so there is none');
    return [];
  }
  return budgetOf(context, {
    name: 'everybody',
    limit,
    duration,
    differs: '',
    comment: 'litellm_settings.max_budget: the spend of all keys together',
  });
}

function budgetOf(
  { outcomes }: ImportContext,
  { name, limit, duration, each, match, differs, comment }: BudgetSource,
): FieldBlock[] {
  if (!limit) return outcomes.leftOut(duration, 'its budget is not stated') ?? [];
  const usd = decimalOf(limit);
  if (!usd || usd.digits < 0n || toNumber(usd) * Number(CREDITS_PER_USD) > CREDITS_MAX) {
    outcomes.problem(limit, 'it must be an amount of USD, such as 100');
    outcomes.leftOut(duration, 'its budget could not be read');
    return [];
  }
  const windowed = windowOf(scalarText(duration));
  if (!windowed) {
    if (duration) outcomes.problem(duration, 'it must be a duration such as 30s, 10m, 24h, 30d or 1mo');
    outcomes.leftOut(limit, 'its duration could not be read');
    return [];
  }
  const to = ['budgets', name];
  const scaled = times(usd, CREDITS_PER_USD);
  const credits = windowed.share < 1 ? shareOf(scaled, windowed.share) : scaled;
  const note = [differs, windowed.note].filter((one) => one !== '').join('; ');
  outcomes.approximated(limit, [...to, 'limit_credits'], `USD, now Credits of 0.001 USD; ${note}`);
  outcomes.approximated(duration, [...to, 'window'], windowed.note);
  return [
    block(
      field('name', name, { above: [comment] }),
      field('each', each),
      field('match', match),
      field('limit_credits', exact(plainText(roundDown(credits))), { beside: `${plainText(usd)} USD` }),
      field('window', windowed.window),
      field('alert_at', [exact('0.8'), exact('1.0')]),
    ),
  ];
}

const shareOf = ({ digits, scale }: Decimal, share: number): Decimal => ({
  digits: digits * BigInt(Math.floor(share * 1e6)),
  scale: scale + 6,
});

/** Rounds down to six decimals, the precision of Credits. */
function roundDown({ digits, scale }: Decimal): Decimal {
  return scale <= 6 ? { digits, scale } : { digits: digits / 10n ** BigInt(scale - 6), scale: 6 };
}

const BY_LABEL = (label: string) => `it counts keys with this label: \`keys create --label ${label}\``;

function userBudget(settings: MapNode | null, context: ImportContext): FieldBlock[] {
  const { outcomes } = context;
  const defaults = mapOf(
    valueAt(settings, 'default_internal_user_params'),
    outcomes,
    'a map of the settings of new users',
  );
  const older = {
    limit: valueAt(settings, 'max_internal_user_budget'),
    duration: valueAt(settings, 'internal_user_budget_duration'),
  };
  const own = amountsIn(defaults);
  if (own.limit) {
    outcomes.leftOut(older.limit, 'default_internal_user_params.max_budget is used instead');
    outcomes.leftOut(older.duration, 'default_internal_user_params.max_budget is used instead');
  }
  outcomes.leftOut(valueAt(defaults, 'models'), 'set the models of each key: `keys create --model ID`');
  outcomes.leftOut(
    valueAt(defaults, 'user_role'),
    'set the permissions of each key: `keys create --scope`; Signalbox has keys, no users',
  );
  return budgetOf(context, {
    name: 'each-user',
    ...(own.limit ? own : older),
    each: 'key.labels.user',
    match: 'key.labels.user != ""',
    differs: BY_LABEL('user=NAME'),
    comment: 'for each user: counts keys with the label user=NAME',
  });
}

function teamBudgets(settings: MapNode | null, context: ImportContext): FieldBlock[] {
  const { outcomes } = context;
  const list = valueAt(settings, 'default_team_settings');
  return itemsOf(list, outcomes, 'it must be a list of maps, each with team_id').flatMap((item) => {
    const idNode = valueAt(item, 'team_id');
    const id = scalarText(idNode);
    if (!idNode || id === null) return outcomes.problem(item, 'it needs a team_id') ?? [];
    const name = budgetName('team', id);
    const budget = budgetOf(context, {
      name,
      ...amountsIn(item),
      match: `key.labels.team == ${JSON.stringify(id)}`,
      differs: BY_LABEL(`team=${id}`),
      comment: `for the team: counts keys with the label team=${id}`,
    });
    if (budget.length > 0) outcomes.approximated(idNode, ['budgets', name, 'match'], BY_LABEL(`team=${id}`));
    outcomes.leftOut(item, 'set rates and models for each key: `keys create`; logs, metrics and traces are built in');
    return budget;
  });
}

function tagBudgets(settings: MapNode | null, context: ImportContext): FieldBlock[] {
  const map = mapOf(valueAt(settings, 'tag_budget_config'), context.outcomes, 'a map of a tag and its budget');
  return (map?.entries ?? []).flatMap(({ key, node }) => {
    const budget = mapOf(node, context.outcomes, 'a map with max_budget and budget_duration');
    if (!budget) return [];
    return budgetOf(context, {
      name: budgetName('tag', key),
      ...amountsIn(budget),
      match: `key.labels.tag == ${JSON.stringify(key)}`,
      differs: `requests have no tags; ${BY_LABEL(`tag=${key}`)}`,
      comment: `for the tag: counts keys with the label tag=${key}`,
    });
  });
}

function deploymentBudgets(
  deployments: readonly Deployment[],
  namesOf: (group: string) => readonly string[],
  context: ImportContext,
): FieldBlock[] {
  const byGroup = Map.groupBy(deployments, ({ group }) => group);
  return deployments.flatMap((one) => {
    if (byGroup.get(one.group)?.length !== 1) {
      const why = 'a model with several endpoints has no budget for one of them; limit the spend at the provider';
      context.outcomes.keysLeftOut(one.params, ['max_budget', 'budget_duration'], why);
      return [];
    }
    return budgetOf(context, {
      name: budgetName('model', one.group),
      ...amountsIn(one.params),
      match: isOneOf('request.model', namesOf(one.group)),
      differs: 'it counts requests that name the model, not those that a selector sends there',
      comment: 'counts requests that name the model',
    });
  });
}

/** Reads `upperbound_key_generate_params`, the limits of every key. */
function keyLimits(
  settings: MapNode | null,
  context: ImportContext,
): { budget: FieldBlock[]; rateLimits: FieldBlock[] } {
  const { outcomes } = context;
  const bounds = mapOf(
    valueAt(settings, 'upperbound_key_generate_params'),
    outcomes,
    'a map of the limits of new keys',
  );
  if (!bounds) return { budget: [], rateLimits: [] };
  const differs =
    'it limits every key, existing and administrators’ keys too; `keys create --budget` sets less for one key';
  const budget = budgetOf(context, {
    name: 'each-key',
    ...amountsIn(bounds),
    each: 'key',
    differs,
    comment: 'limits every key; keys create --budget sets less for one',
  });
  outcomes.leftOut(valueAt(bounds, 'duration'), 'set the lifetime of each key: `keys create --expires-in`');
  const rates = Object.entries({
    rpm_limit: 'requests_per_minute',
    tpm_limit: 'tokens_per_minute',
    max_parallel_requests: 'concurrent_streams',
  });
  const limits = rates.map(([key, name]) => rateField(bounds, key, name, context));
  const isNone = limits.every((limit) => limit === null);
  return { budget, rateLimits: isNone ? [] : [block(field('name', 'each-key'), field('each', 'key'), ...limits)] };
}

function rateField(bounds: MapNode, key: string, name: string, { outcomes }: ImportContext): Field | null {
  const node = valueAt(bounds, key);
  if (!node) return null;
  const count = Math.trunc(toNumber(decimalOf(node) ?? { digits: 0n, scale: 0 }));
  if (count < 1 || count > (name === 'concurrent_streams' ? 1_000_000 : 1_000_000_000))
    return outcomes.problem(node, 'it must be a whole number from 1');
  outcomes.approximated(
    node,
    ['rate_limits', 'each-key', name],
    'it limits every key; `keys create` sets less for one key',
  );
  return field(name, count);
}

const budgetName = (kind: string, of: string): string =>
  (of.startsWith(`${kind}-`) ? asName(of) : `${kind}-${asName(of)}`).slice(0, 110);

/** Numbers the budgets whose names differ only in punctuation. */
function unique(budgets: readonly FieldBlock[]): FieldBlock[] {
  const taken = new TakenNames();
  return budgets.map(({ fields }) => ({
    fields: fields.map((one) => {
      if (one.key !== 'name' || typeof one.value !== 'string') return one;
      const value = taken.has(one.value) ? taken.nextFree(one.value) : one.value;
      taken.add(value);
      return { ...one, value };
    }),
  }));
}
