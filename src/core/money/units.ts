type Medium = 'audio' | 'image';
/** The bit of each kind of media that the input of a request can have. */
export const MEDIA_BITS: Readonly<Record<Medium, number>> = { audio: 1, image: 2 };
export const ALL_MEDIA = Object.values(MEDIA_BITS).reduce((all, bit) => all | bit, 0);

/**
 * The units that providers bill. A bill is a list of unit and amount, a price a list of unit and rate. Each unit is stated once: prices, costs,
 * bounds, the journal, receipts, exports, metrics, the console and the documentation follow from the table.
 */
interface UnitRow {
  /** What the unit counts: a part of the input or output tokens, or something that is billed in addition to tokens. */
  readonly side: 'input' | 'output' | 'beside';
  /** The unit whose rate applies if the price states none. Without one, the unit costs nothing. */
  readonly rateOf?: string;
  /**
   * The unit occurs only if a request asks for it, and a request that asks for it cannot draw on a fund unless the price states its rate.
   * `ttl`: the mark of a prefix that asks for it. `what`: what a refusal names.
   */
  readonly asked?: { readonly ttl: string; readonly what: string };
  /** The unit occurs only in requests with this kind of media. */
  readonly media?: Medium;
  /** The figure of the dialects, logs and traces that includes the unit. */
  readonly figure?: 'cache_read' | 'cache_write';
  /** The unit in receipts and the console. */
  readonly label: string;
  /** The value of the label `kind` in metrics, for units of tokens. */
  readonly metric?: string;
  /** The description of the price in policies and an example, in USD per 1M tokens; absent for fees, whose keys have another form. */
  readonly price?: readonly [description: string, example: number];
}

const TABLE = {
  input: {
    side: 'input',
    label: 'Input',
    metric: 'input',
    price: ['USD per 1M input tokens.', 0.25],
  },
  cached_input: {
    side: 'input',
    rateOf: 'input',
    figure: 'cache_read',
    label: 'Cached input',
    metric: 'input_cached',
    price: ['USD per 1M input tokens read from the cache. Default: `input`.', 0.025],
  },
  cache_write: {
    side: 'input',
    rateOf: 'input',
    figure: 'cache_write',
    label: 'Written to the cache',
    metric: 'input_cache_write',
    price: ['USD per 1M input tokens written to the cache. Default: `input`.', 0.3],
  },
  cache_write_1h: {
    side: 'input',
    rateOf: 'cache_write',
    asked: { ttl: '1h', what: 'writing to the cache for an hour' },
    figure: 'cache_write',
    label: 'Written to the cache for an hour',
    metric: 'input_cache_write_1h',
    price: [
      'USD per 1M input tokens written to the cache for an hour. Default: no price, so a request that needs it cannot draw on a budget or balance.',
      0.5,
    ],
  },
  cache_write_12h: {
    side: 'input',
    rateOf: 'cache_write',
    asked: { ttl: '12h', what: 'writing to the cache for 12 hours' },
    figure: 'cache_write',
    label: 'Written to the cache for 12 hours',
    metric: 'input_cache_write_12h',
    price: [
      'USD per 1M input tokens written to the cache for 12 hours. Default: no price, so a request that needs it cannot draw on a budget or balance.',
      0.5,
    ],
  },
  audio_input: {
    side: 'input',
    rateOf: 'input',
    media: 'audio',
    label: 'Audio input',
    metric: 'input_audio',
    price: ['USD per 1M input tokens of audio. Default: `input`.', 2.5],
  },
  image_input: {
    side: 'input',
    rateOf: 'input',
    media: 'image',
    label: 'Image input',
    metric: 'input_image',
    price: ['USD per 1M input tokens of images. Default: `input`.', 0.5],
  },
  output: {
    side: 'output',
    label: 'Output',
    metric: 'output',
    price: ['USD per 1M output tokens, hidden reasoning included.', 2],
  },
  audio_output: {
    side: 'output',
    rateOf: 'output',
    label: 'Audio output',
    metric: 'output_audio',
    price: ['USD per 1M output tokens of audio. Default: `output`.', 10],
  },
  image_output: {
    side: 'output',
    rateOf: 'output',
    label: 'Image output',
    metric: 'output_image',
    price: ['USD per 1M output tokens of images. Default: `output`.', 10],
  },
  tool_use: { side: 'beside', label: 'Tool' },
  request: { side: 'beside', label: 'Fee of a request' },
} as const satisfies Readonly<Record<string, UnitRow>>;

