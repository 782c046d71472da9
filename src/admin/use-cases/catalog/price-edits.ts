import { type Document, isMap, isScalar, isSeq, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { isObject, objectOf, objectsIn, textOf } from '../../../core/json/object.ts';
import type { Members } from '../../../core/json/original.ts';
import { TOKEN_UNITS } from '../../../core/money/units.ts';
import { endedPeriods, figuresIn, momentText } from './price-periods.ts';
import { RATES, type Rate, type WitnessPeriod, type WitnessPrice, type WitnessRates } from './witnesses/witness.ts';

/** The price of an endpoint as a policy file states it. */
export interface StatedPrice {
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  readonly line: number;
  /** The members of the price. */
  readonly price: Members;
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
  const document = parseDocument(text);
  const models = document.get('models', true);
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
      return [{ model: id, provider, upstream, line, ...readPrice(source.map, document), ...limits, source }];
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

function readPrice(map: YAMLMap, document: Document) {
  const price: unknown = map.toJS(document);
  const [asOf, basis] = [map.get('as_of'), map.get('basis')];
  return {
    price: objectOf(price),
    asOf: asOf === undefined ? null : String(asOf),
    basis: typeof basis === 'string' ? basis : null,
  };
}

function tiersOf(map: YAMLMap): ReadonlyMap<number, YAMLMap> {
  const tiers = map.get('tiers', true);
  const maps = isSeq(tiers) ? tiers.items.filter(isMap) : [];
  return new Map(maps.map((tier) => [Number(tier.get('over_input_tokens')), tier]));
}

/**
 * Returns the edits that make a price what witnesses state, with the day and the basis. All other characters of the file stay, and so do
 * hours, service tiers and later prices that the witnesses do not state. If the price has ended, the price of `later` takes its place.
 * @param changed the paths of the figures that differ, as `figuresIn` gives them
 * @param source the comment above the price that names its source, such as `BerriAI/litellm 8943af58`, is replaced by this
 */
export function editsFor(
  text: string,
  { source: { map, pair }, price: own }: StatedPrice,
  { later = [], ...price }: WitnessPrice,
  { asOf, source, changed }: { readonly asOf: string; readonly source: string; readonly changed: readonly string[] },
): readonly TextEdit[] {
  const comment = sourceEdit(text, pair, source);
  const ownPeriods = [own, ...objectsIn(own.later)];
  const ended = endedPeriods(ownPeriods, asOf);
  const [current = own, ...next] = mergedPeriods(ownPeriods.slice(ended), [price, ...later]);
  if (ended > 0) {
    const moving = next.length > 0 || 'hours' in current;
    const rest = {
      ...(next.length > 0 && { later: next }),
      ...(moving && 'billed_at' in own && { billed_at: own.billed_at }),
    };
    const renewed = { ...current, ...rest, as_of: asOf, basis: 'aggregator' };
    const { from = 0, to = 0 } = rangeOf(map, text) ?? {};
    return [{ from, to, text: flowText(renewed) }, ...comment];
  }
  const isChanged = (form: string) => changed.some((path) => path.startsWith(`${form}.`));
  const form = (name: string, value: unknown) => setValue(text, map, name, flowText(value), blockText(value));
  return [
    ...rateEdits(text, map, price, figuresIn(own, asOf)),
    ...(isChanged('hours') ? [form('hours', current.hours)] : []),
    ...(isChanged('service_tiers') ? [form('service_tiers', current.service_tiers)] : []),
    ...(isChanged('later') ? [setValue(text, map, 'until', flowText(current.until)), form('later', next)] : []),
    setValue(text, map, 'as_of', asOf),
    setValue(text, map, 'basis', 'aggregator'),
    ...comment,
  ];
}

/** Adds the statements of witnesses to the periods of a price, which the moments of their beginnings identify. */
function mergedPeriods(own: readonly Members[], found: readonly WitnessPeriod[]): readonly Members[] {
  const merged = (before: Members, after: WitnessPeriod): Members => ({
    ...before,
    ...after,
    ...(after.service_tiers && { service_tiers: { ...objectOf(before.service_tiers), ...after.service_tiers } }),
  });
  if (found.length === 1) return own.map((period, at) => (at === 0 ? merged(period, found[0]!) : period));
  const beginOf = (periods: readonly Readonly<{ until?: unknown }>[], at: number) =>
    momentText(textOf(periods[at - 1]?.until));
  return found.map((period, at) => {
    const begin = beginOf(found, at);
    const same = own.find((_, other) => beginOf(own, other) === begin);
    const {
      until: _,
      later: __,
      ...before
    } = same ?? unstatedIn(own.findLast((_, other) => beginOf(own, other) <= begin));
    return merged(before, period);
  });
}

/** Returns the members of a period that no witness states, such as the prices of tools: they also apply in a new period after it. */
const unstatedIn = (period: Members = {}): Members =>
  Object.fromEntries(Object.entries(period).filter(([key]) => LASTING.has(key)));
const LASTING: ReadonlySet<string> = new Set<string>([...TOKEN_UNITS, 'per_request', 'tool_uses']).difference(
  new Set<string>(RATES),
);

function rateEdits(
  text: string,
  map: YAMLMap,
  { tiers = [], ...line }: WitnessRates,
  figures: ReadonlyMap<string, number>,
): readonly TextEdit[] {
  const own = tiersOf(map);
  const isSameForm = tiers.every(({ over_input_tokens: over }) => own.has(over));
  return [
    ...lineEdits(text, map, line, figures, ''),
    ...(isSameForm
      ? tiers.flatMap((tier) => {
          const at = own.get(tier.over_input_tokens);
          return at ? lineEdits(text, at, tier, figures, `tiers.${tier.over_input_tokens}.`) : [];
        })
      : [setValue(text, map, 'tiers', flowText(tiers))]),
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

/** Writes a value in one line. */
function flowText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flowText).join(', ')}]`;
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, one]) => `${key}: ${flowText(one)}`);
    return `{ ${members.join(', ')} }`;
  }
  const text = String(value);
  return typeof value === 'string' && !/^[\w-]+$/.test(text) ? JSON.stringify(text) : text;
}

/** Writes a list or a map with a line for each of its items. */
const blockText = (value: unknown): string =>
  Array.isArray(value)
    ? value.map((one) => `\n  - ${flowText(one)}`).join('')
    : Object.entries(objectOf(value))
        .map(([key, one]) => `\n  ${key}: ${flowText(one)}`)
        .join('');

/** Keys of a price in their usual order, of those whose values are scalars. */
const KEYS: readonly string[] = [...RATES, 'as_of', 'basis'];

/**
 * Replaces the value of a key, or adds the key after its predecessor in the usual order, in the style of the map.
 * @param block what follows the key in a map whose keys have lines of their own
 */
function setValue(text: string, map: YAMLMap, name: string, value: string, block = ` ${value}`): TextEdit {
  const pair = pairOf(map, name);
  const found = rangeOf(pair?.value, text);
  if (found) return { ...found, text: value };
  const before = KEYS.slice(0, KEYS.includes(name) ? KEYS.indexOf(name) : RATES.length);
  const anchor = before.flatMap((key) => pairOf(map, key) ?? []).at(-1);
  const { to } = rangeOf(anchor?.value, text) ?? { to: map.range?.[0] ?? 0 };
  if (map.flow) return { from: to, to, text: `, ${name}: ${value}` };
  const start = rangeOf(anchor?.key, text)?.from ?? to;
  const indent = start - (text.lastIndexOf('\n', start - 1) + 1);
  const end = text.indexOf('\n', to);
  const at = end < 0 ? text.length : end;
  return { from: at, to: at, text: `\n${name}:${block}`.replaceAll('\n', `\n${' '.repeat(indent)}`) };
}

function rangeOf(node: unknown, text: string): { readonly from: number; readonly to: number } | null {
  const range = isScalar(node) || isMap(node) || isSeq(node) ? node.range : null;
  return range ? { from: range[0], to: range[0] + text.slice(range[0], range[1]).trimEnd().length } : null;
}

/** A comment that names the source of the price below it: `# anomalyco/models.dev e2f67ad6`. */
const SOURCE = /^(\s*# )[\w.-]+\/[\w.-]+ [0-9a-f]{8}(?=[\s;,]|$)/;

function sourceEdit(text: string, { key }: Pair, source: string): readonly TextEdit[] {
  const start = text.lastIndexOf('\n', (rangeOf(key, text)?.from ?? 0) - 1) + 1;
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
