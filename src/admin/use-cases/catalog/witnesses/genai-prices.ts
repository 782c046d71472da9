import { isObject, listOf, objectOf, objectsIn, parseJson, textOf } from '../../../../core/json/object.ts';
import type { Members } from '../../../../core/json/original.ts';
import {
  RATES,
  type Rate,
  SERVICES,
  type WitnessContent,
  type WitnessLine,
  type WitnessModel,
  withTiers,
} from './witness.ts';

/** The keys of rates, in USD per 1M tokens. */
const KEYS: Readonly<Record<Rate, string>> = {
  input: 'input_mtok',
  cached_input: 'cache_read_mtok',
  cache_write: 'cache_write_mtok',
  cache_write_1h: 'cache_write_1h_mtok',
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

/** Reads the prices that apply on a day. @param today such as `2026-11-30` */
export function readGenaiPrices(content: readonly unknown[], today: string): WitnessContent {
  const providers = new Map(objectsIn(content).map((provider) => [textOf(provider.id), provider]));
  const models = SERVICES.map(({ preset, genaiPrices }) => {
    const own = objectsIn(providers.get(genaiPrices)?.models).flatMap((entry) => {
      const model = modelOf(entry, today);
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

function modelOf(entry: Members, today: string): WitnessModel | null {
  const price = highest(currentPrices(entry.prices, today).flatMap((one) => priceOf(one) ?? []));
  const context = entry.context_window;
  const scheduled = nextPrice(entry.prices, today);
  return (
    price && {
      price,
      ...(scheduled && { scheduled }),
      ...(typeof context === 'number' && { context_window: context }),
      ...(entry.deprecated === true && { deprecated: true }),
    }
  );
}

const startOf = (one: Members): string => textOf(objectOf(one.constraint).start_date);

/** Returns the price that begins next after a day; null for none. */
function nextPrice(prices: unknown, today: string): WitnessModel['scheduled'] | null {
  const later = objectsIn(prices).filter((one) => startOf(one) > today);
  const [next] = later.sort((a, b) => (startOf(a) < startOf(b) ? -1 : 1));
  const price = next && priceOf(objectOf(next.prices));
  return next && price ? { from: startOf(next), price } : null;
}

/** Returns the prices of a day: the newest that has begun, and all prices of hours, of which a policy can state only the highest. */
function currentPrices(prices: unknown, today: string): readonly Members[] {
  if (isObject(prices)) return [prices];
  const dated = listOf(prices).flatMap((one) => (isObject(one) && isObject(one.prices) ? [one] : []));
  const isHourly = (one: Members) => textOf(objectOf(one.constraint).start_time) !== '';
  const begun = dated.filter((one) => !isHourly(one) && startOf(one) <= today);
  const newest = begun.reduce<Members | null>((last, one) => (last && startOf(last) > startOf(one) ? last : one), null);
  return [...(newest ? [newest] : []), ...dated.filter(isHourly)].map((one) => objectOf(one.prices));
}

function priceOf(prices: Members): ReturnType<typeof withTiers> | null {
  const first = lineAt(prices, 0);
  if (!first) return null;
  const starts = new Set(RATES.flatMap((rate) => tiersOf(prices[KEYS[rate]]).map(({ start }) => start)));
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
  const stated = RATES.flatMap((rate) => {
    const value = prices[KEYS[rate]];
    const base = typeof value === 'number' ? value : objectOf(value).base;
    const tier = tiersOf(value).findLast(({ start }) => start <= over);
    const usd = tier?.price ?? base;
    return typeof usd === 'number' ? [[rate, usd] as const] : [];
  });
  const { input, output, ...caches }: Partial<Record<Rate, number>> = Object.fromEntries(stated);
  return input === undefined || output === undefined ? null : { input, output, ...caches };
}

/** Returns the price with the highest output; prices of hours differ by one factor in all rates. */
const highest = (prices: readonly ReturnType<typeof withTiers>[]) =>
  prices.reduce<ReturnType<typeof withTiers> | null>((top, one) => (top && top.output >= one.output ? top : one), null);
