import type { AddOns, AskedAddOns } from './add-ons.ts';
import type { Microcredits } from './credits.ts';
import type { Decimal } from './decimal.ts';
import type { Usage } from './usage.ts';

/**
 * A model's exact price. A token of a kind costs `line.kind / divisor` microcredits. The quotient `line.kind / divisor` equals `USD per 1M
 * tokens / USD per Credit`, because a USD price is per 1M tokens and a Credit has 1M microcredits.
 */
export interface Price {
  /** Price lines, ascending by `overInputTokens`. The first price line starts at 0 input tokens. */
  readonly lines: readonly [PriceLine, ...PriceLine[]];
  /** The fee for each request. Divide the fee by `divisor` to get microcredits. */
  readonly perRequest: number;
  /**
   * Fees for each use of the service's own tools, by name. Divide these fees by `divisor` to get microcredits. `toolUses` is absent if no
   * tool has a fee.
   */
  readonly toolUses?: Readonly<Record<string, number>>;
  readonly divisor: number;
}

/** The rates per token on one price line. Divide the rates by the price's divisor to get microcredits. */
export interface PriceLine {
  /** The line applies to requests with more input tokens than this. */
  readonly overInputTokens: number;
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Rate of tokens that are written to the cache for an hour; absent if the policy states no price for them. */
  readonly hourCacheWrite?: number;
  readonly output: number;
}

/** A price list as the policy states it, in USD per 1M tokens and USD per request or tool use. */
interface ListPrice {
  readonly lines: readonly [ListPriceLine, ...ListPriceLine[]];
  readonly perRequest: Decimal | null;
  readonly toolUses?: ReadonlyMap<string, Decimal>;
}
export interface ListPriceLine {
  readonly overInputTokens: number;
  readonly input: Decimal;
  /** If `cachedInput` is absent, cached input costs as much as input. */
  readonly cachedInput: Decimal | null;
  /** If `cacheWrite` is absent, writing to the cache costs as much as input. */
  readonly cacheWrite: Decimal | null;
  readonly hourCacheWrite?: Decimal | null;
  readonly output: Decimal;
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b));

/** Scales a fee in USD per request to the unit of prices in USD per 1M tokens. */
const feeOf = ({ digits, scale }: Decimal): Decimal => ({ digits: digits * 1_000_000n, scale });

/** Converts a list price to integers with one common divisor, exactly. `compilePrice` throws RangeError if an integer exceeds 2^53. */
export function compilePrice({ lines, perRequest, toolUses }: ListPrice, usdPerCredit: Decimal): Price {
  const fee = perRequest ? feeOf(perRequest) : { digits: 0n, scale: 0 };
  const fees = [...(toolUses ?? [])].map(([name, price]) => [name, feeOf(price)] as const);
  const amounts = [...lines.flatMap(ratesOf), fee, ...fees.map(([, amount]) => amount)];
  const scale = Math.max(usdPerCredit.scale, ...amounts.map((amount) => amount.scale));
  const over = (amount: Decimal) => amount.digits * 10n ** BigInt(scale - amount.scale);
  const divisor = over(usdPerCredit);
  const common = amounts.map(over).reduce(gcd, divisor);
  const integer = (amount: Decimal): number => exact(over(amount) / common);
  const line = (from: ListPriceLine): PriceLine => ({
    overInputTokens: from.overInputTokens,
    input: integer(from.input),
    cachedInput: integer(from.cachedInput ?? from.input),
    cacheWrite: integer(from.cacheWrite ?? from.input),
    ...(from.hourCacheWrite && { hourCacheWrite: integer(from.hourCacheWrite) }),
    output: integer(from.output),
  });
  const [first, ...rest] = lines;
  return {
    lines: [line(first), ...rest.map(line)],
    perRequest: integer(fee),
    ...(fees.length > 0 && { toolUses: Object.fromEntries(fees.map(([name, amount]) => [name, integer(amount)])) }),
    divisor: exact(divisor / common),
  };
}

const ratesOf = ({ input, cachedInput, cacheWrite, hourCacheWrite, output }: ListPriceLine): Decimal[] =>
  [input, cachedInput, cacheWrite, hourCacheWrite, output].filter((rate) => rate != null);

function exact(value: bigint): number {
  const reduced = Number(value);
  if (!Number.isSafeInteger(reduced)) throw new RangeError('the price has more digits than can be charged exactly');
  return reduced;
}

/** Returns a price multiplied by an exact factor, such as 0.88 for a discount of 12 %. Throws RangeError if it exceeds 2^53. */
export function scaledPrice({ lines, perRequest, toolUses, divisor }: Price, { digits, scale }: Decimal): Price {
  const fees = Object.entries(toolUses ?? {});
  const figures = [
    ...lines.flatMap((line) => RATE_NAMES.map((name) => line[name] ?? 0)),
    perRequest,
    ...fees.map(([, fee]) => fee),
  ];
  const under = BigInt(divisor) * 10n ** BigInt(scale);
  const common = figures.reduce((all, figure) => gcd(all, BigInt(figure) * digits), under);
  const times = (figure: number): number => exact((BigInt(figure) * digits) / common);
  const lineOf = (line: PriceLine): PriceLine => ({
    ...line,
    ...Object.fromEntries(RATE_NAMES.flatMap((name) => (line[name] === undefined ? [] : [[name, times(line[name])]]))),
  });
  const [first, ...rest] = lines;
  return {
    lines: [lineOf(first), ...rest.map(lineOf)],
    perRequest: times(perRequest),
    ...(toolUses && { toolUses: Object.fromEntries(fees.map(([name, fee]) => [name, times(fee)])) }),
    divisor: exact(under / common),
  };
}
const RATE_NAMES = ['input', 'cachedInput', 'cacheWrite', 'hourCacheWrite', 'output'] as const;

