import { operationBits } from '../../core/kinds/operations.ts';
import type { Decimal } from '../../core/money/decimal.ts';
import { isFree } from '../../core/money/price.ts';
import type { Deadlines, Endpoint, Model } from '../../core/policy/snapshot.ts';
import type { SpreadMode } from '../../core/policy/spread.ts';
import { capabilityBits, lackingBits, MODEL_CAPABILITIES, OF_EVERY_DIALECT } from '../../core/request/capability.ts';
import { canonicalLanguage } from '../../core/request/languages.ts';
import { checkAtMost, type Subject, validPartsOf } from '../check/check.ts';
import { checkExcluded, checkNeeded } from '../check/key-rules.ts';
import { type MisspeltLanguage, misspeltLanguagesOf } from '../check/misspelt-languages.ts';
import { type CheckContext, checkNamed, type NamedItem } from '../check/section-checks.ts';
import { readLimits } from '../providers/endpoint-limits.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { readAbortBilling, reviewAbortBilling } from '../schema/abort.ts';
import { camelKeys } from '../schema/camel-keys.ts';
import { EndpointText, ModelText } from '../schema/model.ts';
import { readPagesMax } from '../schema/pages.ts';
import type { PriceText } from '../schema/price-text.ts';
import { readStated, reviewRates, type StatedPrice, type UsdPrice } from '../schema/prices.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { type Contracts, paidPrice } from './contracts.ts';
import { checkVectorSpaces, type EmbeddingDraft, modelSchemaOf, readEmbedding } from './embeddings.ts';
import { readFallbacks } from './fallbacks.ts';
import { type DeclaredFigure, figuresOf } from './figures.ts';
import { type LatencyOf, latencies, type UnstatedLatency, usualReasoning } from './latency.ts';

/** Which quality a model has in a task for which it states none. */
type UnstatedQuality = 'lower_end' | 'default';

/**
 * How far the quality of a model in a task may be below its default, by the basis of its figures. 95 % of the shipped models' figures for a
 * task are at most 0.06 below the model's default, and these figures are guessed.
 */
const BELOW_DEFAULT = { measured: 0.03, guessed: 0.06, unknown: 0.12 } as const;

/** The cap on output tokens if neither the request nor the model states a cap. */
const DEFAULT_MAX_OUTPUT = 4096;

/** A model with all its endpoints, whether they can be served in this environment or not. A model draft is plain data. */
export interface ModelDraft {
  readonly model: Omit<Model, 'endpoints' | 'firstSlot'>;
  readonly endpoints: readonly EndpointDraft[];
  /** Share of good answers for tasks without a figure of their own, 0 to 1. */
  readonly defaultQuality: number;
  readonly figures: readonly DeclaredFigure[];
  readonly misspeltLanguages: readonly MisspeltLanguage[];
  /** The vectors of the model; null for a model without embeddings. */
  readonly vectors: EmbeddingDraft | null;
}

export interface EndpointDraft {
  readonly endpoint: Endpoint;
  /** Location of the endpoint's entry. In the short form, `place` is the location of the model. */
  readonly place: SourceSpan;
  /** The price in force, for expressions. */
  readonly usd: UsdPrice;
  /** The same for each of `allPrices` of the endpoint's plan; absent without a plan. */
  readonly planUsd?: readonly UsdPrice[];
}

export interface ModelContext extends CheckContext {
  readonly usdPerCredit: Decimal;
  /** Names of hosted providers. */
  readonly hosted: ReadonlySet<string>;
  readonly unstatedLatency: UnstatedLatency;
  readonly unstatedQuality: UnstatedQuality;
  /** Maps each provider to whether it needs an API key. */
  readonly needsKey: ReadonlyMap<string, boolean>;
  readonly taskIndex: ReadonlyMap<string, number>;
  /** The contracts with providers; absent for none. */
  readonly contracts?: Contracts;
  /** Whether a provider serves models that the policy does not list. */
  readonly servesAny?: boolean;
}

/** A model that the policy does not list has a neutral speed until it is measured, and the same quality in every task. */
export const UNLISTED = { hosted: new Set<string>(), unstatedLatency: 'neutral', unstatedQuality: 'default' } as const;

/** Whether a name in `models` is a wildcard, which covers many models. */
export const isWildcard = (name: string): boolean => name.includes('*');

