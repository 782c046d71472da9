import { hasVectors, isConversation, servesChats } from '../../core/kinds/operations.ts';
import { type FoundModel, type FoundModels, isMissing, isSameName } from '../../core/policy/found-models.ts';
import { setBit } from '../../core/policy/rules.ts';
import type { LeftOut, Model, Task } from '../../core/policy/snapshot.ts';
import { checkValue } from '../check/check.ts';
import type { DraftReader } from '../define/section.ts';
import { MODELS } from '../models/catalog.ts';
import { PRICES } from '../models/contracts.ts';
import { modelSchemaOf } from '../models/embeddings.ts';
import { latencies } from '../models/latency.ts';
import { draftModel, type ModelContext, type ModelDraft, UNLISTED } from '../models/models.ts';
import { merged, treeOf, type WildcardDraft } from '../models/wildcards.ts';
import { statesKey } from '../providers/key-pool.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { ProviderSetup } from '../providers/setup.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import { Report } from '../report/report.ts';
import { type CheckedRules, type CompiledRules, judgeModel } from '../rules/rules.ts';
import { CREDITS } from '../sections/credits.ts';
import { TASKS } from '../sections/tasks.ts';
import { SELECTORS } from '../selectors/selectors.ts';
import { type MapTree, type Tree, toData, valueAt } from '../yaml/tree.ts';
import { type FoundPrices, wildcardFor } from './found-prices.ts';

/**
 * Guessed shares of good answers by the number of parameters: a model with fewer parameters than `below` gets `quality`. The table knows no
 * names, because anybody can rename a model.
 */
export const QUALITY_BY_SIZE: readonly { readonly below: number; readonly quality: number }[] = [
  { below: 1e9, quality: 0.4 },
  { below: 3e9, quality: 0.5 },
  { below: 6e9, quality: 0.6 },
  { below: 12e9, quality: 0.68 },
  { below: 25e9, quality: 0.75 },
  { below: 60e9, quality: 0.8 },
  { below: Number.POSITIVE_INFINITY, quality: 0.84 },
];
/** The guessed share of good answers of a model whose number of parameters is unknown. */
export const QUALITY_OF_UNKNOWN_SIZE = 0.5;

/** The row of the table for a model of unknown size. */
const ROW_OF_UNKNOWN_SIZE = QUALITY_BY_SIZE.findIndex(({ quality }) => quality === QUALITY_OF_UNKNOWN_SIZE);

/** By how many rows of the table a model counts as larger or smaller than it is. */
const ROWS_FOR_SKILL = 2;

/** The facts of a found model that decide its guessed quality. */
type GuessedFrom = Pick<FoundModel, 'parameters' | 'capabilities' | 'inserts'>;

function qualityBySize({ parameters }: GuessedFrom, rows = 0): number {
  const row = parameters === null ? ROW_OF_UNKNOWN_SIZE : QUALITY_BY_SIZE.findIndex(({ below }) => parameters < below);
  return QUALITY_BY_SIZE[Math.min(Math.max(row + rows, 0), QUALITY_BY_SIZE.length - 1)]!.quality;
}

/** Whether a model reads images but neither calls tools nor reasons, so that it was probably trained to describe images. */
const describesImages = ({ capabilities }: GuessedFrom): boolean =>
  capabilities.includes('vision') && !capabilities.includes('tools') && !capabilities.includes('reasoning');

/** Returns the guessed share of good answers of a model for chats, for tasks without a guess of their own. */
export const qualityOf = (model: GuessedFrom): number =>
  qualityBySize(model, describesImages(model) ? -ROWS_FOR_SKILL : 0);

/** Returns the guessed shares of good answers by task. A model that fills gaps in texts was trained for code. */
const qualitiesOf = (model: GuessedFrom): Readonly<Record<string, number>> => ({
  default: qualityOf(model),
  ...(model.inserts && { coding: qualityBySize(model, ROWS_FOR_SKILL) }),
  ...(describesImages(model) && { vision: qualityBySize(model) }),
});

/** The smallest maximum of output tokens, unless the whole context is smaller. */
const OUTPUT_MIN = 1_024;

/** Returns the most output tokens of a found model, which leave most of the context to the prompt. */
export const maxOutputOf = (contextWindow: number): number =>
  Math.min(contextWindow, Math.max(OUTPUT_MIN, Math.floor(contextWindow / 4)));

interface FoundContext {
  readonly of: DraftReader;
  /** The beginning of the policy. */
  readonly start: SourceSpan;
  readonly setups: ReadonlyMap<string, ProviderSetup>;
  readonly prices: FoundPrices;
}

