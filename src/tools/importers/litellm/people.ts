import { toNumber } from '../../../core/money/decimal.ts';
import { block, type FieldBlock, field, some } from '../../../policy/yaml/emit.ts';
import { decimalOf } from './amounts.ts';
import { amountOf, amountsIn } from './budgets.ts';
import { asName, type ImportContext, itemsOf, looksSecret, mapOf, textsOf } from './context.ts';
import type { LitellmSettings } from './fallbacks.ts';
import { TakenNames } from './names.ts';
import { type ConfigNode, scalarText, valueAt } from './tree.ts';

/** The sections of people.yaml. */
export interface ImportedPeople {
  readonly organization: FieldBlock | null;
  readonly teams: readonly FieldBlock[];
}

/** Returns the IDs of the models that a name of the configuration stands for; null for an unknown name. */
export type ModelsOf = (name: string) => readonly string[] | null;

/** Reads the teams, and the default terms of users. */
export function readPeople(
  { library: settings }: LitellmSettings,
  modelsOf: ModelsOf,
  context: ImportContext,
): ImportedPeople {
  const taken = new TakenNames();
  const list = valueAt(settings, 'default_team_settings');
  const items = itemsOf(list, context.outcomes, 'it must be a list of maps, each with team_id');
  return {
    organization: usersOf(settings, modelsOf, context),
    teams: items.flatMap((item) => teamOf(item, taken, modelsOf, context) ?? []),
  };
}

/** Matches a single line that does not begin or end with a space and does not have the form of a team's ID. */
const TEAM_NAME = /^(?!team_[0-9a-z]{17}$)[^\s\p{C}](?:[^\p{C}]{0,126}[^\s\p{C}])?$/u;

function teamOf(item: ConfigNode, taken: TakenNames, modelsOf: ModelsOf, context: ImportContext): FieldBlock | null {
  const { outcomes } = context;
  const owner = valueAt(item, 'team_id');
  const id = scalarText(owner);
  if (id === null) return outcomes.problem(item, 'it needs a team_id');
  outcomes.leftOut(item, 'logs, metrics and traces are built in, and have no settings for a team');
  const wanted = TEAM_NAME.test(id) && !looksSecret(id) ? id : asName(id).slice(0, 100) || 'team';
  const name = taken.take([wanted], wanted);
  const to = ['teams', name];
  outcomes.mapped(owner, [...to, 'name']);
  return block(field('name', name), ...termsOf(item, item, to, modelsOf, context));
}

function usersOf(settings: ConfigNode, modelsOf: ModelsOf, context: ImportContext): FieldBlock | null {
  const { outcomes } = context;
  const section = valueAt(settings, 'default_internal_user_params');
  const defaults = mapOf(section, outcomes, 'a map of the settings of new users');
  const older = {
    limit: valueAt(settings, 'max_internal_user_budget'),
    duration: valueAt(settings, 'internal_user_budget_duration'),
  };
  const isOlder = amountsIn(defaults).limit === undefined;
  if (!isOlder) {
    outcomes.leftOut(older.limit, 'default_internal_user_params.max_budget is used instead');
    outcomes.leftOut(older.duration, 'default_internal_user_params.max_budget is used instead');
  }
  outcomes.leftOut(
    valueAt(defaults, 'user_role'),
    'a new user is a member; a sign-in or `users change --role` gives other roles',
  );
  const to = ['organization', 'member_defaults'];
  const terms = termsOf(defaults, isOlder ? older : defaults, to, modelsOf, context).filter((one) => one !== null);
  if (terms.length === 0) return null;
  return block(
    field('member_defaults', block(...terms), { above: ['the terms of each user that has none of its own'] }),
  );
}

/** Reads the terms of a team or of users. @param amounts the map of the budget, or its limit and duration */
function termsOf(
  item: ConfigNode,
  amounts: Parameters<typeof amountOf>[0],
  to: readonly string[],
  modelsOf: ModelsOf,
  context: ImportContext,
) {
  const amount = amountOf(amounts, context);
  amount?.told([...to, 'budgets', '0'], '');
  return [
    field('models', modelsIn(valueAt(item, 'models'), to, modelsOf, context)),
    field('limits', limitsIn(item, to, context)),
    field('budgets', amount && [block(...amount.fields)]),
  ];
}

function modelsIn(
  node: ConfigNode | undefined,
  to: readonly string[],
  modelsOf: ModelsOf,
  { outcomes }: ImportContext,
) {
  const names = textsOf(node);
  if (!node || names.length === 0) return null;
  const found = names.map(modelsOf);
  if (found.some((ids) => ids === null)) {
    return outcomes.leftOut(node, 'it names a group that is not a model here; list IDs in `models`');
  }
  for (const one of node.kind === 'list' ? node.items : [node]) outcomes.mapped(one, [...to, 'models']);
  return some([...new Set(found.flatMap((ids) => ids ?? []))]);
}

/** Limits of a team or of users, with their maxima. */
const LIMITS = {
  rpm_limit: 'requests_per_minute',
  tpm_limit: 'tokens_per_minute',
  max_parallel_requests: 'concurrent_streams',
} as const;
const LIMIT_MAX = 1_000_000_000;

function limitsIn(item: ConfigNode, to: readonly string[], { outcomes }: ImportContext): FieldBlock | null {
  const limits = Object.entries(LIMITS).flatMap(([key, name]) => {
    const node = valueAt(item, key);
    if (!node) return [];
    const count = Math.trunc(toNumber(decimalOf(node) ?? { digits: 0n, scale: 0 }));
    if (count < 1 || count > LIMIT_MAX) {
      outcomes.problem(node, 'it must be a whole number from 1');
      return [];
    }
    outcomes.mapped(node, [...to, 'limits', name]);
    return [field(name, count)];
  });
  return limits.length === 0 ? null : block(...limits);
}
