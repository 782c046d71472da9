import type { PolicyText } from '../../../policy/yaml/emit.ts';
import { readAnswerCache } from './answer-cache.ts';
import { readLimits } from './budgets.ts';
import { readCatalog } from './catalog.ts';
import { type ImportContext, itemsOf, mapOf, OperatorTodo, variableReference } from './context.ts';
import { type Deployment, readEntry, type SkippedEntry } from './entries.ts';
import { type LitellmSettings, readAliases, readFallbacks } from './fallbacks.ts';
import { readGuardrails } from './guardrails.ts';
import { type IncludeReader, withIncludes } from './includes.ts';
import { LEFT_OUT_PARAMS } from './left-out.ts';
import { nameProviders } from './models.ts';
import { type ImportProblem, type KeyOutcome, OutcomeRecorder } from './outcomes.ts';
import { type ModelsOf, readPeople } from './people.ts';
import { writePolicy } from './policy.ts';
import { type ImportedName, planNames } from './selectors.ts';
import { servableOf } from './servable.ts';
import { readCommonSettings, reportSections } from './settings.ts';
import { type ConfigNode, leavesOf, readTree, scalarText, valueAt } from './tree.ts';
import { expandEverything, firstWildcards } from './wildcards.ts';

export { NotIncluded } from './includes.ts';
export { OUTCOMES } from './outcomes.ts';
export { NotYaml } from './tree.ts';

/** The inputs of an import in addition to the configuration. */
export interface ImportSources extends Pick<ImportContext, 'facts' | 'priceMap' | 'today'> {
  /** The name of the configuration, for comments. */
  readonly name: string;
  /** The files of the shipped policy that have models, for facts that the configuration does not state. */
  readonly catalog: readonly string[];
  readonly include: IncludeReader;
}

/** The outcome of a configuration key, with its position in the policy. */
export interface KeyReport extends KeyOutcome {
  /** The policy file, such as `models.yaml`, and the line, counted from 1; null for a key that is left out or built in. */
  readonly file: string | null;
  readonly fileLine: number | null;
}

export interface ImportReport extends Readonly<Pick<OperatorTodo, 'questions' | 'assumed' | 'variables'>> {
  /** Every leaf of the configuration, in order. */
  readonly keys: readonly KeyReport[];
  /** Mistakes in the configuration itself. */
  readonly problems: readonly ImportProblem[];
  readonly providers: readonly string[];
  readonly models: readonly string[];
  readonly selectors: readonly string[];
  /** Entries of `model_list` that are not served. */
  readonly skipped: readonly SkippedEntry[];
}

export interface ImportResult {
  /** Empty if no model can be served. */
  readonly files: readonly PolicyText[];
  readonly report: ImportReport;
}

/**
 * Converts a LiteLLM proxy configuration into the files of a policy, and reports the outcome of each key.
 * @throws NotYaml
 */
export function importLitellm(text: string, sources: ImportSources): ImportResult {
  const outcomes = new OutcomeRecorder();
  const root = withIncludes(readTree(text), sources.include, outcomes);
  const context: ImportContext = {
    outcomes,
    catalog: sources.catalog.flatMap(readCatalog),
    facts: sources.facts,
    priceMap: sources.priceMap,
    credentials: readCredentials(valueAt(root, 'credential_list'), outcomes),
    today: sources.today,
    todo: new OperatorTodo(variablesIn(root)),
  };
  if (root.kind !== 'map') outcomes.problem(root, 'a configuration must be a map that contains model_list');
  const settings: LitellmSettings = {
    router: mapOf(valueAt(root, 'router_settings'), outcomes, 'a map of settings'),
    library: mapOf(valueAt(root, 'litellm_settings'), outcomes, 'a map of settings'),
  };
  const general = valueAt(root, 'general_settings');
  const { deployments, wildcards, open, skipped } = readModels(root, context);
  const providers = nameProviders([...deployments, ...wildcards, ...open]);
  const fallbacks = readFallbacks(settings, context);
  const aliases = readAliases(settings, context);
  const named = new Set(skipped.flatMap(({ name }) => name ?? []));
  const patterns = wildcards.map(({ group }) => group);
  const guards = readGuardrails(root, context);
  const cache = readAnswerCache(settings, context);
  const common = readCommonSettings(settings, general, context);
  const names = planNames({ deployments, patterns, fallbacks, aliases, skipped: named }, common, context);
  const limits = readLimits(settings, deployments, context);
  const people = readPeople(settings, modelsOf(names, patterns), context);
  reportSections(root, general, context);
  const drafts = { providers, names, wildcards, open, common, limits, people, guards, cache, source: sources.name };
  const files = deployments.length + wildcards.length === 0 ? [] : writePolicy(drafts, context);
  const trees = new Map(files.map(({ name, text }) => [name, readTree(text)]));
  const { todo } = context;
  return {
    files,
    report: {
      keys: outcomes.all(root).map((key) => ({ ...key, ...locate(trees, key.to) })),
      problems: outcomes.problems(),
      questions: todo.questions,
      assumed: todo.assumed,
      variables: todo.variables,
      providers: providers.map(({ name }) => name),
      models: [...names.flatMap(({ models }) => models.map(({ id }) => id)), ...patterns],
      selectors: names.flatMap(({ name, isSelector }) => (isSelector ? [name] : [])),
      skipped,
    },
  };
}

