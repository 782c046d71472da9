import type { AskedAddOns } from './add-ons.ts';
import type { Microcredits } from './credits.ts';
import type { Decimal } from './decimal.ts';
import { otherTierName } from './service-tier.ts';
import {
  ALL_MEDIA,
  type Amounts,
  MEDIA_BITS,
  PART_UNITS,
  type PartUnit,
  TOKEN_UNITS,
  toolUse,
  UNITS,
  type Unit,
  type UnitKey,
  unitOf,
} from './units.ts';
import type { Usage } from './usage.ts';

/**
 * A model's exact price: for each unit its rate. An amount of a unit costs `amount × rate / divisor` microcredits. For tokens, the quotient
 * `rate / divisor` equals `USD per 1M tokens / USD per Credit`, because a USD price is per 1M tokens and a Credit has 1M microcredits.
 */
export interface Price {
  /** Price lines, ascending by `overInputTokens`. The first price line starts at 0 input tokens. */
  readonly lines: readonly [PriceLine, ...PriceLine[]];
  readonly divisor: number;
  /** The prices of other service tiers by the tier's name; absent if the policy states none. */
  readonly tiers?: Readonly<Record<string, Price>>;
  /** The service tier whose price this is; absent for the default tier. */
  readonly tier?: string;
}

/** What the requests to an endpoint can cost. */
export interface Priced {
  readonly price: Price;
  /** Other prices that may apply before a request ends that begins now; absent if the price does not change by then. */
  readonly nextPrices?: readonly Price[];
}

/** The rates of a price for requests of one length. Divide the rates by the price's divisor to get microcredits. */
export interface PriceLine {
  /** The line applies to requests with more input tokens than this. */
  readonly overInputTokens: number;
  /** The rates by `UnitKey`. A unit without a rate in the policy has the rate that applies instead of it, or is left out. */
  readonly rates: Amounts;
  /** The rates of plain input and output and of a request, which most bills consist of. */
  readonly input: number;
  readonly output: number;
  readonly request: number;
  /** The highest rate of an input token by the bits of the media in a request, without the units that only some requests ask for. */
  readonly inputMost: readonly number[];
  /** The highest rate of an output token. */
  readonly outputMost: number;
}

/** A price list as the policy states it, in USD per 1M tokens, and in USD for each request and tool use. */
interface ListPrice {
  readonly lines: readonly [ListPriceLine, ...ListPriceLine[]];
  /** Fees of all lines: for each request, and for uses of tools. */
  readonly fees?: ReadonlyMap<UnitKey, Decimal>;
  /** The lines of other service tiers by the tier's name. All tiers have the same fees. */
  readonly tiers?: ReadonlyMap<string, readonly [ListPriceLine, ...ListPriceLine[]]>;
}
export interface ListPriceLine {
  readonly overInputTokens: number;
  readonly input: Decimal;
  readonly output: Decimal;
  /** The stated rates of further units. */
  readonly others?: ReadonlyMap<PartUnit, Decimal>;
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b));

/** Scales a fee in USD for one use to the scale of prices in USD per 1M tokens. */
const feeOf = ({ digits, scale }: Decimal): Decimal => ({ digits: digits * 1_000_000n, scale });

/**
 * Converts a list price to integers, exactly; each service tier has one common divisor. `compilePrice` throws RangeError if an integer exceeds
 * 2^53.
 */
export function compilePrice({ lines, fees, tiers = new Map() }: ListPrice, usdPerCredit: Decimal): Price {
  const others = [...tiers].map(([tier, own]) => [tier, { ...compileTier(own, fees, usdPerCredit), tier }] as const);
  return {
    ...compileTier(lines, fees, usdPerCredit),
    ...(others.length > 0 && { tiers: Object.fromEntries(others) }),
  };
}

function compileTier(lines: ListPrice['lines'], fees: ListPrice['fees'] = new Map(), usdPerCredit: Decimal): Price {
  const ofRequests = [...fees].map(([key, fee]) => [key, feeOf(fee)] as const);
  const rates = lines.map((line) => [...ratesOf(line), ...ofRequests]);
  const amounts = rates.flatMap((ofLine) => ofLine.map(([, rate]) => rate));
  const scale = Math.max(usdPerCredit.scale, ...amounts.map((amount) => amount.scale));
  const over = (amount: Decimal) => amount.digits * 10n ** BigInt(scale - amount.scale);
  const divisor = over(usdPerCredit);
  const common = amounts.map(over).reduce(gcd, divisor);
  const integer = (amount: Decimal): number => exact(over(amount) / common);
  const compiled = lines.map(({ overInputTokens }, at) =>
    priceLine(overInputTokens, Object.fromEntries(rates[at]!.map(([key, rate]) => [key, integer(rate)]))),
  );
  const [first, ...rest] = compiled;
  return { lines: [first!, ...rest], divisor: exact(divisor / common) };
}