/** The name of a unit. */
export type Unit = keyof typeof TABLE;
/** What a bill counts: a unit, or the uses of a tool that the service runs, by its name: `tool_use/web_search`. */
export type UnitKey = Unit | `tool_use/${string}`;
/** Amounts by `UnitKey`. A unit that is not named has the amount 0. */
export type Amounts = Readonly<Record<string, number>>;
/** A unit that is a part of the input or the output. */
export type PartUnit = {
  [Name in Unit]: (typeof TABLE)[Name] extends { readonly rateOf: string } ? Name : never;
}[Unit];
/** A unit of tokens, which policies price per 1M tokens. */
export type TokenUnit = PartUnit | 'input' | 'output';

/** A unit of tokens of text: the input and the output, and what a cache reads and writes. */
export type TextUnit =
  | 'input'
  | 'output'
  | { [Name in Unit]: (typeof TABLE)[Name] extends { readonly figure: string } ? Name : never }[Unit];

type Row = UnitRow & { readonly rateOf?: Unit };
/** The members that the row of every unit of tokens has. */
type TokenRow = Row & Required<Pick<UnitRow, 'metric' | 'price'>>;

export const UNITS: { readonly [Name in Unit]: Name extends TokenUnit ? TokenRow : Row } = TABLE;
export const UNIT_NAMES = Object.keys(TABLE) as readonly Unit[];
/** A map, because a key can be any text that a plugin reports. */
const ROWS: ReadonlyMap<string, Row> = new Map(Object.entries(UNITS));
export const isUnit = (key: string): key is Unit => ROWS.has(key);

const isPart = (unit: Unit): unit is PartUnit => UNITS[unit].rateOf !== undefined;
export const PART_UNITS: readonly PartUnit[] = UNIT_NAMES.filter(isPart);
export const TOKEN_UNITS: readonly TokenUnit[] = UNIT_NAMES.filter(
  (unit): unit is TokenUnit => isPart(unit) || unit === 'input' || unit === 'output',
);
export const TEXT_UNITS: readonly TextUnit[] = TOKEN_UNITS.filter(
  (unit): unit is TextUnit => unit === 'input' || unit === 'output' || UNITS[unit].figure !== undefined,
);
/** The units that occur only if a request asks for them. A request has them as bits, in this order. */
export const ASKED_UNITS: readonly Unit[] = UNIT_NAMES.filter((unit) => UNITS[unit].asked !== undefined);

/** The key of the uses of a tool. */
export const toolUse = (name: string): UnitKey => `${TOOL_USE}${name}`;
const TOOL_USE = 'tool_use/';
/** Returns the name of the tool that a key counts; '' for other keys. */
export const toolOf = (key: string): string => (key.startsWith(TOOL_USE) ? key.slice(TOOL_USE.length) : '');
/** Returns the unit of a key; undefined for a text that is no key. */
export const unitOf = (key: string): Row | undefined =>
  ROWS.get(key) ?? (key.startsWith(TOOL_USE) ? UNITS.tool_use : undefined);

/** Returns the bit of the unit that a prefix with this TTL is written to the cache as; 0 for none. */
export function askedBit(ttl: unknown): number {
  const at = ASKED_UNITS.findIndex((unit) => UNITS[unit].asked?.ttl === ttl);
  return at < 0 ? 0 : 1 << at;
}

/** Returns the units of bits. */
export const askedUnits = (bits: number): readonly Unit[] => ASKED_UNITS.filter((_, at) => (bits & (1 << at)) !== 0);