/** Returns a function that finds the models of a name: the models of a group or of an alias, or those that a wildcard serves. */
function modelsOf(names: readonly ImportedName[], patterns: readonly string[]): ModelsOf {
  const byName = new Map(
    names.flatMap(({ name, aliases, models }) =>
      [name, ...aliases].map((one): [string, string[]] => [one, models.map(({ id }) => id)]),
    ),
  );
  const starts = patterns.map((pattern) => pattern.slice(0, -1));
  return (name) => byName.get(name) ?? (starts.some((start) => name.startsWith(start)) ? [name] : null);
}

/** Returns the environment variables that a configuration refers to. */
const variablesIn = (root: ConfigNode): string[] =>
  leavesOf(root).flatMap((leaf) => variableReference(scalarText(leaf) ?? '') || []);

/** Reads the models. Models that need an answer from the operator are returned as `open`. */
function readModels(root: ConfigNode, context: ImportContext) {
  const list = valueAt(root, 'model_list');
  const read: Deployment[] = [];
  const skipped: SkippedEntry[] = [];
  const expected = 'model_list must be a list of entries, each with model_name and litellm_params';
  const items = itemsOf(list, context.outcomes, expected);
  const named = new Set(items.map((item) => scalarText(valueAt(item, 'model_name'))));
  for (const item of items) {
    for (const entry of expandEverything(item, named, context) ?? [item]) {
      const result = readEntry(entry, context);
      if ('deployment' in result) read.push(result.deployment);
      else skipped.push(result);
    }
  }
  const { deployments, open, refused } = servableOf(read, context);
  const wildcards = firstWildcards(
    read.filter(({ isPattern }) => isPattern),
    context,
  );
  return { deployments, wildcards, open, skipped: [...skipped, ...refused] };
}

function readCredentials(list: ConfigNode | undefined, outcomes: OutcomeRecorder): ReadonlyMap<string, ConfigNode> {
  const found = new Map<string, ConfigNode>();
  const expected = 'it must be a list of maps with credential_name and credential_values';
  for (const item of itemsOf(list, outcomes, expected)) {
    const nameNode = valueAt(item, 'credential_name');
    const name = scalarText(nameNode);
    const values = valueAt(item, 'credential_values');
    if (!nameNode || name === null || values?.kind !== 'map') {
      outcomes.problem(nameNode ?? item, 'a credential needs credential_name and credential_values, a map');
      continue;
    }
    found.set(name, values);
    outcomes.mapped(nameNode, ['providers'], 'the providers of the entries that name it');
    outcomes.leftOut(valueAt(item, 'credential_info'), 'it is only a note');
    outcomes.leaveRest(values, (key) => LEFT_OUT_PARAMS.get(key));
  }
  return found;
}

/** Finds the file and line of a policy path, or of its nearest parent. */
function locate(
  trees: ReadonlyMap<string, ConfigNode>,
  to: readonly string[] | null,
): Pick<KeyReport, 'file' | 'fileLine'> {
  for (let length = to?.length ?? 0; length > 0; length--) {
    for (const [file, tree] of trees) {
      const found = to?.slice(0, length).reduce(below, tree);
      if (found) return { file, fileLine: found.line };
    }
  }
  return { file: null, fileLine: null };
}

/** Follows a single step of a policy path: a key, or the name or index of an item in a list. */
const below = (node: ConfigNode | undefined, step: string): ConfigNode | undefined =>
  node?.kind === 'list'
    ? node.items.find((item, at) => (scalarText(valueAt(item, 'name')) ?? String(at)) === step)
    : valueAt(node, step);
