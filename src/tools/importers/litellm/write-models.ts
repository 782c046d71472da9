import type { SpreadMode } from '../../../core/policy/spread.ts';
import { byReason, type FallbackLists, listFor, listsFor, REASON_NAMES } from '../../../core/request/fallbacks.ts';
import {
  ASK,
  block,
  exact,
  type Field,
  type FieldBlock,
  field,
  flow,
  type PolicyValue,
  some,
} from '../../../policy/yaml/emit.ts';
import { type CatalogModel, catalogValue } from './catalog.ts';
import type { ImportContext } from './context.ts';
import type { Deployment } from './entries.ts';
import type { SourcedPrice } from './facts.ts';
import type { ImportedModel } from './models.ts';
import type { ImportedName } from './selectors.ts';
import { isReasoner, usualCapabilities } from './services.ts';
import type { CommonSettings } from './settings.ts';
import type { EndpointShare } from './shares.ts';

/**
 * The sizes to assume, in tokens. Most hosted models have at least these sizes; a model on an operator's own server may have smaller sizes.
 */
export const UNKNOWN_SIZES = {
  hosted: { context: 128_000, output: 16_384 },
  own: { context: 32_768, output: 4_096 },
  embedder: { context: 8_192, output: 0 },
} as const;
/** The quality written for models whose quality is unknown. */
const UNKNOWN_QUALITY = 0.5;
/** A question in the place of a price. Only entries that are comments contain it. */
const UNKNOWN_PRICE = flow({ input: ASK, output: ASK });

/** The entry of a model under `models`. */
export function modelBlock(
  imported: ImportedModel,
  { aliases, fallbacks }: Partial<ImportedName>,
  common: CommonSettings,
  context: ImportContext,
): FieldBlock {
  const { id, deployments } = imported;
  const [first] = deployments;
  if (!first) throw new TypeError('a model has at least one deployment');
  const model = firstKnown(deployments, ({ facts }) => facts.catalogModel);
  const { price, prices, comments } = pricesOf(id, deployments, context);
  const tags = field('tags', some([...new Set(deployments.flatMap((one) => one.tags))]));
  const dimensions = first.facts.dimensions ?? ASK;
  const ofEmbedder = () => [
    field('operations', ['embed']),
    ...catalogFields(model, ['capabilities']),
    catalogField(model, 'embedding') ?? field('embedding', flow({ dimensions })),
    ...catalogFields(model, ['tokenizer']),
    tags,
  ];
  const ofChat = () => [
    capabilitiesField(id, deployments, model, context),
    ...catalogFields(model, ['languages', 'lacks_languages', 'family']),
    tags,
    isReasonerHere(deployments) ? field('temperature', false) : catalogField(model, 'temperature'),
    ...catalogFields(model, ['reasoning_tokens', 'image_tokens_max', 'page_tokens_max', 'pages_max']),
    ...catalogFields(model, ['audio_tokens_per_second_max', 'tokenizer', 'latency']),
    catalogField(model, 'quality') ??
      field('quality', flow({ default: UNKNOWN_QUALITY }), { beside: 'unknown: adjust it to your own results' }),
  ];
  return block(
    field('aliases', some(aliases ?? [])),
    ...endpointFields(imported, common.spread, prices),
    fallbacks ? fallbacksField(fallbacks) : null,
    field('price', price, comments),
    ...sizesOf(id, deployments, context),
    ...(first.isEmbedder ? ofEmbedder() : ofChat()),
    deadlinesField(deployments, common),
    catalogField(model, 'released'),
  );
}

/** Returns the value of the first deployment that has one; null if none has. */
const firstKnown = <T>(deployments: readonly Deployment[], of: (one: Deployment) => T | null): T | null =>
  deployments.map(of).find((one) => one !== null) ?? null;

/** The known context window in tokens; null if it is assumed. */
export const contextOf = ({ deployments }: ImportedModel): number | null =>
  firstKnown(deployments, ({ facts }) => facts.contextWindow);

function endpointFields(
  { id, deployments, shares }: ImportedModel,
  spread: SpreadMode,
  prices: readonly (PolicyValue | null)[],
): readonly (Field | null)[] {
  const isSpread = deployments.length > 1;
  const endpoints = deployments.map(({ assigned, upstream, regions }, at) =>
    flow({
      provider: assigned.provider,
      upstream: upstream === id ? null : upstream,
      regions: some(regions),
      weight: shares[at]?.weight,
      priority: (isSpread && shares[at]?.priority) || null,
      limits: limitsBlock(shares[at]),
      price: prices[at],
    }),
  );
  const [first] = endpoints;
  if (first && !isSpread && !limitsBlock(shares[0])) return first.fields;
  return [isSpread ? field('spread', spread) : null, field('endpoints', endpoints)];
}

function limitsBlock(share: EndpointShare | undefined): FieldBlock | null {
  const limits = flow({ ...share?.limits });
  return limits.fields.length > 0 ? limits : null;
}

