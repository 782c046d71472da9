import { isObject, listOf, objectOf, objectsIn, textOf } from '../../../../core/json/object.ts';
import type { Members } from '../../../../core/json/original.ts';
import { DAY_MINUTES, WEEK_MINUTES } from '../../../../core/money/price-plan.ts';
import { DAYS } from '../../../../policy/schema/price-text.ts';
import {
  NOT_TEXT,
  RATES,
  type Rate,
  SERVICES,
  statedCapabilities,
  type WitnessContent,
  type WitnessHours,
  type WitnessLine,
  type WitnessModel,
  type WitnessPrice,
  type WitnessRates,
  withTiers,
} from './witness.ts';

/** The keys of LiteLLM's rates, in USD per token. */
const KEYS: Readonly<Partial<Record<Rate, string>>> = {
  input: 'input_cost_per_token',
  cached_input: 'cache_read_input_token_cost',
  cache_write: 'cache_creation_input_token_cost',
  cache_write_1h: 'cache_creation_input_token_cost_above_1hr',
  cache_write_12h: 'cache_creation_input_token_cost_above_12hr',
  output: 'output_cost_per_token',
};
/** The keys of requests with more than so many thousand input tokens, before the name of a service tier. */
const TIER = /^input_cost_per_token_above_(\d+)k_tokens$/;
/** The service tiers that end the keys of their rates. */
const SERVICE_TIERS = ['flex', 'priority', 'ultrafast'] as const;
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
  typeof value === 'number' && value >= 0 ? exact(value * 1_000_000) : undefined;
const exact = (product: number): number => Number(product.toPrecision(12));

const whole = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;

/** Returns a model; null for an entry without a price of tokens. */
function modelOf(entry: Members, preset: string): WitnessModel | null {
  const line = lineIn(entry, '');
  const price = priceIn(entry);
  if (!line || !price || !MODES.has(textOf(entry.mode))) return null;
  const context = whole(entry.max_input_tokens);
  const output = whole(entry.max_output_tokens);
  const unfit = unfitReason(entry, line);
  const ends = textOf(entry.deprecation_date);
  return {
    price,
    ...(context !== undefined && { context_window: context }),
    ...(context !== undefined && output !== undefined && { max_output: Math.min(output, context) }),
    capabilities: capabilitiesOf(entry, line),
    ...(refusesTemperature(entry, preset) && { temperature: false }),
    ...(DAY.test(ends) && { ends }),
    ...(textOf(entry.source) !== '' && { isSourced: true }),
    ...(unfit !== null && { unfit }),
  };
}

function priceIn(entry: Members): WitnessPrice | null {
  const usual = ratesIn(entry, '');
  if (!usual) return null;
  const tiers = SERVICE_TIERS.flatMap((name) => {
    const rates = ratesIn(entry, `_${name}`);
    return rates ? [[name, rates] as const] : [];
  });
  const { fast } = objectOf(entry.provider_specific_entry);
  const service_tiers = {
    ...Object.fromEntries(tiers),
    ...(typeof fast === 'number' && { fast: scaledRates(usual, fast) }),
  };
  const { rates, hours } = byHours(entry, usual);
  return {
    ...rates,
    ...(hours.length > 0 && { hours }),
    ...(Object.keys(service_tiers).length > 0 && { service_tiers }),
  };
}

/** Returns the rates of a service tier, with those of longer inputs. @param suffix such as `_flex`; empty for the usual rates */
function ratesIn(entry: Members, suffix: string): WitnessRates | null {
  const line = lineIn(entry, suffix);
  const tiers = Object.keys(entry).flatMap((key) => {
    const thousands = TIER.exec(key)?.[1];
    const tier = thousands === undefined ? null : lineIn(entry, `_above_${thousands}k_tokens${suffix}`);
    return tier ? [{ over_input_tokens: Number(thousands) * 1_000, ...tier }] : [];
  });
  return line && withTiers(line, tiers);
}

