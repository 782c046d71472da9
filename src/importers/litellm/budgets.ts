import { type Decimal, plainText, toNumber } from '../../core/decimal.ts';
import { decimalOf, times, windowOf } from './amounts.ts';
import { asName, type ImportContext, mapOf, textOf } from './context.ts';
import { block, exact, type Field, type FieldBlock, field, isOneOf } from './emit.ts';
import type { Deployment } from './entries.ts';
import type { LitellmSettings } from './fallbacks.ts';
import { TakenNames } from './names.ts';
import type { OutcomeRecorder } from './outcomes.ts';
import { type ConfigNode, type MapNode, valueAt } from './tree.ts';

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
  { library }: LitellmSettings,
  deployments: readonly Deployment[],
  namesOf: (group: string) => readonly string[],
  { outcomes }: ImportContext,
): ImportedLimits {
  const reader = new LimitReader(library, outcomes);
  const budgets = [
    ...reader.global(),
    ...reader.ofUsers(),
    ...reader.ofTeams(),
    ...reader.ofTags(),
    ...reader.ofDeployments(deployments, namesOf),
  ];
  const { budget, rateLimits } = reader.ofKeys();
  return { budgets: unique([...budgets, ...budget]), rateLimits };
}

/** The limit and the duration of a budget, by their usual keys. */
const amountsIn = (owner: ConfigNode | null | undefined) => ({
  limit: valueAt(owner, 'max_budget'),
  duration: valueAt(owner, 'budget_duration'),
});

class LimitReader {
  readonly #settings: MapNode | null;
  readonly #outcomes: OutcomeRecorder;

  constructor(settings: MapNode | null, outcomes: OutcomeRecorder) {
    this.#settings = settings;
    this.#outcomes = outcomes;
  }

  global(): FieldBlock[] {
    const { limit, duration } = amountsIn(this.#settings);
    if (decimalOf(limit)?.digits === 0n) {
      this.#outcomes.leftOut(limit, 'LiteLLM takes a 0 here for no budget');
      this.#outcomes.leftOut(duration, 'there is no budget that it is for');
      return [];
    }
    const comment = 'litellm_settings.max_budget: all that is spent here';
    return this.#budget({ name: 'everybody', limit, duration, differs: '', comment });
  }

  ofUsers(): FieldBlock[] {
    const outcomes = this.#outcomes;
    const defaults = this.#map('default_internal_user_params', 'a map of what new users get');
    const older = { limit: this.#at('max_internal_user_budget'), duration: this.#at('internal_user_budget_duration') };
    const own = amountsIn(defaults);
    if (own.limit) {
      for (const node of [older.limit, older.duration]) {
        outcomes.leftOut(node, 'default_internal_user_params.max_budget is what new users get');
      }
    }
    outcomes.leftOut(valueAt(defaults, 'models'), '`signalbox keys create --model ID` names the models of a key');
    outcomes.leftOut(
      valueAt(defaults, 'user_role'),
      '`signalbox keys create --scope` says what a key may do; there are no users beside keys',
    );
    return this.#budget({
      name: 'each-user',
      ...(own.limit ? own : older),
      each: 'key.labels.user',
      match: 'key.labels.user != ""',
      differs: BY_LABEL('user=NAME'),
      comment: 'for each user: signalbox keys create --label user=NAME',
    });
  }

