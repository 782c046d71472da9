import { type Decimal, plainText, times, toNumber } from '../../../core/money/decimal.ts';
import { block, exact, type Field, type FieldBlock, field, isOneOf } from '../../../policy/yaml/emit.ts';
import { decimalOf, windowOf } from './amounts.ts';
import { asName, type ImportContext, mapOf } from './context.ts';
import type { Deployment } from './entries.ts';
import type { LitellmSettings } from './fallbacks.ts';
import { TakenNames } from './names.ts';
import { type ConfigNode, scalarText, valueAt } from './tree.ts';

/** Every written policy defines a Credit as 0.001 USD. */
const CREDITS_PER_USD = 1000n;
const CREDITS_MAX = 1_000_000_000;

/** The sections of limits.yaml. */
export interface ImportedLimits {
  readonly budgets: readonly FieldBlock[];
  readonly rateLimits: readonly FieldBlock[];
}

/** A budget in the configuration. */
interface BudgetSource {
  readonly name: string;
  /** The map with the limit and duration under their usual keys, or these two nodes. */
  readonly of: ConfigNode | { readonly limit: ConfigNode | undefined; readonly duration: ConfigNode | undefined };
  readonly each?: string;
  readonly match?: string;
  /** How the meaning changes, apart from the window; empty if it does not change. */
  readonly differs: string;
  readonly comment: string;
  /** The node that names the owner of the budget. */
  readonly owner?: ConfigNode;
}

/** Reads all budgets and rate limits. */
export function readLimits(
  { library: settings }: LitellmSettings,
  deployments: readonly Deployment[],
  context: ImportContext,
): ImportedLimits {
  const bounds = mapOf(
    valueAt(settings, 'upperbound_key_generate_params'),
    context.outcomes,
    'a map of the limits of new keys',
  );
  const sources = [
    ...globalBudget(settings, context),
    ...tagBudgets(settings, context),
    ...deploymentBudgets(deployments, context),
    keyBudget(bounds),
  ];
  const taken = new TakenNames();
  const budgets = sources.flatMap((source) => budgetOf(source, taken, context) ?? []);
  return { budgets, rateLimits: keyRates(bounds, context) };
}

export const amountsIn = (of: BudgetSource['of']) =>
  'limit' in of ? of : { limit: valueAt(of, 'max_budget'), duration: valueAt(of, 'budget_duration') };

function globalBudget(settings: ConfigNode, { outcomes }: ImportContext): BudgetSource[] {
  const { limit, duration } = amountsIn(settings);
  if (decimalOf(limit)?.digits === 0n) {
    outcomes.leftOut(limit, 'LiteLLM treats 0 as no budget');
    outcomes.leftOut(duration, 'its budget is 0, so there is none');
    return [];
  }
  const comment = 'litellm_settings.max_budget: the spend of all keys together';
  return [{ name: 'everybody', of: settings, differs: '', comment }];
}

/** @param taken the names of earlier budgets, some of which differ only in punctuation */
function budgetOf(
  { name: wanted, of, each, match, differs, comment, owner }: BudgetSource,
  taken: TakenNames,
  context: ImportContext,
): FieldBlock | null {
  const { outcomes } = context;
  const amount = amountOf(of, context);
  if (!amount) return null;
  const name = taken.take([wanted], wanted);
  const to = ['budgets', name];
  amount.told(to, differs);
  outcomes.approximated(owner, [...to, 'match'], differs);
  return block(
    field('name', name, { above: [comment] }),
    field('each', each),
    field('match', match),
    ...amount.fields,
    field('alert_at', [exact('0.8'), exact('1.0')]),
  );
}

/** An amount for a window of time, as the fields of a budget. */
interface ImportedAmount {
  readonly fields: readonly (Field | null)[];
  /** Records the outcomes of the amount's keys. @param to the path of the budget. @param differs see `BudgetSource` */
  told(to: readonly string[], differs: string): void;
}

