import { isObject, objectOf, objectsIn, parseJson, textOf } from '../../../../core/json/object.ts';
import type { Members } from '../../../../core/json/original.ts';
import { PRICED_TIER } from '../../../../core/money/service-tier.ts';
import { DAYS } from '../../../../policy/schema/price-text.ts';
import {
  type Rate,
  SERVICES,
  type WitnessContent,
  type WitnessHours,
  type WitnessLine,
  type WitnessModel,
  type WitnessPrice,
  type WitnessRates,
  withTiers,
} from './witness.ts';

/** The keys of rates, in USD per 1M tokens. */
const KEYS: Readonly<Partial<Record<Rate, string>>> = {
  input: 'input_mtok',
  cached_input: 'cache_read_mtok',
  cache_write: 'cache_write_mtok',
  cache_write_1h: 'cache_write_1h_mtok',
  cache_write_12h: 'cache_write_12h_mtok',
  output: 'output_mtok',
};

export const isGenaiPrices = (content: unknown): content is readonly unknown[] =>
  Array.isArray(content) && content.some((provider) => isObject(provider) && Array.isArray(provider.models));

/**
 * Finds the price list in the program of the package, which is a literal of JavaScript, and returns it as JSON would have it. Runs no code
 * of the package. Returns undefined for another text.
 */
export function literalIn(program: string): unknown {
  const from = program.indexOf('[');
  let [text, depth, at] = ['', 0, from];
  while (at >= 0 && at < program.length) {
    TOKEN.lastIndex = at;
    const [token = ''] = TOKEN.exec(program) ?? [];
    if (token === '') return undefined;
    text += jsonOf(token);
    at += token.length;
    if (token === '[' || token === '{') depth++;
    if ((token === ']' || token === '}') && --depth === 0) return parseJson(text);
  }
  return undefined;
}