/** Writes one list if all reasons of a plain list have the same models; otherwise a list for each reason. */
export function fallbacksField(imported: ImportedName['fallbacks']): Field | null {
  const lists: FallbackLists = { by: 'policy', ...imported };
  const plain = listsFor(imported.error, 'policy');
  if (REASON_NAMES.every((reason) => listFor(lists, reason).join() === listFor(plain, reason).join()))
    return field('fallbacks', some(imported.error));
  return field('fallbacks', flow(byReason((reason) => some(listFor(lists, reason)))));
}

/** Returns the price of a model, its source, and for each deployment its own price if it differs. */
function pricesOf(id: string, deployments: readonly Deployment[], { todo, today }: ImportContext) {
  const free = flow({ input: 0, output: 0, as_of: exact(today), basis: 'own' });
  const all = deployments.map(
    ({ facts, connection }): SourcedPrice | null =>
      facts.price ?? (connection.isOwn ? { value: free, source: 'own server' } : null),
  );
  const first = all.find((one) => one !== null);
  const price = first?.value ?? UNKNOWN_PRICE;
  const text = JSON.stringify(price);
  const prices = all.map((one) => (one === null || JSON.stringify(one.value) === text ? null : one.value));
  if (first && all.includes(null)) todo.assume(id, 'one price for all of its endpoints');
  const source = deployments[0]?.facts.catalogModel;
  const origin = source?.origin ?? 'the shipped catalog';
  const comments = {
    configuration: {},
    catalog: { above: [`Price and facts come from ${origin}.`] },
    'price map': { above: ["Price and facts come from LiteLLM's price map."] },
    'own server': { beside: 'your own server' },
  };
  return { price, prices, comments: comments[first?.source ?? 'configuration'] };
}

function sizesOf(id: string, deployments: readonly Deployment[], { todo }: ImportContext): (Field | null)[] {
  const cap = firstKnown(deployments, (one) => one.defaultMaxOutput);
  const knownContext = firstKnown(deployments, ({ facts }) => facts.contextWindow);
  const knownOutput = firstKnown(deployments, ({ facts }) => facts.maxOutput);
  const isEmbedder = deployments.some((one) => one.isEmbedder);
  const isOwn = deployments.some(({ connection }) => connection.isOwn);
  const unknown = UNKNOWN_SIZES[isEmbedder ? 'embedder' : isOwn ? 'own' : 'hosted'];
  const output = knownOutput ?? Math.max(cap ?? 0, unknown.output);
  const contextWindow = knownContext ?? Math.max(unknown.context, output);
  const maxOutput = Math.min(output, contextWindow);
  if (knownContext === null) todo.assume(id, `context_window ${contextWindow}`);
  if (knownOutput === null && !isEmbedder) todo.assume(id, `max_output ${maxOutput}`);
  const assumed = (value: number | null) => (value === null ? { beside: 'assumed' } : {});
  const window = field('context_window', contextWindow, assumed(knownContext));
  if (isEmbedder) return [window];
  const most = field('max_output', maxOutput, assumed(knownOutput));
  return [window, most, field('default_max_output', cap && Math.min(cap, maxOutput))];
}

const isReasonerHere = (deployments: readonly Deployment[]): boolean =>
  deployments.some(({ bare, provider }) => bare && ['openai', 'azure'].includes(provider) && isReasoner(bare));

function capabilitiesField(
  id: string,
  deployments: readonly Deployment[],
  model: CatalogModel | null,
  { todo }: ImportContext,
): Field | null {
  const [first] = deployments;
  const stated = new Map(deployments.flatMap(({ facts }) => [...facts.capabilities]).reverse());
  const ofCatalog = catalogValue(model, 'capabilities');
  const isMapped = deployments.some(({ facts }) => facts.isMapped);
  if (stated.size === 0 && ofCatalog !== null) return field('capabilities', ofCatalog);
  const usual = isMapped
    ? []
    : [
        ...usualCapabilities(first?.connection.isOwn ? '' : (first?.provider ?? '')),
        ...(isReasonerHere(deployments) ? ['reasoning'] : []),
      ];
  const base = Array.isArray(ofCatalog) ? ofCatalog.filter((one) => typeof one === 'string') : usual;
  const all = [...new Set([...base, ...stated.keys()])].filter((one) => stated.get(one) ?? base.includes(one));
  const isAssumed = !isMapped && ofCatalog === null && usual.some((one) => !stated.has(one));
  if (isAssumed) todo.assume(id, all.length === 0 ? 'no capabilities' : all.join(', '));
  return field('capabilities', some(all), isAssumed ? { beside: 'assumed' } : {});
}

const catalogField = (model: CatalogModel | null, key: string): Field | null => field(key, catalogValue(model, key));
const catalogFields = (model: CatalogModel | null, keys: readonly string[]): (Field | null)[] =>
  keys.map((key) => catalogField(model, key));

export function deadlinesField(
  deployments: readonly Deployment[],
  { totalMs, firstTokenMs }: CommonSettings,
): Field | null {
  const longest = (key: 'totalMs' | 'firstTokenMs', common: number | null): number | null => {
    const own = deployments.map((one) => one[key]).filter((one) => one !== null);
    return own.length === 0 ? common : Math.max(...own);
  };
  const total = longest('totalMs', totalMs);
  const first = longest('firstTokenMs', firstTokenMs);
  if (total === null && first === null) return null;
  return field('deadlines', flow({ first_token_ms: first, total_ms: total }));
}