/** Checks the catalog and drafts its models. `draftModels` reports models with errors and leaves them out. */
export function draftModels(context: ModelContext) {
  const named = checkNamed('models', modelSchemaOf, context, { holds: (name) => !isWildcard(name) });
  const section = context.sections.get('models');
  const hasWildcard = section?.value.kind === 'map' && section.value.entries.some(({ key }) => isWildcard(key));
  if (named.length === 0 && !hasWildcard && !context.servesAny) {
    context.report.add('no-models', section?.place ?? context.start, 'the policy declares no model', {
      expected: 'at least one under `models`',
    });
  }
  const latencyOf = latencies(
    named.flatMap(({ data }) => data ?? []),
    context,
  );
  const all = named.map((model) => draftModel(model, latencyOf, context));
  const drafts: readonly ModelDraft[] = all.filter((draft) => draft !== null);
  checkVectorSpaces(
    drafts.flatMap(({ vectors }) => vectors ?? []),
    context,
  );
  /** Maps every model ID to its location, also of models with errors. */
  const ids: ReadonlyMap<string, SourceSpan> = new Map(named.map(({ name, place }) => [name, place]));
  return { named, drafts, latencyOf, ids };
}

export function draftModel(
  named: NamedItem<ModelText>,
  latencyOf: LatencyOf,
  context: ModelContext,
): ModelDraft | null {
  const { data, tree, name } = named;
  if (!data) {
    reviewFaulty(named, context);
    return null;
  }
  checkSizes(named, data, context);
  checkLanguages(named, data, context.report);
  checkTasks(tree, context);
  const embedding = readEmbedding(named, data, context.report);
  const latency = latencyOf(data);
  // A cached prompt is never slower than an uncached prompt, so a higher figure means that the two were probably swapped.
  checkAtMost(named, ['latency', 'cached_ttft_ms'], data.latency?.cached_ttft_ms, ['ttft_ms', latency.ttftMs], context);
  const reasoningTokens = usualReasoning(data);
  const reasoningByTask = byTask(data.reasoning_tokens, reasoningTokens, context);
  // The additional thinking time of the task with the longest reasoning, compared with the usual reasoning.
  const thinkingMs =
    (1000 * (Math.max(reasoningTokens, ...reasoningByTask) - reasoningTokens)) / latency.outputTokensPerSecond;
  const fallbacks = readFallbacks(data.fallbacks);
  checkShares(named, data, context.report);
  const model = {
    id: name,
    contextWindow: data.context_window,
    maxOutput: data.max_output,
    defaultMaxOutput: data.default_max_output ?? Math.min(DEFAULT_MAX_OUTPUT, data.max_output),
    operations: operationBits(data.operations),
    embedding,
    capabilities: (capabilityBits(data.capabilities) | OF_EVERY_DIALECT) & ~lackingBits(data.lacks),
    declarable: lackingBits(MODEL_CAPABILITIES) & ~capabilityBits(data.capabilities) & ~lackingBits(data.lacks),
    languages: new Set(data.languages.map(canonicalLanguage)),
    lacksLanguages: new Set(data.lacks_languages.map(canonicalLanguage)),
    ...(fallbacks && { fallbacks }),
    ...(data.spread && data.spread !== 'order' && { spread: data.spread }),
    tags: data.tags,
    family: data.family ?? name,
    tokenizer: data.tokenizer ?? null,
    acceptsTemperature: data.temperature,
    reasoningTokens,
    reasoningByTask,
    mayReason: reasoningTokens > 0 || reasoningByTask.some((tokens) => tokens > 0),
    imageTokensMax: data.image_tokens_max ?? null,
    pageTokensMax: data.page_tokens_max ?? null,
    pagesMax: [readPagesMax(data.pages_max)].filter((own) => own !== undefined),
    audioTokensPerSecondMax: data.audio_tokens_per_second_max ?? null,
    latency,
    quality: qualityByTask(data, context),
    declared: {
      general: data.quality.default,
      stated: statedTasks(data, context),
      basis: data.quality.basis,
    },
    deadlines: compileDeadlines(data.deadlines, latency.ttftMs + thinkingMs),
    created: secondsOf(data.released),
    deprecated: data.deprecated === undefined ? null : secondsOf(data.deprecated),
  };
  return {
    model,
    endpoints: draftEndpoints(named, data, model.capabilities, context),
    defaultQuality: data.quality.default,
    figures: figuresOf(named, data),
    misspeltLanguages: misspeltLanguagesOf(named, data, context.report),
    vectors: embedding && { id: name, embedding, place: placeAt(tree, 'embedding', 'dimensions') },
  };
}