/** Returns the rates of a line, with the rates that apply to units whose price is not stated. */
function ratesOf({ input, output, others }: ListPriceLine): ReadonlyMap<UnitKey, Decimal> {
  const rates = new Map<UnitKey, Decimal>([['input', input], ['output', output], ...(others ?? [])]);
  for (const unit of PART_UNITS) {
    const { rateOf, asked } = UNITS[unit];
    const instead = asked || rateOf === undefined ? undefined : rates.get(rateOf);
    if (instead && !rates.has(unit)) rates.set(unit, instead);
  }
  return rates;
}

/** Makes a price line from its rates. */
export function priceLine(overInputTokens: number, rates: Amounts): PriceLine {
  const most = (of: 'input' | 'output', media: number) => {
    const units = TOKEN_UNITS.filter((unit) => {
      const { side, asked, media: own } = UNITS[unit];
      return side === of && !asked && (own === undefined || (media & MEDIA_BITS[own]) !== 0);
    });
    return Math.max(...units.map((unit) => rates[unit] ?? 0));
  };
  const { input = 0, output = 0, request = 0 } = rates;
  const inputMost = Array.from({ length: ALL_MEDIA + 1 }, (_, media) => most('input', media));
  return { overInputTokens, rates, input, output, request, inputMost, outputMost: most('output', ALL_MEDIA) };
}

function exact(value: bigint): number {
  const reduced = Number(value);
  if (!Number.isSafeInteger(reduced)) throw new RangeError('the price has more digits than can be charged exactly');
  return reduced;
}

/** Returns a price multiplied by an exact factor, such as 0.88 for a discount of 12 %. Throws RangeError if it exceeds 2^53. */
export function scaledPrice(price: Price, factor: Decimal): Price {
  const { tiers, tier } = price;
  const others = tiers && Object.entries(tiers).map(([name, one]) => [name, scaledPrice(one, factor)] as const);
  return {
    ...scaledLines(price, factor),
    ...(others && { tiers: Object.fromEntries(others) }),
    ...(tier !== undefined && { tier }),
  };
}

function scaledLines({ lines, divisor }: Price, { digits, scale }: Decimal): Price {
  const under = BigInt(divisor) * 10n ** BigInt(scale);
  const rates = lines.flatMap((line) => Object.values(line.rates));
  const common = rates.reduce((all, rate) => gcd(all, BigInt(rate) * digits), under);
  const times = (rate: number): number => exact((BigInt(rate) * digits) / common);
  const scaled = lines.map((line) =>
    priceLine(
      line.overInputTokens,
      Object.fromEntries(Object.entries(line.rates).map(([key, rate]) => [key, times(rate)])),
    ),
  );
  const [first, ...rest] = scaled;
  return { lines: [first!, ...rest], divisor: exact(under / common) };
}

/** Whether tokens and requests cost nothing. */
export const isFree = ({ lines }: Price): boolean =>
  lines.every(({ input, output, request }) => input === 0 && output === 0 && request === 0);

/** Returns the price line that bills a request with this many input tokens. */
export function lineFor(price: Price, inputTokens: number): PriceLine {
  let at = price.lines.length - 1;
  while (at > 0 && inputTokens <= price.lines[at]!.overInputTokens) at--;
  return price.lines[at]!;
}

/**
 * Returns the rate of a unit. A unit that only some requests ask for has the rate that applies instead of it if the policy states none; a
 * tool without a fee costs nothing. No fund pays for either.
 */
export function rateOf({ rates }: PriceLine, key: string): number {
  let rate = rates[key];
  for (let instead = unitOf(key)?.rateOf; rate === undefined && instead; instead = UNITS[instead].rateOf)
    rate = rates[instead];
  return rate ?? 0;
}

/** Returns the cost of a usage, rounded up once to the next microcredit. `costOf` is the only function that rounds money. */
export function costOf(price: Price, usage: Usage): Microcredits {
  const line = lineFor(price, usage.inputTokens);
  const sum =
    usage.units === undefined
      ? line.request + usage.inputTokens * line.input + usage.outputTokens * line.output
      : sumWith(usage.units, line, usage);
  if (sum <= Number.MAX_SAFE_INTEGER) return ceilDivided(sum, price.divisor);
  return ceilDividedExactly(pairsOf(line, usage), price.divisor);
}

