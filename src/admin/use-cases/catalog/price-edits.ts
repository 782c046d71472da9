import { isMap, isScalar, isSeq, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { RATES, type Rate, type WitnessPrice, type WitnessTier } from './witnesses/witness.ts';

/** The price of an endpoint as a policy file states it. */
export interface StatedPrice {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  readonly line: number;
  /** The figures that the file states, by path: `output`, `tiers.200000.output`. */
  readonly figures: ReadonlyMap<string, number>;
  readonly asOf: string | null;
  readonly basis: string | null;
  readonly contextWindow: number | null;
  readonly maxOutput: number | null;
  readonly source: PriceSource;
}

/** The location of a price in the text of a file. Several endpoints of a model can share it. */
interface PriceSource {
  readonly map: YAMLMap;
  /** The pair of the key `price`. */
  readonly pair: Pair;
}

/** A replacement of characters. */
export interface TextEdit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Returns the endpoints of a policy file and their prices. Endpoints whose price stands behind an alias are left out. */
export function statedPrices(text: string): readonly StatedPrice[] {
  const models = parseDocument(text).get('models', true);
  if (!isMap(models)) return [];
  return models.items.flatMap(({ key, value }) => {
    const id = isScalar(key) ? String(key.value) : null;
    if (id === null || !isMap(value) || id.includes('*')) return [];
    const own = priceIn(value);
    const endpoints = value.get('endpoints', true);
    const limits = { contextWindow: numberIn(value, 'context_window'), maxOutput: numberIn(value, 'max_output') };
    const places = isSeq(endpoints) ? endpoints.items.filter(isMap) : [value];
    return places.flatMap((place) => {
      const source = priceIn(place) ?? own;
      const provider = place.get('provider');
      const upstream = place.get('upstream') ?? id;
      if (!source || typeof provider !== 'string' || typeof upstream !== 'string') return [];
      const at = source.pair.key;
      const offset = isScalar(at) ? (at.range?.[0] ?? 0) : 0;
      const line = text.slice(0, offset).split('\n').length;
      return [{ model: id, provider, upstream, line, ...readPrice(source.map), ...limits, source }];
    });
  });
}

function priceIn(map: YAMLMap): PriceSource | null {
  const pair = pairOf(map, 'price');
  return pair && isMap(pair.value) ? { map: pair.value, pair } : null;
}

function numberIn(map: YAMLMap, key: string): number | null {
  const value = map.get(key);
  return typeof value === 'number' ? value : null;
}

const pairOf = (map: YAMLMap, name: string): Pair | undefined =>
  map.items.find(({ key }) => isScalar(key) && key.value === name);

function readPrice(map: YAMLMap) {
  const figures = new Map<string, number>();
  const read = (line: YAMLMap, prefix: string) => {
    for (const rate of RATES) {
      const value = line.get(rate);
      if (typeof value === 'number') figures.set(prefix + rate, value);
    }
  };
  read(map, '');
  for (const [over, tier] of tiersOf(map)) read(tier, `tiers.${over}.`);
  const [asOf, basis] = [map.get('as_of'), map.get('basis')];
  return { figures, asOf: asOf === undefined ? null : String(asOf), basis: typeof basis === 'string' ? basis : null };
}

function tiersOf(map: YAMLMap): ReadonlyMap<number, YAMLMap> {
  const tiers = map.get('tiers', true);
  const maps = isSeq(tiers) ? tiers.items.filter(isMap) : [];
  return new Map(maps.map((tier) => [Number(tier.get('over_input_tokens')), tier]));
}

/**
 * Returns the edits that make a price what witnesses state, with the day and the basis. All other characters of the file stay.
 * @param source the comment above the price that names its source, such as `BerriAI/litellm 8943af58`, is replaced by this
 */
export function editsFor(
  text: string,
  { source: { map, pair }, figures }: StatedPrice,
  price: WitnessPrice,
  { asOf, source }: { readonly asOf: string; readonly source: string },
): readonly TextEdit[] {
  const { tiers = [], ...line } = price;
  const own = tiersOf(map);
  const isSameForm = tiers.every(({ over_input_tokens: over }) => own.has(over));
  return [
    ...lineEdits(text, map, line, figures, ''),
    ...(isSameForm
      ? tiers.flatMap((tier) => {
          const at = own.get(tier.over_input_tokens);
          return at ? lineEdits(text, at, tier, figures, `tiers.${tier.over_input_tokens}.`) : [];
        })
      : [setValue(text, map, 'tiers', `[${tiers.map(tierText).join(', ')}]`)]),
    setValue(text, map, 'as_of', asOf),
    setValue(text, map, 'basis', 'aggregator'),
    ...sourceEdit(text, pair, source),
  ];
}

function lineEdits(
  text: string,
  map: YAMLMap,
  line: Partial<Readonly<Record<Rate, number>>>,
  figures: ReadonlyMap<string, number>,
  prefix: string,
): readonly TextEdit[] {
  return RATES.flatMap((rate) => {
    const usd = line[rate];
    const old = figures.get(prefix + rate);
    // A rate of the cache that equals its default is not written.
    if (usd === undefined || usd === old || (old === undefined && usd === (line.input ?? null))) return [];
    const node = map.get(rate, true);
    return [setValue(text, map, rate, numberText(usd, isScalar(node) ? (node.source ?? '') : ''))];
  });
}

/** Writes a number with as many decimals as the number that it replaces, or more. */
function numberText(usd: number, old: string): string {
  const decimals = old.split('.')[1]?.length ?? 0;
  const plain = String(usd);
  return (plain.split('.')[1]?.length ?? 0) < decimals ? usd.toFixed(decimals) : plain;
}

const tierText = (tier: WitnessTier): string => {
  const rates = RATES.flatMap((rate) => (tier[rate] === undefined ? [] : [`${rate}: ${tier[rate]}`]));
  return `{ over_input_tokens: ${tier.over_input_tokens}, ${rates.join(', ')} }`;
};

/** Keys of a price in their usual order, of those whose values are scalars. */
const KEYS: readonly string[] = [...RATES, 'as_of', 'basis'];

/** Replaces the value of a key, or adds the key after its predecessor in the usual order, in the style of the map. */
function setValue(text: string, map: YAMLMap, name: string, value: string): TextEdit {
  const pair = pairOf(map, name);
  const found = rangeOf(pair?.value);
  if (found) return { ...found, text: value };
  const before = KEYS.slice(0, name === 'tiers' ? RATES.length : KEYS.indexOf(name));
  const anchor = before.flatMap((key) => pairOf(map, key) ?? []).at(-1);
  const { to } = rangeOf(anchor?.value) ?? { to: map.range?.[0] ?? 0 };
  if (map.flow) return { from: to, to, text: `, ${name}: ${value}` };
  const start = rangeOf(anchor?.key)?.from ?? to;
  const indent = start - (text.lastIndexOf('\n', start - 1) + 1);
  const end = text.indexOf('\n', to);
  const at = end < 0 ? text.length : end;
  return { from: at, to: at, text: `\n${' '.repeat(indent)}${name}: ${value}` };
}

function rangeOf(node: unknown): { readonly from: number; readonly to: number } | null {
  const range = isScalar(node) || isMap(node) || isSeq(node) ? node.range : null;
  return range ? { from: range[0], to: range[1] } : null;
}

/** A comment that names the source of the price below it: `# anomalyco/models.dev e2f67ad6`. */
const SOURCE = /^(\s*# )[\w.-]+\/[\w.-]+ [0-9a-f]{8}(?=[\s;,]|$)/;

function sourceEdit(text: string, { key }: Pair, source: string): readonly TextEdit[] {
  const start = text.lastIndexOf('\n', (rangeOf(key)?.from ?? 0) - 1) + 1;
  const before = text.lastIndexOf('\n', start - 2) + 1;
  const [found, margin] = SOURCE.exec(text.slice(before, start)) ?? [];
  return found === undefined ? [] : [{ from: before, to: before + found.length, text: `${margin}${source}` }];
}

/** Applies edits, which do not overlap, to a text. */
export const edited = (text: string, edits: readonly TextEdit[]): string =>
  edits
    .toReversed()
    .toSorted((a, b) => b.from - a.from || b.to - a.to)
    .reduce((all, { from, to, text: own }) => all.slice(0, from) + own + all.slice(to), text);