/** A string, a word, or any other character of a literal. */
const TOKEN = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.)*`|![01]|[\w$.+-]+|[\s\S]/y;

/** Writes a token of a literal as JSON: `!0` is true, and keys and texts have double quotes. */
function jsonOf(token: string): string {
  if (token === '!0' || token === '!1') return String(token === '!0');
  if (/^['`]/.test(token)) return JSON.stringify(token.slice(1, -1).replaceAll(/\\(['`])/g, '$1'));
  return /^[A-Za-z_$]/.test(token) && !/^(?:true|false|null)$/.test(token) ? JSON.stringify(token) : token;
}

/** Reads the prices that apply from a day on. @param day such as `2026-11-30` */
export function readGenaiPrices(content: readonly unknown[], day: string): WitnessContent {
  const providers = new Map(objectsIn(content).map((provider) => [textOf(provider.id), provider]));
  const models = SERVICES.map(({ preset, genaiPrices }) => {
    const own = objectsIn(providers.get(genaiPrices)?.models).flatMap((entry) => {
      const model = modelOf(entry, day);
      return model ? namesOf(entry).map((id) => [id, model] as const) : [];
    });
    return [preset, new Map(own)] as const;
  });
  return { models: new Map(models) };
}

/** Returns the names that mean a model exactly. Patterns of names are left out. */
function namesOf({ id, match }: Members): readonly string[] {
  const clauses = [objectOf(match), ...objectsIn(objectOf(match).or)];
  return [...new Set([textOf(id), ...clauses.map((clause) => textOf(clause.equals))])].filter((name) => name !== '');
}

function modelOf(entry: Members, day: string): WitnessModel | null {
  const price = priceFrom(entry, day);
  const context = entry.context_window;
  return (
    price && {
      price,
      ...(typeof context === 'number' && { context_window: context }),
      ...(entry.deprecated === true && { deprecated: true }),
    }
  );
}

const constraintOf = (one: Members): Members => objectOf(one.constraint);
const startOf = (one: Members): string => textOf(constraintOf(one).start_date);
const byStart = (a: Members, b: Members): number => (startOf(a) < startOf(b) ? -1 : 1);

/** Returns the price that applies on a day, and those that follow; null for an entry without a price of tokens. */
function priceFrom({ prices, price_variants }: Members, day: string): WitnessPrice | null {
  const stated = isObject(prices) ? [{ prices }] : objectsIn(prices);
  const hours = stated.flatMap((one) => hoursOf(one) ?? []);
  const dated = stated.filter((one) => textOf(constraintOf(one).start_time) === '').toSorted(byStart);
  const current = dated.findLast((one) => startOf(one) <= day);
  const periods = (current ? [current, ...dated.filter((one) => startOf(one) > day)] : []).flatMap((one) => {
    const from = startOf(one);
    const rates = ratesOf(objectOf(one.prices));
    const tiers = tiersOn(price_variants, from > day ? from : day);
    if (!rates) return [];
    const forms = {
      ...(hours.length > 0 && { hours }),
      ...(tiers.size > 0 && { service_tiers: Object.fromEntries(tiers) }),
    };
    return [{ from, price: { ...rates, ...forms } }];
  });
  const [first, ...later] = periods.map(({ price }, at) => {
    const next = periods[at + 1];
    return next ? { ...price, until: next.from } : price;
  });
  return first ? { ...first, ...(later.length > 0 && { later }) } : null;
}

/** Returns a price of some hours of each day; null for any other price. The list knows no days of the week. */
function hoursOf(one: Members): WitnessHours | null {
  const { start_time, end_time } = constraintOf(one);
  const [from, to] = [textOf(start_time).slice(0, 5), textOf(end_time).slice(0, 5)];
  const rates = ratesOf(objectOf(one.prices));
  return rates && from !== '' && to !== '' ? { from, to, days: [...DAYS], ...rates } : null;
}

const TIER = new RegExp(PRICED_TIER);

/** Returns the rates of service tiers and speeds on a day, by the names that answers state. OpenAI's `fast` returns as `priority`. */
function tiersOn(variants: unknown, day: string): ReadonlyMap<string, WitnessRates> {
  const begun = objectsIn(variants)
    .filter((one) => startOf(one) <= day)
    .toSorted(byStart);
  return new Map(
    begun.flatMap((one) => {
      const { service_tier, speed } = objectOf(one.when);
      const name = service_tier === 'fast' ? '' : textOf(service_tier) || (speed === 'fast' ? speed : '');
      const rates = ratesOf(objectOf(one.prices));
      return rates && TIER.test(name) ? [[name, rates] as const] : [];
    }),
  );
}

function ratesOf(prices: Members): WitnessRates | null {
  const first = lineAt(prices, 0);
  if (!first) return null;
  const starts = new Set(Object.values(KEYS).flatMap((key) => tiersOf(prices[key]).map(({ start }) => start)));
  const tiers = [...starts].flatMap((start) => {
    const line = lineAt(prices, start);
    return line ? [{ over_input_tokens: start, ...line }] : [];
  });
  return withTiers(first, tiers);
}

/** A tier `start` of 271999 means more than 272,000 tokens, or the same number and more; lists of others write 272000. */
const tiersOf = (rate: unknown): readonly { readonly start: number; readonly price: number }[] =>
  objectsIn(objectOf(rate).tiers).flatMap(({ start, price }) =>
    typeof start === 'number' && typeof price === 'number'
      ? [{ start: start % 1_000 === 999 ? start + 1 : start, price }]
      : [],
  );

/** Returns the rates of requests with more than `over` input tokens. */
function lineAt(prices: Members, over: number): WitnessLine | null {
  const stated = Object.entries(KEYS).flatMap(([rate, key]) => {
    const value = prices[key];
    const base = typeof value === 'number' ? value : objectOf(value).base;
    const tier = tiersOf(value).findLast(({ start }) => start <= over);
    const usd = tier?.price ?? base;
    return typeof usd === 'number' ? [[rate, usd] as const] : [];
  });
  const { input, output, ...caches }: Partial<Record<Rate, number>> = Object.fromEntries(stated);
  return input === undefined || output === undefined ? null : { input, output, ...caches };
}