/** Returns Σ amount × rate. No part is negative, so the sum is exact unless it exceeds 2^53. */
function sumWith(units: Amounts, line: PriceLine, { inputTokens, outputTokens }: Usage): number {
  let sum = line.request;
  let input = inputTokens;
  let output = outputTokens;
  for (const key in units) {
    const amount = units[key]!;
    const side = unitOf(key)?.side;
    if (side === 'input') input -= amount;
    else if (side === 'output') output -= amount;
    sum += amount * rateOf(line, key);
  }
  return sum + input * line.input + output * line.output;
}

/** Returns the same sum as pairs of amount and rate, for sums that are not exact as a double. */
function pairsOf(line: PriceLine, { inputTokens, outputTokens, units = {} }: Usage): readonly number[] {
  let [input, output] = [inputTokens, outputTokens];
  const pairs: number[] = [1, line.request];
  for (const key in units) {
    const amount = units[key]!;
    const side = unitOf(key)?.side;
    if (side === 'input') input -= amount;
    else if (side === 'output') output -= amount;
    pairs.push(amount, rateOf(line, key));
  }
  return [...pairs, input, line.input, output, line.output];
}

/** Returns the unit of the tokens that a provider wrote to its cache and does not divide by TTL; null if that is `cache_write`. */
export type UndividedUnit = (inputTokens: number) => Unit | null;

/** Makes the function for a request: the unit is the most expensive one that the request lets its provider write. */
export function undividedUnit(price: Price, { units }: AskedAddOns): UndividedUnit {
  return (inputTokens) => {
    const line = lineFor(price, inputTokens);
    let most = rateOf(line, 'cache_write');
    let dearest: Unit | null = null;
    for (const unit of units) {
      if (UNITS[unit].figure !== 'cache_write' || rateOf(line, unit) <= most) continue;
      most = rateOf(line, unit);
      dearest = unit;
    }
    return dearest;
  };
}

/** Returns the price of a service tier by any of its names; undefined if the policy states none. */
export function priceOfTier({ tiers }: Price, name: string): Price | undefined {
  if (tiers === undefined) return undefined;
  if (Object.hasOwn(tiers, name)) return tiers[name];
  const other = otherTierName(name);
  return other !== undefined && Object.hasOwn(tiers, other) ? tiers[other] : undefined;
}

/** Returns the price that a request is expected to have: that of the service tier that it asks for, or the base price. */
export const expectedPrice = (price: Price, asked: AskedAddOns | undefined): Price =>
  asked?.tier === undefined ? price : (priceOfTier(price, asked.tier) ?? price);

/**
 * Returns the prices that may bill a request for a service tier in addition to the base price: the tier's own price, or all if the policy
 * states none for it.
 */
export function pricesOfTier(price: Price, tier: string | undefined): readonly Price[] {
  if (price.tiers === undefined || tier === undefined) return NO_PRICES;
  const own = priceOfTier(price, tier);
  return own === undefined ? Object.values(price.tiers) : [own];
}
const NO_PRICES: readonly Price[] = [];

/** Whether a price covers everything that a request allows its service to bill. */
export function coversAll(
  { price, nextPrices = [] }: Priced,
  { tier, units, toolUses, unpriced }: AskedAddOns,
): boolean {
  const keys = [...units, ...Object.keys(toolUses).map(toolUse)];
  return (
    unpriced.length === 0 &&
    [price, ...nextPrices].every((base) => {
      const own = tier === undefined ? base : priceOfTier(base, tier);
      return own !== undefined && [base, own].every((one) => hasRates(one, keys));
    })
  );
}

const hasRates = ({ lines }: Price, keys: readonly string[]): boolean =>
  keys.every((key) => lines.every(({ rates }) => rates[key] !== undefined));

/** Returns the other prices that may apply before a request ends that begins now: later ones, and those of the asked service tier. */
const othersOf = ({ price, nextPrices = [] }: Priced, tier: string | undefined): readonly Price[] => [
  ...pricesOfTier(price, tier),
  ...nextPrices.flatMap((next) => [next, ...pricesOfTier(next, tier)]),
];

/**
 * Returns the highest possible cost of at most `inputTokens` and `outputTokens`: with any division into units, any applicable price line,
 * any price that may apply before the end, and the service tier that was asked for or the default one.
 * @param media the bits of the media that the input can have
 */
