import type { Capability, ListedModel, ModelListAdapter } from 'signalbox/plugin';
import { isObject, type Json, listOf, objectOf, objectsIn, parseJson, textOf, tokensOf } from '../json.ts';

/**
 * Reads `GET /models`. OpenAI, Ollama and most providers list only names. OpenRouter also states prices, limits and abilities
 * (openrouter.ai/docs/api-reference/list-available-models). Mistral (types of @mistralai/mistralai 2.7.0), Groq and vLLM (`max_model_len`)
 * also state limits. Together returns the list without an object around it.
 */
export const modelList: ModelListAdapter = {
  headers: {},
  path: () => '/models',
  read(body) {
    const parsed = parseJson(body);
    const list = isObject(parsed) ? parsed.data : parsed;
    if (!Array.isArray(list)) return null;
    return { models: objectsIn(list).flatMap((one) => (textOf(one.id) === '' ? [] : [readModel(one)])), next: null };
  },
};

function readModel(one: Json): ListedModel {
  const { top_provider, context_length, context_window, max_context_length, max_model_len, max_completion_tokens } =
    one;
  const contextWindow = [context_length, context_window, max_context_length, max_model_len].map(tokensOf).find(Boolean);
  const stated = tokensOf(objectOf(top_provider).max_completion_tokens) ?? tokensOf(max_completion_tokens);
  // At OpenRouter and vLLM, answers without a limit of their own end with the window.
  const maxOutput = stated ?? (isObject(top_provider) || max_model_len ? contextWindow : undefined);
  return {
    id: textOf(one.id),
    price: priceOf(objectOf(one.pricing)),
    contextWindow,
    maxOutput,
    capabilities: capabilitiesOf(one),
    unfit: unfitFor(one),
  };
}

/**
 * Reads OpenRouter's prices, which are decimals in strings, in USD per token. Routers state the price -1; other providers use other units
 * and numbers.
 */
function priceOf({ prompt, completion, ...more }: Json): ListedModel['price'] {
  const input = rateOf(prompt);
  const output = rateOf(completion);
  const reasoning = rateOf(more.internal_reasoning);
  // A policy cannot state a price for reasoning that differs from the price of the answer.
  if (!input || !output || (reasoning && Number(reasoning) > Number(output))) return undefined;
  return {
    input,
    output,
    cachedInput: rateOf(more.input_cache_read),
    cacheWrite: rateOf(more.input_cache_write),
    perRequest: rateOf(more.request),
  };
}

const rateOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\d+(?:\.\d+)?(?:e-\d+)?$/i.test(value) ? value : undefined;

/** Returns capabilities from OpenRouter's words for inputs and parameters; undefined if the provider states none. */
function capabilitiesOf({ architecture, supported_parameters }: Json): readonly Capability[] | undefined {
  if (!Array.isArray(supported_parameters)) return undefined;
  const { input_modalities } = objectOf(architecture);
  const words = new Set([...supported_parameters, ...listOf(input_modalities).map((one) => `${one} input`)]);
  return WORDS.flatMap(([word, capability]) => (words.has(word) ? [capability] : []));
}

const WORDS: readonly (readonly [string, Capability])[] = [
  ['tools', 'tools'],
  ['image input', 'vision'],
  ['structured_outputs', 'json_schema'],
  ['reasoning', 'reasoning'],
  ['file input', 'file_input'],
];

/** Reads Together's types, Mistral's and Groq's marks, and OpenRouter's outputs. */
function unfitFor({ type, active, architecture, capabilities }: Json): string | undefined {
  const { output_modalities } = objectOf(architecture);
  const outputs = listOf(output_modalities);
  if (outputs.some((one) => one !== 'text')) return outputs.join(' and ');
  if (typeof type === 'string' && !['chat', 'language', 'code', 'base', 'model'].includes(type)) return type;
  if (active === false) return 'retired';
  return objectOf(capabilities).completion_chat === false ? 'no conversations' : undefined;
}
