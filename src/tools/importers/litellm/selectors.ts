import type { FallbackLists } from '../../../core/request/fallbacks.ts';
import { type ImportContext, isName } from './context.ts';
import type { Deployment } from './entries.ts';
import type { Fallbacks, FallbackTarget, ModelAlias } from './fallbacks.ts';
import { freeId, groupByModel, type ImportedModel } from './models.ts';
import { TakenNames } from './names.ts';
import { BUILT_IN } from './servable.ts';
import type { CommonSettings } from './settings.ts';
import { readShares } from './shares.ts';
import { valueAt } from './tree.ts';

/** A `model_name` of the configuration: the ID of its only model, or a selector of its models. */
export interface ImportedName {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly isSelector: boolean;
  /** All models of the name, the models with the lowest `order` first. */
  readonly models: readonly ImportedModel[];
  /** The models with the lowest `order`, among which a selector chooses. */
  readonly first: readonly ImportedModel[];
  /** The IDs of the models to try next. */
  readonly fallbacks: ImportedFallbacks;
}

/** The lists for the reasons that LiteLLM has. */
type ImportedFallbacks = Pick<Required<FallbackLists>, 'error' | 'rate_limit' | 'context' | 'refused'>;

interface NameInputs {
  readonly deployments: readonly Deployment[];
  /** The names of wildcards. */
  readonly patterns: readonly string[];
  readonly fallbacks: Fallbacks;
  readonly aliases: readonly ModelAlias[];
  /** Names of entries that were left out. Fallbacks and aliases may refer to them. */
  readonly skipped: ReadonlySet<string>;
}

/** Makes a model from each group with one model, and a selector from each group with several. */
export function planNames(inputs: NameInputs, common: CommonSettings, context: ImportContext): ImportedName[] {
  const { deployments } = inputs;
  const byName = Map.groupBy(deployments, ({ group }) => group);
  const names = [...byName.keys()];
  const sameModel = new Map([...byName].map(([name, ones]) => [name, groupByModel(ones)]));
  const isSelector = (name: string) => (sameModel.get(name)?.length ?? 0) > 1 || BUILT_IN.includes(name);
  const sections = new Map(names.map((name) => [name, isSelector(name) ? 'selectors' : 'models']));
  const aliases = usableAliases(inputs, sections, context);
  const aliasesOf = Map.groupBy(aliases, ({ group }) => group);
  const taken = new TakenNames([...names, ...aliases.map(({ name }) => name), ...BUILT_IN]);
  const groups = names.map((name): Omit<ImportedName, 'fallbacks'> => {
    const same = sameModel.get(name) ?? [];
    const shares = readShares(same, common, context);
    const priorityOf = (one: Deployment) => shares.get(one)?.priority ?? 0;
    const models = same
      .map((ones) => ones.toSorted((a, b) => priorityOf(a) - priorityOf(b)))
      .toSorted(([a], [b]) => (a && b ? priorityOf(a) - priorityOf(b) : 0))
      .map((ones): ImportedModel => {
        const id = isSelector(name) ? freeId(name, ones[0]!, taken) : name;
        for (const { assigned } of ones) assigned.model = id;
        return { id, deployments: ones, shares: ones.flatMap((one) => shares.get(one) ?? []) };
      });
    const first = models.filter((model) => model.shares.some(({ priority }) => priority === 0));
    const others = (aliasesOf.get(name) ?? []).map((alias) => alias.name);
    return { name, aliases: others, isSelector: isSelector(name), models, first };
  });
  const resolve = resolver(inputs, aliases, sections, context);
  const listsOf = fallbackReader(inputs.fallbacks, groups, resolve);
  reportOwners(inputs, sections, context);
  return groups.map((group) => ({ ...group, fallbacks: listsOf(group) }));
}

/** A group of deployments, or a single deployment of the group. */
type FallbackMatch = string | Deployment;

/** The most models that a policy lists for a reason. */
const LISTED_MAX = 16;