/** Checks the valid parts of a model that does not satisfy its schema. */
function reviewFaulty(named: NamedItem<ModelText>, context: ModelContext): void {
  checkSizes(named, validPartsOf(ModelText, named.tree), context);
  checkTasks(named.tree, context);
  const endpoints = valueAt(named.tree, 'endpoints');
  for (const tree of [named.tree, ...(endpoints?.kind === 'list' ? endpoints.items : [])]) {
    const { provider, price } = validPartsOf(EndpointText, tree);
    const rates = valueAt(tree, 'price');
    if (price) priceAt(tree, price, context);
    else if (rates) reviewRates(rates, context.report);
    if (provider !== undefined) checkProvider(provider, tree, context);
  }
}

/** Whether a provider exists. */
function checkProvider(name: string, owner: Tree, { needsKey, report }: ModelContext): boolean {
  const isKnown = needsKey.has(name);
  if (!isKnown) report.addUnknown('provider', name, needsKey.keys(), placeAt(owner, 'provider'));
  return isKnown;
}

function checkSizes(named: Subject, data: Partial<ModelText>, context: CheckContext): void {
  const { max_output, context_window, default_max_output } = data;
  checkAtMost(named, ['max_output'], max_output, ['context_window', context_window], context);
  checkAtMost(named, ['default_max_output'], default_max_output, ['max_output', max_output], context);
}

/** Reports programming languages that are in both lists of a model. */
function checkLanguages(
  { path, tree }: NamedItem<ModelText>,
  { languages, lacks_languages }: ModelText,
  report: Report,
) {
  const declared = new Set(languages.map(canonicalLanguage));
  for (const [at, name] of lacks_languages.entries()) {
    if (!declared.has(canonicalLanguage(name))) continue;
    const message = `\`${path}\` has \`${name}\` in both \`languages\` and \`lacks_languages\``;
    const place = valueAt(tree, 'lacks_languages', at)?.place ?? placeAt(tree, 'lacks_languages');
    report.add('conflicting-keys', place, message, { expected: 'the language in one of the lists, or in neither' });
  }
}

type EndpointEntry = NonNullable<ModelText['endpoints']>[number];

/** Warns about keys of endpoints that have no effect with the `spread` of their model. */
function checkShares(
  { path, tree }: NamedItem<ModelText>,
  { spread, endpoints = [] }: ModelText,
  report: Report,
): void {
  for (const [at, endpoint] of endpoints.entries()) {
    for (const key of IDLE_SHARES[spread ?? 'order']) {
      if (endpoint[key] === undefined) continue;
      const place = placeAt(tree, 'endpoints', at, key);
      const message = `\`${path}.endpoints[${at}].${key}\` has no effect with ${spread ? `\`spread: ${spread}\`` : 'endpoints in their order'}`;
      const hint = spread ? 'remove the key, or state another `spread`' : 'remove the key, or state `spread: weighted`';
      report.add('spread-idle', place, message, { hint });
    }
  }
}

/** The keys of endpoints that a way to spread requests does not read. */
const IDLE_SHARES: Readonly<Record<SpreadMode, readonly ('weight' | 'priority')[]>> = {
  order: ['weight', 'priority'],
  weighted: [],
  least_busy: [],
  fastest: ['weight'],
  cheapest: ['weight'],
};

/** Reads what decides an endpoint's share of the requests. Figures with their usual values are absent. */
function shareOf({ weight = 1, priority = 0, limits: stated }: EndpointEntry): Partial<Endpoint> {
  const limits = readLimits(stated);
  return {
    ...(weight !== 1 && { weight }),
    ...(priority !== 0 && { priority }),
    ...(limits && { limits }),
  };
}

function draftEndpoints(
  named: NamedItem<ModelText>,
  data: ModelText,
  capabilities: number,
  context: ModelContext,
): EndpointDraft[] {
  const { name, path, tree, place } = named;
  const { report } = context;
  const shared = priceAt(tree, data.price, context);
  const { provider: only, upstream, regions } = data;
  const shortForm = only === undefined ? [] : [{ provider: only, upstream, regions }];
  const listed: readonly EndpointEntry[] = data.endpoints ?? shortForm;
  checkNeeded(ModelText, named, report);
  checkExcluded(ModelText, named, report, (key) => `\`${key}\` in each endpoint`);
  return listed.flatMap((text, at) => {
    const own = data.endpoints ? (valueAt(tree, 'endpoints', at) ?? tree) : tree;
    const isKnown = checkProvider(text.provider, own, context);
    if (!text.price && !data.price) {
      const hint = data.endpoints
        ? 'set a price for the model, or a price for each endpoint'
        : 'write `price: { input: …, output: … }`';
      report.add('missing-key', data.endpoints ? own.place : place, `\`${path}\` needs the key \`price\``, { hint });
    }
    const stated = text.price && data.endpoints ? priceAt(own, text.price, context) : shared;
    if (!stated || !isKnown) return [];
    const { provider, upstream = name, regions } = text;
    const { basis = '' } = text.price ?? data.price ?? {};
    const factor = context.contracts?.get(provider);
    const pricePlace = valueAt(own, 'price')?.place ?? placeAt(tree, 'price');
    const paid = paidPrice(stated, basis, factor, { place: pricePlace, report });
    if (!paid) return [];
    const { price, plan, usd } = paid;
    if (isFree(price) && context.needsKey.get(provider)) {
      report.add(
        'free-model',
        pricePlace,
        `\`${path}\` has a price of 0, but provider \`${provider}\` uses an API key`,
      );
    }
    if (data.endpoints) reviewAbortBilling(own, `${path}.endpoints[${at}]`, text.after_abort, report);
    const afterAbort = readAbortBilling(text.after_abort);
    const endpoint = {
      provider,
      upstream,
      regions,
      price,
      ...(plan && { plan }),
      capabilities,
      ...(afterAbort && { afterAbort }),
      ...shareOf(text),
    };
    return [
      {
        endpoint,
        place: data.endpoints ? own.place : place,
        usd: usd[0]!,
        ...(plan && { planUsd: usd }),
      },
    ];
  });
}