/** Whether tokens and requests cost nothing. */
export const isFree = ({ perRequest, lines }: Price): boolean =>
  perRequest === 0 && lines.every(({ input, output }) => input === 0 && output === 0);

/** Returns the price line that bills a request with this many input tokens. */
export function lineFor(price: Price, inputTokens: number): PriceLine {
  let at = price.lines.length - 1;
  while (at > 0 && inputTokens <= price.lines[at]!.overInputTokens) at--;
  return price.lines[at]!;
}

/** Returns the cost of tokens, rounded up once to the next microcredit. `costOf` is the only function that rounds money. */
export function costOf(price: Price, usage: Usage): Microcredits {
  const line = lineFor(price, usage.inputTokens);
  const { inputTokens, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens, addOns } = usage;
  const plain = inputTokens - cached - written;
  const sum =
    price.perRequest +
    plain * line.input +
    cached * line.cachedInput +
    written * line.cacheWrite +
    outputTokens * line.output;
  if (addOns === undefined && sum <= Number.MAX_SAFE_INTEGER) return ceilDivided(sum, price.divisor);
  const pairs = [plain, line.input, cached, line.cachedInput, written, line.cacheWrite, outputTokens, line.output];
  return ceilDividedExactly(price, addOns ? [...pairs, ...addOnPairs(price, line, addOns)] : pairs);
}

/**
 * Returns the cost of add-ons in addition to the tokens, as pairs of amount and rate. An add-on without a price adds nothing, because no
 * fund may pay for it.
 */
export function addOnPairs(price: Price, line: PriceLine, { hourCacheTokens = 0, toolUses = {} }: AddOns): number[] {
  const { cacheWrite, hourCacheWrite = cacheWrite } = line;
  const pairs = [hourCacheTokens, hourCacheWrite - cacheWrite];
  for (const name in toolUses) pairs.push(toolUses[name]!, price.toolUses?.[name] ?? 0);
  return pairs;
}

/** Whether a price covers every add-on that a request allows its service to bill. */
export function coversAll({ lines, toolUses: fees }: Price, { hourCache, toolUses, unpriced }: AskedAddOns): boolean {
  if (unpriced.length > 0 || (hourCache && lines.some(({ hourCacheWrite }) => hourCacheWrite === undefined)))
    return false;
  return Object.keys(toolUses).every((name) => fees?.[name] !== undefined);
}

/**
 * Returns the highest possible cost of at most `inputTokens` and `outputTokens`, with any part of the input cached and any applicable price
 * line.
 */
export function costBound(price: Price, inputTokens: number, outputTokens: number, addOns?: AskedAddOns): Microcredits {
  const { input, output } = dearestRates(price, inputTokens, addOns?.hourCache);
  const fees = feesFor(price, addOns);
  const sum = fees + inputTokens * input + outputTokens * output;
  if (sum <= Number.MAX_SAFE_INTEGER) return ceilDivided(sum, price.divisor);
  return ceilDividedExactly({ perRequest: fees, divisor: price.divisor }, [inputTokens, input, outputTokens, output]);
}

/**
 * Returns the most output tokens whose worst-case cost, together with `inputTokens`, is at most `amount`; -1 if even the input costs more.
 * `outputWithin` does not round on the way, so the smallest sufficient amount is sufficient.
 */
export function outputWithin(price: Price, inputTokens: number, amount: Microcredits, addOns?: AskedAddOns): number {
  const { input, output } = dearestRates(price, inputTokens, addOns?.hourCache);
  const fees = feesFor(price, addOns);
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

/** Returns the highest possible fees of a request. The fees stay far below 2^53, because a tool use costs cents. */
function feesFor({ perRequest, toolUses }: Price, asked: AskedAddOns | undefined): number {
  let fees = perRequest;
  for (const name in asked?.toolUses) fees += asked.toolUses[name]! * (toolUses?.[name] ?? 0);
  return fees;
}

/** Returns the most expensive rates of an input and an output token, over all price lines that may bill up to `inputTokens`. */
function dearestRates({ lines }: Price, inputTokens: number, hourCache = false): Pick<PriceLine, 'input' | 'output'> {
  let [input, output] = [0, 0];
  for (let at = 0; at < lines.length && (at === 0 || lines[at]!.overInputTokens < inputTokens); at++) {
    const line = lines[at]!;
    input = Math.max(input, line.input, line.cacheWrite, line.cachedInput, hourCache ? (line.hourCacheWrite ?? 0) : 0);
    output = Math.max(output, line.output);
  }
  return { input, output };
}

/** Returns ceil(sum / divisor), for a sum that a double holds exactly. */
function ceilDivided(sum: number, divisor: number): Microcredits {
  const rest = sum % divisor;
  return (sum - rest) / divisor + (rest > 0 ? 1 : 0);
}

/** Returns ceil((perRequest + Σ tokens × rate) / divisor) with big integers, for sums that doubles cannot hold exactly. */
function ceilDividedExactly(price: Pick<Price, 'perRequest' | 'divisor'>, pairs: readonly number[]): Microcredits {
  let exact = BigInt(price.perRequest);
  for (let i = 0; i < pairs.length; i += 2) exact += BigInt(pairs[i]!) * BigInt(pairs[i + 1]!);
  const divisor = BigInt(price.divisor);
  return clamped((exact + divisor - 1n) / divisor);
}

const clamped = (amount: bigint): number => (amount > SAFE_MAX ? Number.MAX_SAFE_INTEGER : Number(amount));
