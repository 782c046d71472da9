import { type ImportContext, isName } from './context.ts';
import type { Deployment } from './entries.ts';
import type { Fallbacks, FallbackTarget, ModelAlias } from './fallbacks.ts';
import { freeId, groupByModel, type ImportedModel, type ModelGroup } from './models.ts';
import { TakenNames } from './names.ts';
import { BUILT_IN } from './servable.ts';
import { valueAt } from './tree.ts';

/** A selector of the policy: the name that requests use as `model`, and its models in order of preference. */
export interface ImportedSelector {
  /** The name of the group, then its aliases. */
  readonly names: readonly string[];
  /** Each step has equivalent models. If the selector has only one step, the strategy chooses. */
  readonly steps: readonly (readonly ImportedModel[])[];
  /** How many steps at the end serve only long inputs. */
  readonly forLength: number;
}

export interface SelectorPlan {
  readonly groups: readonly ModelGroup[];
  readonly selectors: readonly ImportedSelector[];
  /** Alias → the ID of its only model. */
  readonly aliases: readonly { readonly name: string; readonly model: string }[];
  /** Returns a group's name and its aliases, without aliases that are left out. */
  readonly namesOf: (group: string) => readonly string[];
}

interface SelectorInputs {
  readonly deployments: readonly Deployment[];
  /** The names of wildcards. */
  readonly patterns: readonly string[];
  readonly fallbacks: Fallbacks;
  readonly aliases: readonly ModelAlias[];
  /** Names of entries that were left out. Fallbacks and aliases may refer to them. */
  readonly skipped: ReadonlySet<string>;
}

/** Makes a model from each group with one model, and a selector from each group with several. */
export function planSelectors(choices: SelectorInputs, context: ImportContext): SelectorPlan {
  const { deployments, fallbacks } = choices;
  const byName = Map.groupBy(deployments, ({ group }) => group);
  const names = [...byName.keys()];
  const aliases = usableAliases(choices, new Set(names), context);
  const taken = new TakenNames([...names, ...aliases.map(({ name }) => name), ...BUILT_IN]);
  const resolve = resolver(choices, aliases, context);
  const nextOf = new Map(names.map((name) => [name, fallbackChainOf(name, fallbacks, resolve)]));
  reportOwners(choices, new Set(names), context);
  const groups = names.map((name): ModelGroup => {
    const same = groupByModel(byName.get(name) ?? [], context);
    const next = nextOf.get(name);
    const isModel = same.length === 1 && next?.any.length === 0 && next.long.length === 0 && !BUILT_IN.includes(name);
    const models = same.map((ones) => {
      const id = isModel ? name : freeId(name, ones[0]!, taken);
      for (const { assigned } of ones) assigned.model = id;
      return { id, deployments: ones };
    });
    return { name, models };
  });
  const aliasesOf = Map.groupBy(aliases, ({ group }) => group);
  const namesOf = (group: string) => [group, ...(aliasesOf.get(group) ?? []).map(({ name }) => name)];
  return { groups, namesOf, ...selectorsOf(groups, nextOf, namesOf) };
}

interface FallbackChain {
  readonly any: readonly FallbackMatch[];
  readonly long: readonly FallbackMatch[];
}
/** A group of deployments, or a single deployment of the group. */
type FallbackMatch = string | Deployment;

function fallbackChainOf(
  name: string,
  { byGroup, byDefault, ofContext }: Fallbacks,
  resolve: (name: string, next: FallbackTarget) => FallbackMatch | null,
): FallbackChain {
  const all = (nexts: readonly FallbackTarget[]) =>
    nexts.map((next) => resolve(name, next)).filter((one): one is FallbackMatch => one !== null && one !== name);
  const any = all(byGroup.get(name) ?? byDefault);
  return { any, long: all(ofContext.get(name) ?? []).filter((one) => !any.includes(one)) };
}

const STEP =
  'the selector’s next model by preference, which is also used while the first model is down; a request that a provider refuses (400) is not tried again';

