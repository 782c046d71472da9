import { didYouMean } from '../core/text.ts';
import type { KeyRemedy, UnknownKey } from './peer-keys.ts';
import { PriceText } from './schema-model.ts';
import { rounded, usdIn } from './slip-hints.ts';
import type { Tree } from './tree.ts';

/** Names of other tools for the rates of a price, as the words that are left without `PRICES` and `UNITS`. */
const RATES: ReadonlyMap<string, string> = new Map([
  ...['input', 'prompt'].map((words) => [words, 'input'] as const),
  ...['output', 'completion'].map((words) => [words, 'output'] as const),
  ...['cached', 'cached input', 'cached prompt', 'input cached', 'cache input', 'cache read', 'cache read input'].map(
    (words) => [words, 'cached_input'] as const,
  ),
  ...['cache write', 'cache creation', 'cache creation input'].map((words) => [words, 'cache_write'] as const),
]);
const PRICES: ReadonlySet<string> = new Set('price prices pricing cost costs rate rates'.split(' '));
/** Words for what a price is stated per → their number in 1M tokens; null for words that do not change the figure. */
const UNITS: ReadonlyMap<string, number | null> = new Map([
  ...['per', 'usd', 'dollar', 'dollars', 'tokens', '1m', 'm', 'million', 'mtok'].map((word) => [word, null] as const),
  ...['1k', 'k', '1000', 'thousand'].map((word) => [word, 1_000] as const),
  ['token', 1_000_000],
]);
/** Words of prices that are not rates of every token → where Signalbox has them. */
const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['above', 'the prices of long inputs are its `tiers`'],
  ['reasoning', 'hidden reasoning is charged as output'],
]);

const wordsOf = (key: string): readonly string[] =>
  key
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]/);

/** The rate of a key such as `input_price`, and the number of its units in 1M tokens; undefined for other keys. */
function rateOf(key: string): { readonly rate: string; readonly factor: number } | undefined {
  const words = wordsOf(key);
  const rate = RATES.get(words.filter((word) => !PRICES.has(word) && !UNITS.has(word)).join(' '));
  const isBare = words.every((word) => !UNITS.has(word));
  if (rate === undefined || !(isBare || words.some((word) => PRICES.has(word)))) return undefined;
  const units = words.map((word) => UNITS.get(word) ?? 1);
  return { rate, factor: units.find((unit) => unit === 1_000) ?? Math.max(...units) };
}

/** What to write in place of a price whose rates stand beside the other keys of a model, or under other names. */
export function priceRemedy({ key, value, owner, known }: UnknownKey): KeyRemedy | undefined {
  const found = rateOf(key);
  if (known.includes('cached_input')) {
    if (!found) return undefined;
    const figure = value && found.factor !== 1 ? figureOf(value, found.factor) : undefined;
    const hint = figure === undefined ? didYouMean(found.rate) : `write \`${found.rate}: ${figure}\``;
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

/** The rates in a map as a price, with the figures that it states. */
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

/** A figure in USD per 1M tokens; undefined for a text that states none, or another unit. */
function figureOf(value: Tree, factor: number): string | undefined {
  if (value.kind !== 'scalar') return undefined;
  const text = value.source.trim();
  const isPlain = typeof value.value === 'number' || /^\d+(?:\.\d+)?$/.test(text);
  const usd = isPlain ? Number(text) : /\/|\bper\b/.test(text) ? undefined : usdIn(text);
  // A figure that is stated per token and is this large was meant per 1M tokens, or is a mistake.
  if (usd === undefined || usd * factor > (PriceText.properties.input.maximum ?? 0)) return undefined;
  // A figure per 1M tokens is shown as it is written.
  return factor === 1 && isPlain ? text : `${rounded(usd * factor)}`;
}