  ofTeams(): FieldBlock[] {
    const outcomes = this.#outcomes;
    const list = this.#at('default_team_settings');
    if (list && list.kind !== 'list') outcomes.problem(list, 'it must be a list of maps, each with team_id');
    return (list?.kind === 'list' ? list.items : []).flatMap((item) => {
      const idNode = valueAt(item, 'team_id');
      const id = textOf(idNode);
      if (!idNode || id === null) {
        outcomes.problem(item, 'it needs a team_id');
        return [];
      }
      const name = budgetName('team', id);
      const differs = BY_LABEL(`team=${id}`);
      const budget = this.#budget({
        name,
        ...amountsIn(item),
        match: `key.labels.team == ${JSON.stringify(id)}`,
        differs,
        comment: `for keys of the team: signalbox keys create --label team=${id}`,
      });
      if (budget.length > 0) outcomes.approximated(idNode, ['budgets', name, 'match'], differs);
      outcomes.leftOut(
        item,
        'rates and models are said of each key: `signalbox keys create`; logs, metrics and traces are built in',
      );
      return budget;
    });
  }

  ofTags(): FieldBlock[] {
    const map = this.#map('tag_budget_config', 'a map of a tag and its budget');
    return (map?.entries ?? []).flatMap(({ key, node }) => {
      const budget = mapOf(node, this.#outcomes, 'a map with max_budget and budget_duration');
      if (!budget) return [];
      return this.#budget({
        name: budgetName('tag', key),
        ...amountsIn(budget),
        match: `key.labels.tag == ${JSON.stringify(key)}`,
        differs: `requests have no tags: ${BY_LABEL(`tag=${key}`)}`,
        comment: `for keys with the tag: signalbox keys create --label tag=${key}`,
      });
    });
  }

  ofDeployments(deployments: readonly Deployment[], namesOf: (group: string) => readonly string[]): FieldBlock[] {
    const byGroup = Map.groupBy(deployments, ({ group }) => group);
    return deployments.flatMap(({ group, params }) => {
      const { limit, duration } = amountsIn(params);
      if (byGroup.get(group)?.length !== 1) {
        const why = 'no budget for one endpoint of several: limit the spend at its provider';
        for (const node of [limit, duration]) this.#outcomes.leftOut(node, why);
        return [];
      }
      return this.#budget({
        name: budgetName('model', group),
        limit,
        duration,
        match: isOneOf('request.model', namesOf(group)),
        differs: 'it counts requests that ask for the model by name, not those that come to it otherwise',
        comment: 'what is asked of the model by its name',
      });
    });
  }

  /** Reads `upperbound_key_generate_params`, the limits of every key. */
  ofKeys(): { budget: FieldBlock[]; rateLimits: FieldBlock[] } {
    const bounds = this.#map('upperbound_key_generate_params', 'a map of what new keys get at most');
    if (!bounds) return { budget: [], rateLimits: [] };
    const budget = this.#budget({
      name: 'each-key',
      ...amountsIn(bounds),
      each: 'key',
      differs:
        'it holds every key, the older and the administrator’s too; a key may have less by `signalbox keys create --budget`',
      comment: 'no key spends more; one may have less by signalbox keys create --budget',
    });
    const lifetime = '`signalbox keys create --expires-in` says how long a key lives';
    this.#outcomes.leftOut(valueAt(bounds, 'duration'), lifetime);
    const limits = [
      this.#rate(valueAt(bounds, 'rpm_limit'), 'requests_per_minute', 1_000_000_000),
      this.#rate(valueAt(bounds, 'tpm_limit'), 'tokens_per_minute', 1_000_000_000),
      this.#rate(valueAt(bounds, 'max_parallel_requests'), 'concurrent_streams', 1_000_000),
    ];
    const isNone = limits.every((limit) => limit === null);
    return { budget, rateLimits: isNone ? [] : [block(field('name', 'each-key'), field('each', 'key'), ...limits)] };
  }

  #at(key: string): ConfigNode | undefined {
    return valueAt(this.#settings, key);
  }

  #map(key: string, expected: string): MapNode | null {
    return mapOf(this.#at(key), this.#outcomes, expected);
  }

  #rate(node: ConfigNode | undefined, name: string, max: number): Field | null {
    if (!node) return null;
    const count = Math.trunc(toNumber(decimalOf(node) ?? { digits: 0n, scale: 0 }));
    if (count < 1 || count > max) {
      this.#outcomes.problem(node, 'it must be a whole number from 1');
      return null;
    }
    const note = 'it holds every key; a key may have less by `signalbox keys create`';
    this.#outcomes.approximated(node, ['rate_limits', 'each-key', name], note);
    return field(name, count);
  }

  #budget({ name, limit, duration, each, match, differs, comment }: BudgetSource): FieldBlock[] {
    const outcomes = this.#outcomes;
    if (!limit) {
      outcomes.leftOut(duration, 'the budget that it is for is not stated');
      return [];
    }
    const usd = decimalOf(limit);
    if (!usd || usd.digits < 0n || toNumber(usd) * Number(CREDITS_PER_USD) > CREDITS_MAX) {
      outcomes.problem(limit, 'it must be an amount of USD, such as 100');
      outcomes.leftOut(duration, 'its budget could not be read');
      return [];
    }
    const windowed = windowOf(textOf(duration));
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
}

const shareOf = ({ digits, scale }: Decimal, share: number): Decimal => ({
  digits: digits * BigInt(Math.floor(share * 1e6)),
  scale: scale + 6,
});

/** Rounds down to six decimals, the precision of Credits. */
function roundDown({ digits, scale }: Decimal): Decimal {
  return scale <= 6 ? { digits, scale } : { digits: digits / 10n ** BigInt(scale - 6), scale: 6 };
}

const BY_LABEL = (label: string) => `it counts keys with the label: \`signalbox keys create --label ${label}\``;

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
