import { Account, type Problem, type Told } from './account.ts';
import { readLimits } from './budgets.ts';
import { readCatalog } from './catalog.ts';
import { type Context, mapOf, referenceIn, Todo, textOf } from './context.ts';
import { lineKey, type PolicyText } from './emit.ts';
import { type Deployment, readEntry } from './entries.ts';
import { readAliases, readFallbacks, type Settings } from './fallbacks.ts';
import { type Include, withIncludes } from './includes.ts';
import { LEFT_OUT_PARAMS } from './left-out.ts';
import { nameProviders } from './models.ts';
import { writePolicy } from './policy.ts';
import { choose } from './selectors.ts';
import { readCommon, tellSections } from './settings.ts';
import { isNothing, leavesOf, type MapNode, type Node, readTree, valueAt } from './tree.ts';
import { expand } from './wildcards.ts';

export { OUTCOMES } from './account.ts';
export { NotIncluded } from './includes.ts';
export { NotYaml } from './tree.ts';

/** What an import is given beside the configuration. */
export interface ImportSources {
  /** The configuration's name, for comments. */
  readonly name: string;
  /** `models.yaml` of the shipped policy: facts of models that the configuration does not state. */
  readonly catalog: string;
  /** LiteLLM's own map of prices, parsed: name → its entry. Empty without one. */
  readonly priceMap: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** The day, `2026-11-20`. */
  readonly today: string;
  readonly include: Include;
}

/** What became of one key of the configuration, and where that is now. */
export interface KeyReport extends Told {
  /** Of what it became: `models.yaml`, and a line from 1; null for what is left out, or built in. */
  readonly file: string | null;
  readonly fileLine: number | null;
}

export interface ImportReport {
  /** Every key that has no keys of its own, in the order of the configuration. */
  readonly keys: readonly KeyReport[];
  /** What is wrong with the configuration itself. */
  readonly problems: readonly Problem[];
  /** IDs of models whose price nobody told. */
  readonly unknownPrices: readonly string[];
  /** Model → what was assumed of it. */
  readonly assumed: ReadonlyMap<string, readonly string[]>;
  /** Variable → what is to be in it. */
  readonly variables: ReadonlyMap<string, string>;
  readonly providers: readonly string[];
  readonly models: readonly string[];
  readonly selectors: readonly string[];
  /** Names of entries that are not served. */
  readonly without: readonly { readonly name: string | null; readonly why: string }[];
}

export interface Imported {
  /** Empty where no model is left. */
  readonly files: readonly PolicyText[];
  readonly report: ImportReport;
}

/** Turns a LiteLLM proxy configuration into the files of a policy, and tells what became of each key. Throws NotYaml. */
export function importLitellm(text: string, sources: ImportSources): Imported {
  const account = new Account();
  const root = withIncludes(readTree(text), sources.include, account);
  const context: Context = {
    account,
    catalog: readCatalog(sources.catalog),
    priceMap: sources.priceMap,
    credentials: readCredentials(valueAt(root, 'credential_list'), account),
    today: sources.today,
    todo: new Todo(referredIn(root)),
  };
  if (root.kind !== 'map') account.problem(root, 'a configuration is a map with model_list in it');
  const settings: Settings = {
    router: mapOf(valueAt(root, 'router_settings'), account, 'a map of settings'),
    library: mapOf(valueAt(root, 'litellm_settings'), account, 'a map of settings'),
  };
  const general = valueAt(root, 'general_settings');
  const { deployments, without } = readModels(root, context);
  const providers = nameProviders(deployments);
  const fallbacks = readFallbacks(settings, context);
  const aliases = readAliases(settings, context);
  const named = new Set(without.flatMap(({ name }) => name ?? []));
  const chosen = choose({ deployments, fallbacks, aliases, without: named }, context);
  const common = readCommon(settings, general, context);
  const selectors = [...chosen.selectors.flatMap(({ names }) => names), ...chosen.aliases.map(({ name }) => name)];
  // An alias that is no name for a policy was left out.
  const isWritten = new Set(selectors);
  const aliasesOf = Map.groupBy(aliases, ({ group }) => group);
  const namesOf = (group: string) => [
    group,
    ...(aliasesOf.get(group) ?? []).map(({ name }) => name).filter((name) => isWritten.has(name)),
  ];
  const limits = readLimits(settings, deployments, namesOf, context);
  tellSections(root, general, context);
  const drafts = { providers, chosen, common, limits, source: sources.name };
  const files = deployments.length === 0 ? [] : writePolicy(drafts, context);
  const { todo } = context;
  return {
    files,
    report: {
      keys: account.all(root).map((told) => ({ ...told, ...placeIn(files, told.to) })),
      problems: account.problems(),
      unknownPrices: [...todo.prices],
      assumed: todo.assumed,
      variables: todo.variables,
      providers: providers.map(({ name }) => name),
      models: chosen.groups.flatMap(({ models }) => models.map(({ id }) => id)),
      selectors,
      without,
    },
  };
}

/** The variables that a configuration names. */
const referredIn = (root: Node): string[] => leavesOf(root).flatMap((leaf) => referenceIn(textOf(leaf) ?? '') || []);

interface ModelsRead {
  readonly deployments: readonly Deployment[];
  readonly without: readonly { readonly name: string | null; readonly why: string }[];
}

function readModels(root: Node, context: Context): ModelsRead {
  const list = valueAt(root, 'model_list');
  const deployments: Deployment[] = [];
  const without: { name: string | null; why: string }[] = [];
  if (!list || isNothing(list)) return { deployments, without };
  if (list.kind !== 'list') {
    context.account.problem(list, 'model_list must be a list of entries, each with model_name and litellm_params');
    return { deployments, without };
  }
  for (const item of list.items) {
    const pattern = expand(item, context);
    if (pattern && pattern.entries.length === 0) without.push({ name: pattern.name, why: 'a pattern' });
    for (const entry of pattern?.entries ?? [item]) {
      const read = readEntry(entry, context);
      if ('deployment' in read) deployments.push(read.deployment);
      else without.push(read);
    }
  }
  return { deployments, without };
}

function readCredentials(list: Node | undefined, account: Account): ReadonlyMap<string, MapNode> {
  const found = new Map<string, MapNode>();
  if (list && list.kind !== 'list')
    account.problem(list, 'it must be a list of maps with credential_name and credential_values');
  for (const item of list?.kind === 'list' ? list.items : []) {
    const nameNode = valueAt(item, 'credential_name');
    const name = textOf(nameNode);
    const values = valueAt(item, 'credential_values');
    if (!nameNode || name === null || values?.kind !== 'map') {
      account.problem(nameNode ?? item, 'a credential needs credential_name and credential_values, a map');
      continue;
    }
    found.set(name, values);
    account.mapped(nameNode, ['providers'], 'the providers of the entries that name it');
    account.leftOut(valueAt(item, 'credential_info'), 'a note');
    for (const { key, node } of values.entries) {
      const why = LEFT_OUT_PARAMS.get(key);
      if (why !== undefined) account.leftOut(node, why);
    }
  }
  return found;
}

/** The file and line of a key of the policy, or of the nearest key above it. */
function placeIn(files: readonly PolicyText[], to: readonly string[] | null): Pick<KeyReport, 'file' | 'fileLine'> {
  for (let length = to?.length ?? 0; length > 0; length--) {
    const key = lineKey(to?.slice(0, length) ?? []);
    const file = files.find(({ lines }) => lines.has(key));
    if (file) return { file: file.name, fileLine: file.lines.get(key) ?? null };
  }
  return { file: null, fileLine: null };
}
