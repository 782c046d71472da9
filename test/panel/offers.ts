import { readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parse } from 'yaml';
import type { Case } from './panel.ts';

/**
 * The models as their vendors offer them, with list prices, limits and abilities. The panel reads the models from the shipped catalog as
 * plain YAML, so that none of Signalbox's own calculations influences them.
 */
const Line = Type.Object({ input: Type.Number(), output: Type.Number() });
const PriceList = Type.Object({
  input: Type.Number(),
  output: Type.Number(),
  tiers: Type.Optional(Type.Array(Type.Composite([Line, Type.Object({ over_input_tokens: Type.Number() })]))),
});
const Offer = Type.Object({
  provider: Type.Optional(Type.String()),
  endpoints: Type.Optional(
    Type.Array(Type.Object({ provider: Type.String(), price: Type.Optional(PriceList) }), { minItems: 1 }),
  ),
  price: PriceList,
  context_window: Type.Number(),
  capabilities: Type.Array(Type.String()),
});
const Catalog = Type.Object({ models: Type.Record(Type.String(), Offer) });

/** A model as a set of keys reaches it. */
export interface Offered {
  readonly id: string;
  /** USD per 1M tokens. */
  readonly price: Static<typeof PriceList>;
  readonly contextWindow: number;
  readonly capabilities: readonly string[];
}

/** The figures of public models that people run on their own machines. */
export const OWN_MODELS = 'src/admin/use-cases/catalog/own-models.yaml';

function catalogOf(path: string): Static<typeof Catalog> {
  const content: unknown = parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
  if (!Value.Check(Catalog, content)) throw new Error(`${path} is no catalog`);
  return content;
}

const models = { ...catalogOf('policies/models.yaml').models, ...catalogOf(OWN_MODELS).models };
export const MODELS = Object.keys(models);

/** A set of keys or addresses that a user configures. */
export interface KeySet {
  readonly name: string;
  readonly providers: readonly string[];
  /** Only these models; all models of the providers if undefined. */
  readonly only?: readonly string[];
}

const VENDORS = ['mistral', 'deepseek', 'xai', 'moonshotai', 'zai', 'groq', 'cerebras', 'together'];
export const KEY_SETS: readonly KeySet[] = [
  { name: 'openai', providers: ['openai'] },
  { name: 'anthropic', providers: ['anthropic'] },
  { name: 'gemini', providers: ['gemini'] },
  { name: 'three', providers: ['openai', 'anthropic', 'gemini'] },
  { name: 'all', providers: ['openai', 'anthropic', 'gemini', ...VENDORS, 'fireworks', 'openrouter', 'azure-openai'] },
  { name: 'ollama', providers: ['ollama'], only: ['local-gpt-oss-20b'] },
];

/** What providers' APIs do not accept according to their own documentation: JSON of any form, a forced choice of tool. */
const LACKS: Readonly<Record<string, readonly string[]>> = { anthropic: ['json_object'], ollama: ['forced_tools'] };

function capabilitiesAt(provider: string, stated: readonly string[]): string[] {
  const implied = [
    ...(stated.includes('json_schema') ? ['json_object'] : []),
    ...(stated.includes('tools') ? ['forced_tools'] : []),
  ];
  return [...stated, ...implied.filter((name) => !LACKS[provider]?.includes(name))];
}

const offered = new WeakMap<KeySet, readonly Offered[]>();

/** Returns the models that a set of keys reaches. The first reachable endpoint determines the price. */
export const offeredBy = (keys: KeySet): readonly Offered[] => offered.getOrInsertComputed(keys, offersOf);

function offersOf({ providers, only }: KeySet): readonly Offered[] {
  return Object.entries(models).flatMap(([id, offer]): Offered[] => {
    const endpoints = offer.endpoints ?? (offer.provider === undefined ? [] : [{ provider: offer.provider }]);
    const reached = endpoints.find(({ provider }) => providers.includes(provider));
    if (!reached || (only && !only.includes(id))) return [];
    const price = ('price' in reached ? reached.price : undefined) ?? offer.price;
    const capabilities = capabilitiesAt(reached.provider, offer.capabilities);
    return [{ id, price, contextWindow: offer.context_window, capabilities }];
  });
}

const ASIAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const IMAGE_TOKENS = 1_000;

const counted = new WeakMap<Case['body'], number>();

/** Estimates the input tokens: four characters per token, one token per ideograph, a thousand per image. */
export function inputTokens(body: Case['body']): number {
  const known = counted.get(body) ?? count(body);
  counted.set(body, known);
  return known;
}

function count({ messages, tools }: Case['body']): number {
  const images = messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === 'image_url') : [],
  ).length;
  const text = JSON.stringify([messages, tools ?? []]);
  const asian = text.match(ASIAN)?.length ?? 0;
  return Math.ceil((text.length - asian) / 4 + asian) + images * IMAGE_TOKENS;
}

/** Returns the capabilities that a model needs to serve a request at all. */
export function capabilitiesFor({ messages, tools, tool_choice, response_format: format }: Case['body']): string[] {
  const seen = messages.some(({ content }) => Array.isArray(content) && content.some((p) => p.type === 'image_url'));
  return [
    ...(seen ? ['vision'] : []),
    ...(tools?.length ? ['tools'] : []),
    ...(typeof tool_choice === 'object' && tool_choice !== null ? ['forced_tools'] : []),
    ...(format && format.type !== 'text' ? [format.type] : []),
  ];
}