function priceAt(owner: Tree, data: PriceText | undefined, { usdPerCredit, report }: ModelContext): StatedPrice | null {
  const tree = valueAt(owner, 'price');
  return data && tree ? readStated(tree, data, usdPerCredit, report) : null;
}

/** Returns figures by index of the task. @param usual the figure for tasks without a figure of their own */
function byTask(
  stated: number | Readonly<Record<string, unknown>>,
  usual: number,
  { taskIndex }: ModelContext,
): Float64Array {
  const figures = new Float64Array(taskIndex.size).fill(usual);
  for (const [task, figure] of Object.entries(stated)) {
    const index = taskIndex.get(task);
    if (index !== undefined && typeof figure === 'number') figures[index] = figure;
  }
  return figures;
}

/** Returns the quality by index of the task. For `general`, which has index 0, the default is the model's own figure. */
function qualityByTask({ quality }: ModelText, context: ModelContext): Float64Array {
  const { default: usual, basis } = quality;
  const least = context.unstatedQuality === 'default' ? usual : Math.max(0, usual - BELOW_DEFAULT[basis]);
  const stated = byTask(quality, Number.NaN, context);
  return stated.map((figure, at) => (Number.isNaN(figure) ? (at === 0 ? usual : least) : figure));
}

/** Returns, by index, 1 for each task with a figure of its own. */
const statedTasks = ({ quality }: ModelText, context: ModelContext): Uint8Array =>
  Uint8Array.from(byTask(quality, Number.NaN, context), (figure) => (Number.isNaN(figure) ? 0 : 1));

/** Reports quality and reasoning figures for unknown tasks. */
function checkTasks(model: Tree, { taskIndex, report }: ModelContext): void {
  for (const key of ['quality', 'reasoning_tokens']) {
    const figures = valueAt(model, key);
    for (const { key: task, value, place } of figures?.kind === 'map' ? figures.entries : []) {
      const isFigure = task !== 'default' && value.kind === 'scalar' && typeof value.value === 'number';
      if (isFigure && !taskIndex.has(task)) report.addUnknown('task', task, taskIndex.keys(), place);
    }
  }
}

const compileDeadlines = (
  { first_token_ms: stated, ...others }: ModelText['deadlines'],
  ttftMs: number,
): Deadlines => ({
  ...camelKeys(others),
  firstTokenMs: stated ?? Math.max(20_000, 4 * ttftMs),
});

/** Returns Unix seconds at the beginning of a day; 0 if the day is not stated. */
function secondsOf(day: string | undefined): number {
  if (day === undefined) return 0;
  const [year = 1970, month = 1, date = 1] = day.split('-').map(Number);
  return Date.UTC(year, month - 1, date) / 1000;
}