/** The found models that are served, and those that are not, with the reason. */
interface FoundDrafts {
  readonly drafts: readonly ModelDraft[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Drafts the found models that the policy does not have itself. A name, an alias or an entry of the policy takes precedence over a found
 * model, and the keys of a wildcard apply to the found models that it covers.
 */
export function draftFound(found: FoundModels | null, context: FoundContext): FoundDrafts {
  const leftOut: LeftOut[] = [];
  if (found === null) return { drafts: [], leftOut };
  const { of, start, setups, prices } = context;
  const { drafts: declared, wildcards } = of(MODELS);
  const own = declared.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint));
  const isTaken = takenIn(of);
  const ofModels: ModelContext = {
    report: new Report(),
    start,
    sections: new Map(),
    usdPerCredit: of(CREDITS).usdPerCredit,
    needsKey: new Map(of(PROVIDERS).named.map(({ name, data }) => [name, statesKey(data)])),
    taskIndex: new Map(of(TASKS).map(({ name }, at) => [name, at])),
    ...UNLISTED,
    contracts: of(PRICES),
  };
  const drafts = found.servers.flatMap(({ provider, models }) => {
    const setup = setups.get(provider);
    if (!setup?.provider?.discover || setup.unset.length > 0) return [];
    const states = (id: string, at: string, key: string) => {
      const wildcard = wildcardFor(id, at, wildcards);
      return wildcard !== null && valueAt(wildcard.tree, key) !== undefined;
    };
    const isOwn = ({ upstream }: FoundModel) =>
      own.some((one) => one.provider === provider && isSameName(one.upstream, upstream));
    return models.flatMap((model) => {
      const id = `${provider}/${model.name}`;
      if (isTaken(id) || isOwn(model)) return [];
      const refusal = prices.refusalOf(provider, model);
      if (refusal !== null) {
        leftOut.push({ kind: 'found', name: id, ...refusal });
        return [];
      }
      const draft = draftOne(id, model, setup, wildcards, ofModels);
      if (!draft) return [];
      const isContextGuessed = model.isContextGuessed && !states(id, provider, 'context_window');
      const { inserts, since } = model;
      const mark = { provider, isNamedOnly: true, isContextGuessed, since, ...(inserts === false && { inserts }) };
      return [{ ...draft, model: { ...draft.model, found: mark } }];
    });
  });
  return { drafts, leftOut };
}

/** Returns whether the policy uses a name itself, for a model, a selector or an alias. */
function takenIn(of: DraftReader): (id: string) => boolean {
  const { named: selectors, aliases } = of(SELECTORS);
  const names = new Set([...of(MODELS).ids.keys(), ...selectors.map(({ name }) => name), ...aliases.keys()]);
  const starts = [...aliases.keys()].filter((alias) => alias.endsWith('*')).map((alias) => alias.slice(0, -1));
  return (id) => names.has(id) || starts.some((start) => id.startsWith(start));
}

function draftOne(
  id: string,
  model: FoundModel,
  { name: provider, place }: ProviderSetup,
  wildcards: readonly WildcardDraft[],
  context: ModelContext,
): ModelDraft | null {
  const wildcard = wildcardFor(id, provider, wildcards);
  const own: MapTree = wildcard?.tree ?? { kind: 'map', entries: [], place };
  const stated = valueAt(own, 'context_window');
  const contextWindow = stated === undefined ? model.contextWindow : Number(toData(stated));
  const chats = isConversation(model.operation);
  const facts = {
    provider,
    upstream: model.upstream,
    price: { input: 0, output: 0, basis: 'own' },
    context_window: contextWindow,
    max_output: chats ? maxOutputOf(contextWindow) : 0,
    operations: [model.operation],
    capabilities: model.capabilities,
    ...(hasVectors(model.operation) && { embedding: { dimensions: model.dimensions } }),
    quality: { ...(chats ? qualitiesOf(model) : { default: 1 }), basis: 'guessed' },
  };
  const more: Record<string, Tree> = {};
  for (const [key, value] of Object.entries(facts)) more[key] = treeOf(value, place);
  if (wildcard?.unknownPrice) more.price = wildcard.unknownPrice;
  const report = new Report();
  const subject = { path: `providers.${provider}`, place, name: id, tree: merged(own, more) };
  const named = { ...subject, data: checkValue(modelSchemaOf(subject.tree), subject, report) };
  const latencyOf = wildcard ? () => wildcard.standIn.model.latency : latencies([], UNLISTED);
  const draft = draftModel(named, latencyOf, { ...context, report });
  return report.failed ? null : draft;
}

/**
 * Decides which found models selectors may choose: models of providers with `discover: choose`, and all others while no declared model can
 * serve chats.
 */
export function withChoices(
  models: readonly Model[],
  found: FoundModels | null,
  setups: ReadonlyMap<string, ProviderSetup>,
): readonly Model[] {
  if (found === null) return models;
  const isServed = (model: Model) =>
    model.found === undefined && servesChats(model) && !model.endpoints.every((one) => isMissing(found, one));
  const hasDeclared = models.some(isServed);
  return models.map((model) => {
    if (!model.found || !servesChats(model)) return model;
    const competes = !hasDeclared || setups.get(model.found.provider)?.provider?.discover === 'choose';
    return competes ? { ...model, found: { ...model.found, isNamedOnly: false } } : model;
  });
}

/** Evaluates the rules on the found models, as on the models of a wildcard, and adds the models to the compiled bits. */
export function judgeFound(
  models: readonly Model[],
  drafts: readonly ModelDraft[],
  { constraints, preferences, filters }: CompiledRules,
  rules: CheckedRules,
  tasks: readonly Task[],
): void {
  const byId = new Map(drafts.map((draft) => [draft.model.id, draft]));
  for (const [index, model] of models.entries()) {
    const draft = model.found && byId.get(model.id);
    if (!draft) continue;
    const { allowed, preferred, chosen } = judgeModel(rules, tasks, draft);
    for (const [at, { allows }] of constraints.entries()) {
      if (!allows || !allowed[at]) continue;
      for (const key of model.endpoints.keys()) setBit(allows, model.firstSlot + key);
    }
    for (const [at, { prefers }] of preferences.entries()) if (preferred[at]) setBit(prefers, index);
    for (const [selector, bits] of filters) if (chosen.has(selector)) setBit(bits, index);
  }
}
