import type { Static } from '@sinclair/typebox';
import { pageOfList } from '../admin/use-cases/pages.ts';
import { refuse } from '../core/errors.ts';
import { operationsIn, servesChats, VECTOR_BITS } from '../core/kinds/operations.ts';
import { mayChoose } from '../core/policy/found-models.ts';
import type { Model as CatalogModel, PolicySnapshot, Selector, WildcardFigure } from '../core/policy/snapshot.ts';
import { capabilityNames, MODEL_CAPABILITIES } from '../core/request/capability.ts';
import { listBody, modelBody } from '../dialects/openai-chat/models.ts';
import type { ListedModel, ListPage, ListRoute } from '../dialects/surface.ts';
import { listedAliases, type ModelLists, mayUse } from '../routing/model-name.ts';
import { isWildcard, modelDetails } from './model-details.ts';
import type { DetailedModel } from './schemas/models.ts';

/** A model of a list, and the model of the catalog; null for a selector. */
interface Entry extends ListedModel {
  readonly model: CatalogModel | null;
}

/** Writes a page of a list. */
type ListWriter = (models: readonly Entry[], hasMore: boolean) => object;

/** The models that a group of callers may use, in the order of the list. */
class ModelDirectory {
  readonly #models: readonly Entry[];
  readonly #write: ListWriter;
  readonly byId: ReadonlyMap<string, ListedModel>;
  /** The complete list as JSON. The list is stored as JSON, because clients request it often. */
  readonly whole: string;

  constructor(models: readonly Entry[], write: ListWriter) {
    this.#models = models;
    this.#write = write;
    this.byId = new Map(models.map((model) => [model.id, model]));
    this.whole = JSON.stringify(write(models, false));
  }

  /**
   * Returns a page of the list as JSON.
   *
   * @throws SignalboxError for a model that is not in the list
   */
  page({ limit, after, before }: ListPage): string {
    const from = after === null ? 0 : this.#indexOf(after, 'after_id') + 1;
    const to = before === null ? this.#models.length : this.#indexOf(before, 'before_id');
    // With `before`, the page contains the last models before that model.
    const isBackward = before !== null && after === null;
    const all = this.#models.slice(from, to);
    const { rows, hasMore } = pageOfList(isBackward ? all.reverse() : all, limit, (model) => model);
    return JSON.stringify(this.#write(isBackward ? rows.toReversed() : rows, hasMore));
  }

  #indexOf(id: string, param: string): number {
    const at = this.#models.findIndex((model) => model.id === id);
    if (at >= 0) return at;
    refuse(param, `\`${param}\` names no model in the list. Use an ID that the list contains.`);
  }
}

type Directories = WeakMap<object, ModelDirectory>;

/** The lists for a policy and a form of lists: one for all keys without a model list, and one for each model list or caller with levels. */
const directories = new WeakMap<PolicySnapshot, Map<ListRoute | null, Directories>>();

/** @param form the route whose form the list has; null for the list with details */
function directoryIn(snapshot: PolicySnapshot, caller: ModelLists, form: ListRoute | null): ModelDirectory {
  const isBound = caller.levels?.some(({ models }) => models !== null);
  // Levels and lists of denied models belong to one caller, so they stand for all its lists.
  const usable = (isBound ? caller.levels : (caller.notModels ?? caller.models)) ?? snapshot;
  return directories
    .getOrInsertComputed(snapshot, () => new Map())
    .getOrInsertComputed(form, () => new WeakMap())
    .getOrInsertComputed(usable, () =>
      form
        ? new ModelDirectory(listModels(snapshot, caller, []), (models, hasMore) => form.list(models, hasMore))
        : new ModelDirectory(listModels(snapshot, caller, wildcardsOf(snapshot)), detailedWriter(snapshot)),
    );
}

