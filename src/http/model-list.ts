import type { Static } from '@sinclair/typebox';
import { pageOfList } from '../admin/use-cases/pages.ts';
import { capabilityNames, MODEL_CAPABILITIES } from '../core/capability.ts';
import { refuse } from '../core/errors.ts';
import { mayChoose } from '../core/found-models.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation } from '../core/operation.ts';
import type { Model as CatalogModel, PolicySnapshot, Selector, WildcardFigure } from '../core/snapshot.ts';
import { type ModelLists, mayUse } from '../routing/model-name.ts';
import { isWildcard, modelDetails, writesText } from './model-details.ts';
import type { ModelList, Model as ModelSchema } from './schemas/models.ts';

type Model = Static<typeof ModelSchema>;

/** The models that a group of callers may use, in the order of the list. */
class ModelDirectory<Listed extends Model> {
  readonly #models: readonly Listed[];
  readonly byId: ReadonlyMap<string, Listed>;
  /** The complete list as JSON. The list is stored as JSON, because clients request it often. */
  readonly whole: string;

  constructor(models: readonly Listed[]) {
    this.#models = models;
    this.byId = new Map(models.map((model) => [model.id, model]));
    this.whole = JSON.stringify(listBody(models, false));
  }

  /**
   * Returns a page of the list as JSON.
   *
   * @throws SignalboxError for a model that is not in the list
   */
  page({ limit, after, before }: PageQuery): string {
    const from = after === null ? 0 : this.#indexOf(after, 'after_id') + 1;
    const to = before === null ? this.#models.length : this.#indexOf(before, 'before_id');
    // With `before`, the page contains the last models before that model.
    const isBackward = before !== null && after === null;
    const all = this.#models.slice(from, to);
    const { rows, hasMore } = pageOfList(isBackward ? all.reverse() : all, limit, (model) => model);
    return JSON.stringify(listBody(isBackward ? rows.toReversed() : rows, hasMore));
  }

  #indexOf(id: string, param: string): number {
    const at = this.#models.findIndex((model) => model.id === id);
    if (at >= 0) return at;
    refuse(param, `\`${param}\` names no model in the list. Use an ID that the list contains.`);
  }
}

/** A page of the list as Anthropic's clients request it. */
export interface PageQuery {
  readonly limit: number;
  /** The ID before the page; null for none. */
  readonly after: string | null;
  /** The ID after the page; null for none. */
  readonly before: string | null;
}

const listBody = (data: readonly Model[], hasMore: boolean): Static<typeof ModelList> => ({
  object: 'list',
  data: [...data],
  has_more: hasMore,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  models: [],
});

type Directories<More extends object> = WeakMap<object, ModelDirectory<Model & More>>;
type Details = ReturnType<typeof modelDetails>;

/** The lists for a policy: one for all keys without a model list, and one for each model list or caller with levels. */
const directories = new WeakMap<
  PolicySnapshot,
  { readonly plain: Directories<object>; readonly detailed: Directories<Details> }
>();

function directoriesOf(snapshot: PolicySnapshot) {
  const known = directories.get(snapshot) ?? { plain: new WeakMap(), detailed: new WeakMap() };
  directories.set(snapshot, known);
  return known;
}

/** Returns the models that a caller may use. The list is made once for each policy and caller. */
export const directoryOf = (snapshot: PolicySnapshot, caller: ModelLists): ModelDirectory<Model> =>
  directoryIn(directoriesOf(snapshot).plain, snapshot, caller, () => ({}));

/** Returns the models that a caller may use, and the wildcards, with the details with which people compare models. */
export const detailedDirectoryOf = (snapshot: PolicySnapshot, caller: ModelLists): ModelDirectory<Model & Details> =>
  directoryIn(
    directoriesOf(snapshot).detailed,
    snapshot,
    caller,
    (model) => modelDetails(snapshot, model),
    wildcardsOf,
  );

/** The wildcards as models with their own IDs. */
const wildcardsOf = ({ wildcards }: PolicySnapshot): readonly CatalogModel[] =>
  (wildcards?.patterns ?? []).map((model) => ({ ...model, pattern: model.id }));

/**
 * @param more adds members to a model; null stands for a selector
 * @param othersOf models that follow the models of the client list
 */
