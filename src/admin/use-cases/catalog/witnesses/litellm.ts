import { isObject, listOf, textOf } from '../../../../core/json/object.ts';
import type { Members } from '../../../../core/json/original.ts';
import {
  RATES,
  type Rate,
  SERVICES,
  statedCapabilities,
  type WitnessContent,
  type WitnessLine,
  type WitnessModel,
  withTiers,
} from './witness.ts';

/** The keys of LiteLLM's rates, in USD per token. */
const KEYS: Readonly<Record<Rate, string>> = {
  input: 'input_cost_per_token',
  cached_input: 'cache_read_input_token_cost',
  cache_write: 'cache_creation_input_token_cost',
  cache_write_1h: 'cache_creation_input_token_cost_above_1hr',
  output: 'output_cost_per_token',
};
/** The key of the price of a request with more than so many thousand input tokens. Keys of service tiers end otherwise. */
const TIER = /^input_cost_per_token_above_(\d+)k_tokens$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** Models of these modes bill input and output tokens. */
const MODES: ReadonlySet<string> = new Set(['chat', 'responses', 'embedding']);

export const isLiteLlm = (content: unknown): content is Members =>
  isObject(content) && Object.values(content).some((entry) => isObject(entry) && 'litellm_provider' in entry);

/** Reads the price list that every wheel of LiteLLM contains. */
export function readLiteLlm(content: Members): WitnessContent {
  const models = SERVICES.map(({ preset, litellm }) => {
    const own = Object.entries(content).flatMap(([key, entry]) => {
      if (!isObject(entry) || entry.litellm_provider !== litellm) return [];
      const id = key.startsWith(`${litellm}/`) ? key.slice(litellm.length + 1) : key;
      const model = modelOf(entry, preset);
      return model ? [[id, model] as const] : [];
    });
    return [preset, new Map(own)] as const;
  });
  return { models: new Map(models) };
}

/** Converts USD per token to USD per 1M tokens, without the noise of a multiplication of doubles. */
const perMillion = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 ? Number((value * 1_000_000).toPrecision(12)) : undefined;

const whole = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;

/** Returns a model; null for an entry without a price of tokens. */
function modelOf(entry: Members, preset: string): WitnessModel | null {
  const line = lineIn(entry, '');
  if (!line || !MODES.has(textOf(entry.mode))) return null;
  const tiers = Object.keys(entry).flatMap((key) => {
    const thousands = TIER.exec(key)?.[1];
    const tier = thousands === undefined ? null : lineIn(entry, `_above_${thousands}k_tokens`);
    return tier ? [{ over_input_tokens: Number(thousands) * 1_000, ...tier }] : [];
  });
  const context = whole(entry.max_input_tokens);
  const output = whole(entry.max_output_tokens);
  const unfit = unfitReason(entry, line);
  const ends = textOf(entry.deprecation_date);
  return {
    price: withTiers(line, tiers),
    ...(context !== undefined && { context_window: context }),
    ...(context !== undefined && output !== undefined && { max_output: Math.min(output, context) }),
    capabilities: capabilitiesOf(entry, line),
    ...(refusesTemperature(entry, preset) && { temperature: false }),
    ...(DAY.test(ends) && { ends }),
    ...(textOf(entry.source) !== '' && { isSourced: true }),
    ...(unfit !== null && { unfit }),
  };
}

function lineIn(entry: Members, suffix: string): WitnessLine | null {
  const stated = RATES.flatMap((rate) => {
    const usd = perMillion(entry[KEYS[rate] + suffix]);
    return usd === undefined ? [] : [[rate, usd] as const];
  });
  const { input, output, ...caches }: Partial<Record<Rate, number>> = Object.fromEntries(stated);
  return input === undefined || output === undefined ? null : { input, output, ...caches };
}

function unfitReason(entry: Members, { input, output }: WitnessLine): string | null {
  const outputs = listOf(entry.supported_output_modalities);
  const speaks = entry.supports_audio_output === true;
  if (entry.mode === 'embedding' || speaks || (outputs.length > 0 && outputs.join() !== 'text'))
    return 'not for text conversations';
  if (input === 0 || output === 0) return 'no price';
  if ((perMillion(entry.output_cost_per_reasoning_token) ?? 0) > output) return 'reasoning costs more than output';
  return null;
}

/** LiteLLM states this for few models. OpenAI's models that reason refuse a temperature. */
const refusesTemperature = (entry: Members, preset: string): boolean =>
  entry.supports_sampling_params === false || (preset === 'openai' && entry.supports_reasoning === true);

function capabilitiesOf(entry: Members, { input }: WitnessLine) {
  const audio = perMillion(entry.input_cost_per_audio_token);
  return statedCapabilities([
    ['tools', entry.supports_function_calling === true],
    ['vision', entry.supports_vision === true],
    ['json_schema', entry.supports_response_schema === true],
    ['reasoning', entry.supports_reasoning === true],
    // Audio without a price in the list may cost more than text.
    ['audio_input', entry.supports_audio_input === true && audio !== undefined && audio <= input],
    ['file_input', entry.supports_pdf_input === true],
  ]);
}