/** Returns the models that a caller may use, in the form of a route. The list is made once for each policy and caller. */
export const directoryOf = (snapshot: PolicySnapshot, caller: ModelLists, form: ListRoute): ModelDirectory =>
  directoryIn(snapshot, caller, form);

/** Returns the models that a caller may use, and the wildcards, with the details with which people compare models. */
export const detailedDirectoryOf = (snapshot: PolicySnapshot, caller: ModelLists): ModelDirectory =>
  directoryIn(snapshot, caller, null);

const detailedWriter = (snapshot: PolicySnapshot): ListWriter => {
  const bodyOf = (entry: Entry): Static<typeof DetailedModel> => ({
    ...modelBody(entry),
    ...modelDetails(snapshot, entry.model),
  });
  return (models, hasMore) => listBody(models.map(bodyOf), hasMore);
};

/** The wildcards as models with their own IDs. */
const wildcardsOf = ({ wildcards }: PolicySnapshot): readonly CatalogModel[] =>
  (wildcards?.patterns ?? []).map((model) => ({ ...model, pattern: model.id }));

/** @param others models that follow the models of the client list */
function listModels(snapshot: PolicySnapshot, caller: ModelLists, others: readonly CatalogModel[]): Entry[] {
  const { models, selectors, wildcards } = snapshot;
  const isUsable = (model: CatalogModel) => mayUse(caller, model);
  const named = [
    ...[...selectors.values()].map((selector) => selectorEntry(selector, models, isUsable)),
    ...[...models, ...(wildcards?.listed() ?? []), ...others]
      .filter(isUsable)
      .map((model) => modelEntry(model, wildcards)),
  ];
  const aliases = Map.groupBy(listedAliases(snapshot), ([, of]) => of);
  return named.flatMap((entry) => [
    entry,
    ...(aliases.get(entry.id) ?? []).map(([alias]) => ({ ...entry, id: alias })),
  ]);
}

function modelEntry(model: CatalogModel, wildcards: PolicySnapshot['wildcards']): Entry {
  const { id, created, deprecated, endpoints, contextWindow, maxOutput, operations, capabilities } = model;
  const states = (figure: WildcardFigure) => !isWildcard(model) || wildcards?.states(id, figure) === true;
  return {
    id,
    shownAs: id,
    created,
    owner: endpoints[0].provider,
    deprecated,
    inputTokensMax: states('context_window') ? contextWindow : null,
    outputTokensMax: servesChats(model) && states('max_output') ? maxOutput : null,
    operations: operationsIn(operations),
    abilities: abilitiesIn(capabilities),
    model,
  };
}

function selectorEntry(
  { name, allows, vectorSpace }: Selector,
  models: readonly CatalogModel[],
  isUsable: (model: CatalogModel) => boolean,
): Entry {
  const all = models.filter((model, at) => isUsable(model) && mayChoose({ allows }, model, at));
  // A selector that also answers in text does not list embedding as an ability.
  const writing = all.filter(servesChats);
  const chosen = writing.length > 0 ? writing : all;
  // Vectors of different models cannot be compared, so a selector without a vector space cannot serve embeddings.
  const unserved = vectorSpace === null ? VECTOR_BITS : 0;
  const most = (figures: readonly number[]) => (figures.length === 0 ? null : Math.max(...figures));
  return {
    id: name,
    shownAs: name,
    created: 0,
    owner: 'signalbox',
    deprecated: null,
    inputTokensMax: most(chosen.map(({ contextWindow }) => contextWindow)),
    outputTokensMax: most(writing.map(({ maxOutput }) => maxOutput)),
    operations: operationsIn(all.reduce((bits, { operations }) => bits | operations, 0) & ~unserved),
    abilities: abilitiesIn(chosen.reduce((bits, { capabilities }) => bits | capabilities, 0)),
    model: null,
  };
}

const abilitiesIn = (bits: number): string[] =>
  capabilityNames(bits).filter((name) => MODEL_CAPABILITIES.includes(name));