function directoryIn<More extends object>(
  known: Directories<More>,
  snapshot: PolicySnapshot,
  caller: ModelLists,
  more: (model: CatalogModel | null) => More,
  othersOf: (snapshot: PolicySnapshot) => readonly CatalogModel[] = () => [],
): ModelDirectory<Model & More> {
  const isBound = caller.levels?.some(({ models }) => models !== null);
  const usable = (isBound ? caller.levels : caller.models) ?? snapshot;
  const directory = known.get(usable) ?? new ModelDirectory(listModels(snapshot, caller, more, othersOf(snapshot)));
  known.set(usable, directory);
  return directory;
}

function listModels<More extends object>(
  snapshot: PolicySnapshot,
  caller: ModelLists,
  more: (model: CatalogModel | null) => More,
  others: readonly CatalogModel[],
): (Model & More)[] {
  const { models, selectors, wildcards } = snapshot;
  const isUsable = (model: CatalogModel) => mayUse(caller, model);
  const named = [
    ...[...selectors.values()].map((selector) => ({ ...selectorBody(selector, models, isUsable), ...more(null) })),
    ...[...models, ...(wildcards?.listed() ?? []), ...others]
      .filter(isUsable)
      .map((model) => ({ ...modelBody(model, wildcards), ...more(model) })),
  ];
  const aliases = Map.groupBy(snapshot.aliases.keys(), (alias) => snapshot.aliases.get(alias)!);
  return named.flatMap((model) => [
    model,
    ...(aliases.get(model.id) ?? []).map((alias) => ({ ...model, id: alias, display_name: model.id })),
  ]);
}

function modelBody(model: CatalogModel, wildcards: PolicySnapshot['wildcards']): Model {
  const { id, created, deprecated, endpoints, contextWindow, maxOutput, operations, capabilities } = model;
  const states = (figure: WildcardFigure) => !isWildcard(model) || wildcards?.states(id, figure) === true;
  return {
    ...head(id, created, endpoints[0].provider, deprecated),
    max_input_tokens: states('context_window') ? contextWindow : null,
    max_tokens: writesText(model) && states('max_output') ? maxOutput : null,
    operations: operationsIn(operations),
    abilities: abilitiesIn(capabilities),
  };
}

function selectorBody(
  { name, allows, vectorSpace }: Selector,
  models: readonly CatalogModel[],
  isUsable: (model: CatalogModel) => boolean,
): Model {
  const all = models.filter((model, at) => isUsable(model) && mayChoose({ allows }, model, at));
  // A selector that also answers in text does not list embedding as an ability.
  const writing = all.filter(writesText);
  const chosen = writing.length > 0 ? writing : all;
  // Vectors of different models cannot be compared, so a selector without a vector space cannot serve embeddings.
  const unserved = vectorSpace === null ? OPERATIONS.embed.bit : 0;
  const most = (figures: readonly number[]) => (figures.length === 0 ? null : Math.max(...figures));
  return {
    ...head(name, 0, 'signalbox'),
    max_input_tokens: most(chosen.map(({ contextWindow }) => contextWindow)),
    max_tokens: most(writing.map(({ maxOutput }) => maxOutput)),
    operations: operationsIn(all.reduce((bits, { operations }) => bits | operations, 0) & ~unserved),
    abilities: abilitiesIn(chosen.reduce((bits, { capabilities }) => bits | capabilities, 0)),
  };
}

const head = (id: string, created: number, owner: string, deprecated: number | null = null) =>
  ({
    id,
    object: 'model',
    created,
    owned_by: owner,
    type: 'model',
    display_name: id,
    created_at: momentOf(created),
    lifecycle: deprecated === null ? 'active' : 'deprecated',
    deprecated_at: deprecated === null ? null : momentOf(deprecated),
    // Strict readers of Anthropic’s list require these members.
    retires_at: null,
    line: null,
    capabilities: null,
  }) as const;

const momentOf = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

const operationsIn = (bits: number): Operation[] =>
  OPERATION_NAMES.filter((name) => (bits & OPERATIONS[name].bit) !== 0);

const abilitiesIn = (bits: number): string[] =>
  capabilityNames(bits).filter((name) => MODEL_CAPABILITIES.includes(name));