/** Returns a function that lists the fallbacks of a group, by reason. */
function fallbackReader(
  { byGroup, byDefault, ofContext, ofRefusal }: Fallbacks,
  groups: readonly Omit<ImportedName, 'fallbacks'>[],
  resolve: (owner: string, next: FallbackTarget, differs: string) => FallbackMatch | null,
) {
  const byName = new Map(groups.map(({ name, models }) => [name, models]));
  const modelsOf = (target: FallbackMatch): readonly ImportedModel[] => {
    if (typeof target === 'string') return byName.get(target) ?? [];
    return (byName.get(target.group) ?? []).filter(({ deployments }) => deployments.includes(target));
  };
  const resolved = (nextOf: (name: string) => readonly FallbackTarget[], differs = '') =>
    new Map(
      groups.map(({ name }) => [name, nextOf(name).flatMap((next) => resolve(name, next, differs) ?? [])] as const),
    );
  const any = resolved((name) => byGroup.get(name) ?? byDefault, STEP);
  const long = ofContext && resolved((name) => ofContext.get(name) ?? []);
  const refused = resolved((name) => ofRefusal.get(name) ?? []);

  return ({ name, models, first }: Omit<ImportedName, 'fallbacks'>): ImportedFallbacks => {
    /** Lists the models of the fallbacks. Each fallback is followed by its own fallbacks, as in LiteLLM. */
    const listOf = (nextOf: ReadonlyMap<string, readonly FallbackMatch[]>): string[] => {
      const own = new Set(models);
      const listed = new Set<string>();
      const visited = new Set([name]);
      const visit = (target: FallbackMatch): void => {
        if (listed.size >= LISTED_MAX || (typeof target === 'string' && visited.has(target))) return;
        for (const model of modelsOf(target)) if (!own.has(model)) listed.add(model.id);
        if (typeof target !== 'string') return;
        visited.add(target);
        for (const next of nextOf.get(target) ?? []) visit(next);
      };
      for (const target of nextOf.get(name) ?? []) visit(target);
      return [...listed];
    };
    const error = listOf(any);
    const context = long ? listOf(long) : error;
    // A list replaces the next best models of a selector, so it begins with them.
    const isOwnFirst = models.length > 1 && (first.length < models.length || error.length + context.length > 0);
    const own = isOwnFirst ? models.map(({ id }) => id) : [];
    const withOwn = (list: readonly string[]) => [...own, ...list].slice(0, LISTED_MAX);
    return { error: withOwn(error), rate_limit: withOwn(error), context: withOwn(context), refused: listOf(refused) };
  };
}

const STEP =
  'tried after errors and 429, and after too long prompts unless the configuration has context_window_fallbacks; a request that a provider or its content filter refuses is not tried again';

/** Resolves a fallback, and records its outcome. */
function resolver(
  { deployments, patterns, aliases, fallbacks, skipped }: NameInputs,
  usable: readonly ModelAlias[],
  sections: ReadonlyMap<string, string>,
  { outcomes }: ImportContext,
) {
  const groups = new Set(deployments.map(({ group }) => group));
  const byAlias = new Map(usable.map(({ name, group }) => [name, group]));
  // If two entries share an ID, the first entry counts.
  const byId = new Map(deployments.toReversed().map((one) => [one.id, one]));
  const embedders = new Set(deployments.filter(({ isEmbedder }) => isEmbedder).map(({ group }) => group));
  const isDefault = new Set(fallbacks.byDefault.map(({ node }) => node));
  /** @param differs how the fallback differs from LiteLLM's; empty if it does not */
  return (owner: string, { name, node }: FallbackTarget, differs: string): FallbackMatch | null => {
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
    else if (found !== null) {
      const to = [sections.get(owner) ?? 'models', owner, 'fallbacks'];
      if (differs === '') outcomes.mapped(node, to);
      else outcomes.approximated(node, to, differs);
    } else if (skipped.has(name) || aliases.some((one) => one.name === name))
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
  { fallbacks, patterns, skipped }: NameInputs,
  groups: ReadonlyMap<string, string>,
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
  { aliases, patterns, skipped }: NameInputs,
  sections: ReadonlyMap<string, string>,
  { outcomes }: ImportContext,
): ModelAlias[] {
  return aliases.filter(({ name, group, node }) => {
    if (sections.has(name)) outcomes.problem(node, 'model_list has an entry of this name, which stays in use');
    else if (BUILT_IN.includes(name))
      outcomes.problem(node, 'every policy has a selector of this name; rename the alias');
    else if (!isName(name))
      outcomes.problem(
        node,
        'a name must begin with a letter or digit and contain only letters, digits and . _ : / @ + -',
      );
    else if (sections.has(group)) {
      const to = [sections.get(group) ?? 'models', group, 'aliases'];
      outcomes.approximated(valueAt(node, 'hidden'), to, '/v1/models lists every alias');
      outcomes.mapped(node, to);
      return true;
    } else if (skipped.has(group)) outcomes.leftOut(node, 'its entry of model_list is left out');
    else if (isOfPattern(group, patterns)) outcomes.leftOut(node, BY_WILDCARD);
    else outcomes.problem(node, 'model_list has no entry of that name');
    return false;
  });
}
