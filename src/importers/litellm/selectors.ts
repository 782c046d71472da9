import type { Context } from './context.ts';
import { isName } from './context.ts';
import type { Deployment } from './entries.ts';
import type { Alias, Fallbacks, Next } from './fallbacks.ts';
import { freeId, type Group, type ModelDraft, sameModels } from './models.ts';
import { Names } from './names.ts';

/** A selector of the policy: what callers give as `model`, and the models behind it, the first first. */
export interface SelectorDraft {
  /** The name of its group, and the aliases of that. */
  readonly names: readonly string[];
  /** Models that are alike stand together; where there is one step alone, the strategy chooses. */
  readonly steps: readonly (readonly ModelDraft[])[];
  /** How many of the steps, at the end, are there for long inputs. */
  readonly forLength: number;
}

export interface Chosen {
  readonly groups: readonly Group[];
  readonly selectors: readonly SelectorDraft[];
  /** Alias → the ID of the one model that it stands for. */
  readonly aliases: readonly { readonly name: string; readonly model: string }[];
}

/** Names that every policy has a selector of. */
const BUILT_IN = ['auto', 'auto-fast', 'auto-cheap'];

export interface Choices {
  readonly deployments: readonly Deployment[];
  readonly fallbacks: Fallbacks;
  readonly aliases: readonly Alias[];
  /** Names of entries that were left out, which fallbacks and aliases may mean. */
  readonly without: ReadonlySet<string>;
}

/** Makes models of the groups, and selectors of those whose name stands for more than one model. */
export function choose(choices: Choices, context: Context): Chosen {
  const { deployments, fallbacks } = choices;
  const byName = Map.groupBy(deployments, ({ group }) => group);
  const names = [...byName.keys()];
  const aliases = usableAliases(choices, new Set(names), context);
  const taken = new Names([...names, ...aliases.map(({ name }) => name), ...BUILT_IN]);
  const resolve = resolver(choices, aliases, context);
  const nextOf = new Map(names.map((name) => [name, nextsOf(name, fallbacks, resolve)]));
  tellOwners(choices, new Set(names), context);
  const groups = names.map((name): Group => {
    const same = sameModels(byName.get(name) ?? [], context);
    const next = nextOf.get(name);
    const isModel = same.length === 1 && next?.any.length === 0 && next.long.length === 0 && !BUILT_IN.includes(name);
    const models = same.map((ones) => {
      const id = isModel ? name : freeId(name, ones[0]!, taken);
      for (const { place } of ones) place.model = id;
      return { id, deployments: ones };
    });
    return { name, models };
  });
  return { groups, ...selectorsOf(groups, nextOf, aliases) };
}

interface Nexts {
  readonly any: readonly Target[];
  readonly long: readonly Target[];
}
/** A group, or one deployment of it. */
type Target = string | Deployment;

function nextsOf(
  name: string,
  { byGroup, byDefault, ofContext }: Fallbacks,
  resolve: (name: string, next: Next) => Target | null,
): Nexts {
  const all = (nexts: readonly Next[]) =>
    nexts.map((next) => resolve(name, next)).filter((one): one is Target => one !== null && one !== name);
  const any = all(byGroup.get(name) ?? byDefault);
  return { any, long: all(ofContext.get(name) ?? []).filter((one) => !any.includes(one)) };
}

const STEP =
  'the next of the selector’s models by preference; also taken while the first is down; what a provider refuses (400) is not sent on';