/** Multiplies all rates, as Anthropic's speed `fast` does. */
function scaledRates({ tiers = [], ...line }: WitnessRates, factor: number): WitnessRates {
  const scaled = (one: WitnessLine): WitnessLine => {
    const rates = RATES.flatMap((rate) =>
      one[rate] === undefined ? [] : [[rate, exact(one[rate] * factor)] as const],
    );
    return { input: one.input, output: one.output, ...Object.fromEntries(rates) };
  };
  return withTiers(
    scaled(line),
    tiers.map((tier) => ({ over_input_tokens: tier.over_input_tokens, ...scaled(tier) })),
  );
}

/**
 * Divides a price by the hours of the week. The list states when the lower rates apply; a policy then states the lower rates first, and the
 * hours of the higher ones. Weekdays of another time zone than UTC are not read, so the higher rates count.
 */
function byHours(
  entry: Members,
  usual: WitnessRates,
): { readonly rates: WitnessRates; readonly hours: readonly WitnessHours[] } {
  const offPeak = objectOf(entry.off_peak_pricing);
  const rates = ratesIn(offPeak, '');
  if (!rates || 'weekday_timezone' in offPeak) return { rates: usual, hours: [] };
  const isLow = new Set<number>();
  for (const { hours_utc, weekdays } of objectsIn(offPeak.windows))
    for (const day of Array.isArray(weekdays) ? weekdays : DAYS.map((_, at) => at + 1))
      for (const window of [hours_utc].flat())
        for (const minute of minutesOf(textOf(window)))
          isLow.add(((Number(day) - 1) * DAY_MINUTES + minute) % WEEK_MINUTES);
  const peaks = DAYS.flatMap((day, at) =>
    rangesOf((minute) => !isLow.has(at * DAY_MINUTES + minute)).map((range) => ({ day, range })),
  );
  const hours = [...Map.groupBy(peaks, ({ range }) => range)].map(([range, ofDays]) => {
    const [from = '', to = ''] = range.split('-');
    return { from, to, days: ofDays.map(({ day }) => day), ...usual };
  });
  return { rates, hours };
}

/** Returns the minutes of a window such as `10:00-00:00`, from 0:00 of its first day on. */
function minutesOf(window: string): readonly number[] {
  const [from = Number.NaN, to = Number.NaN] = window
    .split('-')
    .map((time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3)));
  const length = to > from ? to - from : to + DAY_MINUTES - from;
  return Number.isNaN(length) ? [] : Array.from({ length }, (_, more) => from + more);
}

/** Returns the parts of a day in which something is true, as `01:00-04:00`. */
function rangesOf(isIn: (minute: number) => boolean): readonly string[] {
  const edges = Array.from({ length: DAY_MINUTES + 1 }, (_, minute) => minute).filter(
    (minute) => (minute < DAY_MINUTES && isIn(minute)) !== (minute > 0 && isIn(minute - 1)),
  );
  return edges.flatMap((from, at) =>
    at % 2 === 0 ? [`${timeText(from)}-${timeText(edges[at + 1] ?? DAY_MINUTES)}`] : [],
  );
}

const timeText = (minute: number): string =>
  [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');

function lineIn(entry: Members, suffix: string): WitnessLine | null {
  const stated = Object.entries(KEYS).flatMap(([rate, key]) => {
    const usd = perMillion(entry[key + suffix]);
    return usd === undefined ? [] : [[rate, usd] as const];
  });
  const { input, output, ...caches }: Partial<Record<Rate, number>> = Object.fromEntries(stated);
  return input === undefined || output === undefined ? null : { input, output, ...caches };
}

function unfitReason(entry: Members, { input, output }: WitnessLine): string | null {
  const outputs = listOf(entry.supported_output_modalities);
  const speaks = entry.supports_audio_output === true;
  if (entry.mode === 'embedding' || speaks || (outputs.length > 0 && outputs.join() !== 'text')) return NOT_TEXT;
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
