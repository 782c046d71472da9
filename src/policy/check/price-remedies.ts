import { didYouMean } from '../../core/text/text.ts';
import { PriceText } from '../schema/price-text.ts';
import { PER_MILLION_MIN } from '../schema/prices.ts';
import { rounded, usdIn } from '../yaml/slip-hints.ts';
import type { Tree } from '../yaml/tree.ts';
import type { KeyRemedy, UnknownKey } from './peer-keys.ts';

/** Names that other tools use for the rates of a price, without the words in `PRICES` and `UNITS`. */
const RATES: ReadonlyMap<string, string> = new Map([
  ...['input', 'prompt'].map((words) => [words, 'input'] as const),
  ...['output', 'completion'].map((words) => [words, 'output'] as const),
  ...['cached', 'cached input', 'cached prompt', 'input cached', 'cache input', 'cache read', 'cache read input'].map(
    (words) => [words, 'cached_input'] as const,
  ),
  ...['cache write', 'cache creation', 'cache creation input'].map((words) => [words, 'cache_write'] as const),
]);
const PRICES: ReadonlySet<string> = new Set('price prices pricing cost costs rate rates'.split(' '));
/** Maps words for the unit of a price to the number of these units in 1M tokens; null for words that do not change the figure. */
const UNITS: ReadonlyMap<string, number | null> = new Map([
  ...['per', 'usd', 'dollar', 'dollars', 'tokens', '1m', 'm', 'million', 'mtok'].map((word) => [word, null] as const),
  ...['1k', 'k', '1000', 'thousand'].map((word) => [word, 1_000] as const),
  ['token', 1_000_000],
]);
/** Maps words for prices that are not a rate per token to the place where Signalbox states them. */
const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['above', 'state the prices of long inputs in `tiers`'],
  ['reasoning', 'hidden reasoning is charged as output'],
]);

const wordsOf = (key: string): readonly string[] =>
  key
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]/);

/** Returns the rate that a key such as `input_price` means, and the number of its units in 1M tokens; undefined for other keys. */
function rateOf(key: string): { readonly rate: string; readonly factor: number } | undefined {
  const words = wordsOf(key);
  const rate = RATES.get(words.filter((word) => !PRICES.has(word) && !UNITS.has(word)).join(' '));
  const isBare = words.every((word) => !UNITS.has(word));
  if (rate === undefined || !(isBare || words.some((word) => PRICES.has(word)))) return undefined;
  const units = words.map((word) => UNITS.get(word) ?? 1);
  return { rate, factor: units.find((unit) => unit === 1_000) ?? Math.max(...units) };
}

/** Returns what to write instead of a price whose rates are directly among the keys of a model, or have other names. */
export function priceRemedy({ key, value, owner, known }: UnknownKey): KeyRemedy | undefined {
  const found = rateOf(key);
  if (known.includes('cached_input')) {
    if (!found) return undefined;
    const factor = found.factor === 1 && isPerToken(value) ? 1_000_000 : found.factor;
    const figure = value && factor !== 1 ? figureOf(value, factor) : undefined;
    const hint =
      figure === undefined ? didYouMean(found.rate) : `write \`${found.rate}: ${figure}\`, in USD per 1M tokens`;
    return { hint, meant: found.rate };
  }
  if (!known.includes('price')) return undefined;
  const words = wordsOf(key);
  const isPrice = PRICES.has(key);
  const isOfPrice = words.some((word) => PRICES.has(word)) && words.some((word) => RATES.has(word));
  if (!isPrice && !isOfPrice && !found) return undefined;
  const rates = isPrice && value?.kind === 'map' ? value : owner;
  const special = words.flatMap((word) => SPECIAL.get(word) ?? [])[0];
  const hint = `write \`price: ${priceText(rates)}\`, in USD per 1M tokens${special ? `; ${special}` : ''}`;
  return { hint, meant: 'price' };
}

/** Whether a rate is so small that it is a price per token. */
const isPerToken = (value: Tree | undefined): boolean =>
  value?.kind === 'scalar' && typeof value.value === 'number' && value.value > 0 && value.value < PER_MILLION_MIN;

/** Writes the rates in a map as a price, with the figures that the map states. */
function priceText(tree: Tree | undefined): string {
  const figures = new Map(['input', 'cached_input', 'cache_write', 'output'].map((rate) => [rate, '']));
  for (const { key, value } of tree?.kind === 'map' ? tree.entries : []) {
    const found = rateOf(key);
    if (found) figures.set(found.rate, figureOf(value, found.factor) ?? '');
  }
  const stated = [...figures].flatMap(([rate, figure]) => {
    const isRequired = rate === 'input' || rate === 'output';
    return figure || isRequired ? `${rate}: ${figure || '…'}` : [];
  });
  return `{ ${stated.join(', ')} }`;
}

/** Returns a figure in USD per 1M tokens; undefined for a text without a figure or with another unit. */
function figureOf(value: Tree, factor: number): string | undefined {
  if (value.kind !== 'scalar') return undefined;
  const text = value.source.trim();
  const isPlain = typeof value.value === 'number' || /^\d+(?:\.\d+)?$/.test(text);
  const usd = isPlain ? Number(text) : /\/|\bper\b/.test(text) ? undefined : usdIn(text);
  // A figure this large was meant per 1M tokens although its key says otherwise, or is a mistake.
  if (usd === undefined || usd * factor > (PriceText.properties.input.maximum ?? 0)) return undefined;
  // The hint shows a figure per 1M tokens as the policy writes it.
  return factor === 1 && isPlain ? text : `${rounded(usd * factor)}`;
}