export function costBound(
  priced: Priced,
  inputTokens: number,
  outputTokens: number,
  asked?: AskedAddOns,
  media = ALL_MEDIA,
): Microcredits {
  const { price, nextPrices } = priced;
  const bound = boundOf(price, inputTokens, outputTokens, asked, media);
  if (nextPrices === undefined && asked?.tier === undefined) return bound;
  const others = othersOf(priced, asked?.tier).map((other) => boundOf(other, inputTokens, outputTokens, asked, media));
  return Math.max(bound, ...others);
}

function boundOf(
  price: Price,
  inputTokens: number,
  outputTokens: number,
  asked: AskedAddOns | undefined,
  media: number,
): Microcredits {
  const { input, output, fees } = dearestRates(price, inputTokens, asked, media);
  const sum = fees + inputTokens * input + outputTokens * output;
  return sum <= Number.MAX_SAFE_INTEGER
    ? ceilDivided(sum, price.divisor)
    : ceilDividedExactly([1, fees, inputTokens, input, outputTokens, output], price.divisor);
}

/**
 * Returns the most output tokens whose worst-case cost, together with `inputTokens`, is at most `amount`; -1 if even the input costs more.
 * `outputWithin` does not round on the way, so the smallest sufficient amount is sufficient.
 * @param media as for `costBound`
 */
export function outputWithin(
  priced: Priced,
  inputTokens: number,
  amount: Microcredits,
  asked?: AskedAddOns,
  media = ALL_MEDIA,
): number {
  const { price, nextPrices } = priced;
  const output = withinOf(price, inputTokens, amount, asked, media);
  if (nextPrices === undefined && asked?.tier === undefined) return output;
  const others = othersOf(priced, asked?.tier).map((other) => withinOf(other, inputTokens, amount, asked, media));
  return Math.min(output, ...others);
}

function withinOf(
  price: Price,
  inputTokens: number,
  amount: Microcredits,
  asked: AskedAddOns | undefined,
  media: number,
): number {
  const { input, output, fees } = dearestRates(price, inputTokens, asked, media);
  const affords = amount * price.divisor;
  const spent = fees + inputTokens * input;
  if (affords <= Number.MAX_SAFE_INTEGER && spent <= Number.MAX_SAFE_INTEGER) {
    const left = affords - spent;
    if (left < 0) return -1;
    return output === 0 ? Number.MAX_SAFE_INTEGER : (left - (left % output)) / output;
  }
  const left = BigInt(amount) * BigInt(price.divisor) - BigInt(fees) - BigInt(inputTokens) * BigInt(input);
  if (left < 0n) return -1;
  return output === 0 ? Number.MAX_SAFE_INTEGER : clamped(left / BigInt(output));
}

/** The most expensive rates of an input and an output token, and the highest fees of a request. */
interface DearestRates {
  readonly input: number;
  readonly output: number;
  readonly fees: number;
}

/**
 * Returns the most expensive rates over all price lines that may bill up to `inputTokens`. The fees stay far below 2^53, because a tool use
 * costs cents.
 */
function dearestRates(
  { lines }: Price,
  inputTokens: number,
  asked: AskedAddOns | undefined,
  media: number,
): DearestRates {
  let [input, output, fees] = [0, 0, 0];
  for (let at = 0; at < lines.length && (at === 0 || lines[at]!.overInputTokens < inputTokens); at++) {
    const line = lines[at]!;
    input = Math.max(input, line.inputMost[media]!);
    output = Math.max(output, line.outputMost);
    fees = Math.max(fees, line.request);
    if (asked === undefined) continue;
    for (const unit of asked.units) input = Math.max(input, line.rates[unit] ?? 0);
    fees = Math.max(fees, feesWith(line, asked));
  }
  return { input, output, fees };
}

function feesWith({ rates, request }: PriceLine, { toolUses }: AskedAddOns): number {
  let fees = request;
  for (const name in toolUses) fees += toolUses[name]! * (rates[toolUse(name)] ?? 0);
  return fees;
}

/** Returns ceil(sum / divisor), for a sum that a double holds exactly. */
function ceilDivided(sum: number, divisor: number): Microcredits {
  const rest = sum % divisor;
  return (sum - rest) / divisor + (rest > 0 ? 1 : 0);
}

/** Returns ceil(Σ amount × rate / divisor) with big integers, for sums that doubles cannot hold exactly. */
function ceilDividedExactly(pairs: readonly number[], over: number): Microcredits {
  let exact = 0n;
  for (let i = 0; i < pairs.length; i += 2) exact += BigInt(pairs[i]!) * BigInt(pairs[i + 1]!);
  const divisor = BigInt(over);
  return clamped((exact + divisor - 1n) / divisor);
}

const clamped = (amount: bigint): number => (amount > SAFE_MAX ? Number.MAX_SAFE_INTEGER : Number(amount));