/** Resolves a fallback, and records its outcome. */
function resolver(
  { deployments, patterns, aliases, fallbacks, skipped }: SelectorInputs,
  usable: readonly ModelAlias[],
  { outcomes }: ImportContext,
) {
  const groups = new Set(deployments.map(({ group }) => group));
  const byAlias = new Map(usable.map(({ name, group }) => [name, group]));
  // If two entries share an ID, the first entry counts.
  const byId = new Map(deployments.toReversed().map((one) => [one.id, one]));
  const embedders = new Set(deployments.filter(({ isEmbedder }) => isEmbedder).map(({ group }) => group));
  const isDefault = new Set(fallbacks.byDefault.map(({ node }) => node));
  return (owner: string, { name, node }: FallbackTarget): FallbackMatch | null => {
    const alias = byAlias.get(name) ?? name;
    const found = groups.has(alias) ? alias : (byId.get(name) ?? null);
    if ((found === owner || embedders.has(owner)) && isDefault.has(node)) return null;
    if (found !== null && (embedders.has(owner) || embedders.has(typeof found === 'string' ? found : found.group))) {
      outcomes.leftOut(
        node,
        'embedding models have no fallbacks, because vectors of different models cannot be compared',
      );
      return null;
    }
    if (found === owner) outcomes.problem(node, 'a group cannot be its own fallback');
    else if (found !== null) outcomes.approximated(node, ['selectors', owner], STEP);
    else if (skipped.has(name) || aliases.some((one) => one.name === name))
      outcomes.leftOut(node, 'its entry of model_list is left out');
    else if (isOfPattern(name, patterns)) outcomes.leftOut(node, BY_WILDCARD);
    else outcomes.problem(node, 'model_list has no entry of this name');
    return found;
  };
}

const BY_WILDCARD = 'a wildcard serves only requests that name its models; give this model its own entry';

/** Whether a wildcard serves a name, or has it as its own name. */
const isOfPattern = (name: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => name.startsWith(pattern.slice(0, -1)));

/** Records the outcome of fallbacks whose group does not exist. */
function reportOwners(
  { fallbacks, patterns, skipped }: SelectorInputs,
  groups: ReadonlySet<string>,
  { outcomes }: ImportContext,
): void {
  for (const { name, node } of fallbacks.owners) {
    if (groups.has(name)) continue;
    if (skipped.has(name)) outcomes.leftOut(node, 'their entry of model_list is left out');
    else if (isOfPattern(name, patterns)) outcomes.leftOut(node, BY_WILDCARD);
    else outcomes.problem(node, 'model_list has no entry of this name');
  }
  for (const { node } of fallbacks.byDefault) {
    if (!outcomes.has(node)) outcomes.leftOut(node, 'every group has its own fallbacks or is a fallback');
  }
}

function usableAliases(
  { aliases, patterns, skipped }: SelectorInputs,
  groups: ReadonlySet<string>,
  { outcomes }: ImportContext,
): ModelAlias[] {
  return aliases.filter(({ name, group, node }) => {
    if (groups.has(name)) outcomes.problem(node, 'model_list has an entry of this name, which stays in use');
    else if (BUILT_IN.includes(name))
      outcomes.problem(node, 'every policy has a selector of this name; rename the alias');
    else if (!isName(name))
      outcomes.problem(
        node,
        'a name must begin with a letter or digit and contain only letters, digits and . _ : / @ + -',
      );
    else if (groups.has(group)) {
      outcomes.approximated(valueAt(node, 'hidden'), ['selectors', name], '/v1/models lists every selector');
      outcomes.mapped(node, ['selectors', name]);
      return true;
    } else if (skipped.has(group)) outcomes.leftOut(node, 'its entry of model_list is left out');
    else if (isOfPattern(group, patterns)) outcomes.leftOut(node, BY_WILDCARD);
    else outcomes.problem(node, 'model_list has no entry of that name');
    return false;
  });
}

function selectorsOf(
  groups: readonly ModelGroup[],
  nextOf: ReadonlyMap<string, FallbackChain>,
  namesOf: SelectorPlan['namesOf'],
): Pick<SelectorPlan, 'selectors' | 'aliases'> {
  const byName = new Map(groups.map(({ name, models }) => [name, models]));
  const modelsOf = (target: FallbackMatch): readonly ImportedModel[] => {
    if (typeof target === 'string') return byName.get(target) ?? [];
    return (byName.get(target.group) ?? []).filter(({ deployments }) => deployments.includes(target));
  };
  const selectors: ImportedSelector[] = [];
  const short: { name: string; model: string }[] = [];
  for (const group of groups) {
    const [only, ...more] = group.models;
    if (only && more.length === 0 && only.id === group.name) {
      const [, ...others] = namesOf(group.name);
      short.push(...others.map((name) => ({ name, model: only.id })));
      continue;
    }
    const { any = [], long = [] } = nextOf.get(group.name) ?? {};
    const seen = new Set<ImportedModel>(group.models);
    const fresh = (target: FallbackMatch) => modelsOf(target).filter((model) => !seen.has(model) && seen.add(model));
    const after = any.map(fresh).filter((step) => step.length > 0);
    const last = long.map(fresh).filter((step) => step.length > 0);
    selectors.push({ names: namesOf(group.name), steps: [group.models, ...after, ...last], forLength: last.length });
  }
  return { selectors, aliases: short };
}