/** Finds what a fallback names, and says what becomes of it. */
function resolver(
  { deployments, aliases, fallbacks, without }: Choices,
  usable: readonly Alias[],
  { account }: Context,
) {
  const groups = new Set(deployments.map(({ group }) => group));
  const byAlias = new Map(usable.map(({ name, group }) => [name, group]));
  // Of entries with one ID the first counts.
  const byId = new Map(deployments.toReversed().map((one) => [one.id, one]));
  const isDefault = new Set(fallbacks.byDefault.map(({ node }) => node));
  return (owner: string, { name, node }: Next): Target | null => {
    const alias = byAlias.get(name) ?? name;
    const found = groups.has(alias) ? alias : (byId.get(name) ?? null);
    if (found === owner && isDefault.has(node)) return null;
    if (found === owner) account.problem(node, 'a group cannot be its own fallback');
    else if (found !== null) account.approximated(node, ['selectors', owner], STEP);
    else if (without.has(name) || aliases.some((one) => one.name === name))
      account.leftOut(node, 'its entry is left out');
    else account.problem(node, 'no entry of model_list has this name');
    return found;
  };
}

/** Says what becomes of the fallbacks of groups that are not there. */
function tellOwners({ fallbacks, without }: Choices, groups: ReadonlySet<string>, { account }: Context): void {
  for (const { name, node } of fallbacks.owners) {
    if (groups.has(name)) continue;
    if (without.has(name)) account.leftOut(node, 'the entry that they are for is left out');
    else account.problem(node, 'no entry of model_list has the name that they are for');
  }
  for (const { node } of fallbacks.byDefault) {
    if (!account.isTold(node)) account.leftOut(node, 'every group has fallbacks of its own, or is the fallback');
  }
}

function usableAliases({ aliases, without }: Choices, groups: ReadonlySet<string>, { account }: Context): Alias[] {
  return aliases.filter(({ name, group, node }) => {
    if (groups.has(name))
      account.problem(node, 'an entry of model_list has this name, too: callers of it keep that model');
    else if (BUILT_IN.includes(name))
      account.problem(node, 'every policy has a selector of this name; give the alias another');
    else if (!isName(name))
      account.problem(node, 'names are letters, digits and . _ : / @ + - after a letter or digit');
    else if (groups.has(group)) {
      const isHidden = node.kind === 'map';
      const hidden = isHidden ? node.entries.find(({ key }) => key === 'hidden')?.node : undefined;
      account.approximated(hidden, ['selectors', name], 'selectors are listed by /v1/models, each of them');
      account.mapped(node, ['selectors', name]);
      return true;
    } else if (without.has(group)) account.leftOut(node, 'the entry that it stands for is left out');
    else account.problem(node, 'no entry of model_list has the name that it stands for');
    return false;
  });
}

function selectorsOf(
  groups: readonly Group[],
  nextOf: ReadonlyMap<string, Nexts>,
  aliases: readonly Alias[],
): Pick<Chosen, 'selectors' | 'aliases'> {
  const byName = new Map(groups.map(({ name, models }) => [name, models]));
  const modelsOf = (target: Target): readonly ModelDraft[] => {
    if (typeof target === 'string') return byName.get(target) ?? [];
    return (byName.get(target.group) ?? []).filter(({ deployments }) => deployments.includes(target));
  };
  const aliasesOf = Map.groupBy(aliases, ({ group }) => group);
  const selectors: SelectorDraft[] = [];
  const short: { name: string; model: string }[] = [];
  for (const group of groups) {
    const others = (aliasesOf.get(group.name) ?? []).map(({ name }) => name);
    const [only, ...more] = group.models;
    if (only && more.length === 0 && only.id === group.name) {
      short.push(...others.map((name) => ({ name, model: only.id })));
      continue;
    }
    const { any = [], long = [] } = nextOf.get(group.name) ?? {};
    const seen = new Set<ModelDraft>(group.models);
    const fresh = (target: Target) => modelsOf(target).filter((model) => !seen.has(model) && seen.add(model));
    const after = any.map(fresh).filter((step) => step.length > 0);
    const last = long.map(fresh).filter((step) => step.length > 0);
    selectors.push({
      names: [group.name, ...others],
      steps: [group.models, ...after, ...last],
      forLength: last.length,
    });
  }
  return { selectors, aliases: short };
}