/** Reads an amount of USD and its duration. If there is none, records the outcome and returns null. */
export function amountOf(of: BudgetSource['of'], { outcomes }: ImportContext): ImportedAmount | null {
  const { limit, duration } = amountsIn(of);
  if (!limit) return outcomes.leftOut(duration, 'its budget is not stated');
  const usd = decimalOf(limit);
  if (!usd || usd.digits < 0n || toNumber(usd) * Number(CREDITS_PER_USD) > CREDITS_MAX) {
    outcomes.problem(limit, 'it must be an amount of USD, such as 100');
    return outcomes.leftOut(duration, 'its budget could not be read');
  }
  const windowed = windowOf(scalarText(duration));
  if (!windowed) {
    if (duration) outcomes.problem(duration, 'it must be a duration such as 30s, 10m, 24h, 30d or 1mo');
    return outcomes.leftOut(limit, 'its duration could not be read');
  }
  const scaled = times(usd, CREDITS_PER_USD);
  const credits = windowed.share < 1 ? shareOf(scaled, windowed.share) : scaled;
  return {
    fields: [
      field('limit_credits', exact(plainText(roundDown(credits))), { beside: `${plainText(usd)} USD` }),
      field('window', windowed.window),
    ],
    told(to, differs) {
      const note = [differs, windowed.note].filter((one) => one !== '').join('; ');
      outcomes.approximated(limit, [...to, 'limit_credits'], `USD, now Credits of 0.001 USD; ${note}`);
      outcomes.approximated(duration, [...to, 'window'], windowed.note);
    },
  };
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

function tagBudgets(settings: ConfigNode, { outcomes }: ImportContext): BudgetSource[] {
  const map = mapOf(valueAt(settings, 'tag_budget_config'), outcomes, 'a map of a tag and its budget');
  return [...map.entries].map(([tag, node]) => ({
    name: budgetName('tag', tag),
    of: mapOf(node, outcomes, 'a map with max_budget and budget_duration'),
    match: `key.labels.tag == ${JSON.stringify(tag)}`,
    differs: `requests have no tags; ${BY_LABEL(`tag=${tag}`)}`,
    comment: `for the tag: counts keys with the label tag=${tag}`,
  }));
}

function deploymentBudgets(deployments: readonly Deployment[], { outcomes }: ImportContext): BudgetSource[] {
  const groups = Map.groupBy(deployments, ({ group }) => group);
  return deployments.flatMap(({ group, params }) => {
    if (groups.get(group)?.length !== 1) {
      const why = 'a model with several endpoints has no budget for one of them; limit the spend at the provider';
      outcomes.keysLeftOut(params, ['max_budget', 'budget_duration'], why);
      return [];
    }
    return {
      name: budgetName('model', group),
      of: params,
      match: isOneOf('request.model', [group]),
      differs: 'it counts requests that name the model, not those that a selector sends there',
      comment: 'counts requests that name the model',
    };
  });
}

const keyBudget = (of: ConfigNode): BudgetSource => ({
  name: 'each-key',
  of,
  each: 'key',
  differs: 'it limits every key, existing and administrators’ keys too; `keys create --budget` sets less for one key',
  comment: 'limits every key; keys create --budget sets less for one',
});

/** Limits of every key, with the corresponding limits of a policy and their maxima. */
const RATES = {
  rpm_limit: ['requests_per_minute', 1_000_000_000],
  tpm_limit: ['tokens_per_minute', 1_000_000_000],
  max_parallel_requests: ['concurrent_streams', 1_000_000],
} as const;

function keyRates(bounds: ConfigNode, { outcomes }: ImportContext): FieldBlock[] {
  outcomes.leftOut(valueAt(bounds, 'duration'), 'set the lifetime of each key: `keys create --expires-in`');
  const limits = Object.entries(RATES).map(([key, [name, max]]) => {
    const node = valueAt(bounds, key);
    if (!node) return null;
    const count = Math.trunc(toNumber(decimalOf(node) ?? { digits: 0n, scale: 0 }));
    if (count < 1 || count > max) return outcomes.problem(node, 'it must be a whole number from 1');
    const note = 'it limits every key; `keys create` sets less for one key';
    outcomes.approximated(node, ['rate_limits', 'each-key', name], note);
    return field(name, count);
  });
  const isNone = limits.every((limit) => limit === null);
  return isNone ? [] : [block(field('name', 'each-key'), field('each', 'key'), ...limits)];
}

const budgetName = (kind: string, of: string): string =>
  (of.startsWith(`${kind}-`) ? asName(of) : `${kind}-${asName(of)}`).slice(0, 110);
