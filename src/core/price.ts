import type { AddOns, AskedAddOns } from './add-ons.ts';
import type { Microcredits } from './credits.ts';
import type { Decimal } from './decimal.ts';
import type { Usage } from './usage.ts';

/**
 * A model's exact price. A token of a kind costs `line.kind / divisor` microcredits; since
 * a USD price is per 1M tokens and a Credit has 1M microcredits, that quotient is simply
 * `USD per 1M tokens / USD per Credit`.
 */
export interface Price {
  /** Ascending by `overInputTokens`; the first starts at 0. */
  readonly lines: readonly [PriceLine, ...PriceLine[]];
  /** A fee for each request, over the same divisor. */
  readonly perRequest: number;
  /** Fees for each use of the service's own tools, by name, over the same divisor; absent for none. */
  readonly toolUses?: Readonly<Record<string, number>>;
  readonly divisor: number;
}

/** Integers over the price's divisor. */
export interface PriceLine {
  /** The line applies to requests with more input tokens than this. */
  readonly overInputTokens: number;
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Of tokens that are written for an hour; absent where the policy states no price for them. */
  readonly hourCacheWrite?: number;
  readonly output: number;
}

/** A price list as the policy states it: USD per 1M tokens, USD per request or use. */
interface ListPrice {
  readonly lines: readonly [ListPriceLine, ...ListPriceLine[]];
  readonly perRequest: Decimal | null;
  readonly toolUses?: ReadonlyMap<string, Decimal>;
}
export interface ListPriceLine {
  readonly overInputTokens: number;
  readonly input: Decimal;
  /** Absent: cached input costs as much as input. */
  readonly cachedInput: Decimal | null;
  /** Absent: writing to the cache costs as much as input. */
  readonly cacheWrite: Decimal | null;
  readonly hourCacheWrite?: Decimal | null;
  readonly output: Decimal;
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b));

/** A fee in USD is 1M times as many microcredits as a USD price per 1M tokens. */
const feeOf = ({ digits, scale }: Decimal): Decimal => ({ digits: digits * 1_000_000n, scale });

/** Turns a list price into integers over one divisor, exactly. Throws RangeError when those leave 2^53. */
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

/** The line that bills a request of so many input tokens. */
export function lineFor(price: Price, inputTokens: number): PriceLine {
  let at = price.lines.length - 1;
  while (at > 0 && inputTokens <= price.lines[at]!.overInputTokens) at--;
  return price.lines[at]!;
}

/** Returns the cost of tokens, rounded up once to the next microcredit: the only place where money is rounded. */
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

/** The cost of add-ons beyond the tokens, as amounts and rates. A part without a price costs nothing: no fund pays for it. */
export function addOnPairs(price: Price, line: PriceLine, { hourCacheTokens = 0, toolUses = {} }: AddOns): number[] {
  const { cacheWrite, hourCacheWrite = cacheWrite } = line;
  const pairs = [hourCacheTokens, hourCacheWrite - cacheWrite];
  for (const name in toolUses) pairs.push(toolUses[name]!, price.toolUses?.[name] ?? 0);
  return pairs;
}

/** Whether a price covers all that a request lets its service bill. */
export function coversAll({ lines, toolUses: fees }: Price, { hourCache, toolUses, unpriced }: AskedAddOns): boolean {
  if (unpriced.length > 0 || (hourCache && lines.some(({ hourCacheWrite }) => hourCacheWrite === undefined)))
    return false;
  return Object.keys(toolUses).every((name) => fees?.[name] !== undefined);
}

/**
 * The most that up to `inputTokens` and `outputTokens` can cost, whichever of them are cached
 * and whichever applicable line bills them.
 */
export function costBound(price: Price, inputTokens: number, outputTokens: number, addOns?: AskedAddOns): Microcredits {
  const input = dearestInput(price, inputTokens, addOns?.hourCache);
  const output = dearestOutput(price, inputTokens);
  const fees = feesFor(price, addOns);
  const sum = fees + inputTokens * input + outputTokens * output;
  if (sum <= Number.MAX_SAFE_INTEGER) return ceilDivided(sum, price.divisor);
  return ceilDividedExactly({ perRequest: fees, divisor: price.divisor }, [inputTokens, input, outputTokens, output]);
}

/**
 * The most output tokens whose bound beside `inputTokens` is within `amount`; -1 when not even the
 * input is. Nothing is rounded on the way, so that the smallest sufficient amount suffices.
 */
export function outputWithin(price: Price, inputTokens: number, amount: Microcredits, addOns?: AskedAddOns): number {
  const input = dearestInput(price, inputTokens, addOns?.hourCache);
  const output = dearestOutput(price, inputTokens);
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

/** The fees of a request at most. They stay far below 2^53: a use costs cents. */
function feesFor({ perRequest, toolUses }: Price, asked: AskedAddOns | undefined): number {
  let fees = perRequest;
  for (const name in asked?.toolUses) fees += asked.toolUses[name]! * (toolUses?.[name] ?? 0);
  return fees;
}

/** The dearest rate of an input token, by the lines that may bill up to so many. */
function dearestInput(price: Price, inputTokens: number, hourCache = false): number {
  let dearest = 0;
  for (let at = 0; mayBill(price, at, inputTokens); at++) {
    const { input, cacheWrite, cachedInput, hourCacheWrite = 0 } = price.lines[at]!;
    dearest = Math.max(dearest, input, cacheWrite, cachedInput, hourCache ? hourCacheWrite : 0);
  }
  return dearest;
}

/** The dearest rate of an output token, by the same lines. */
function dearestOutput(price: Price, inputTokens: number): number {
  let dearest = 0;
  for (let at = 0; mayBill(price, at, inputTokens); at++) dearest = Math.max(dearest, price.lines[at]!.output);
  return dearest;
}

/** Whether there is such a line, and it may bill a request of up to so many input tokens. */
const mayBill = ({ lines }: Price, at: number, inputTokens: number): boolean =>
  at < lines.length && (at === 0 || lines[at]!.overInputTokens < inputTokens);

/** ceil(sum / divisor) of a sum that a double holds exactly. */
function ceilDivided(sum: number, divisor: number): Microcredits {
  const rest = sum % divisor;
  return (sum - rest) / divisor + (rest > 0 ? 1 : 0);
}

/** ceil((perRequest + Σ tokens × rate) / divisor) in big integers: for sums beyond what doubles hold. */
function ceilDividedExactly(price: Pick<Price, 'perRequest' | 'divisor'>, pairs: readonly number[]): Microcredits {
  let exact = BigInt(price.perRequest);
  for (let i = 0; i < pairs.length; i += 2) exact += BigInt(pairs[i]!) * BigInt(pairs[i + 1]!);
  const divisor = BigInt(price.divisor);
  return clamped((exact + divisor - 1n) / divisor);
}

const clamped = (amount: bigint): number => (amount > SAFE_MAX ? Number.MAX_SAFE_INTEGER : Number(amount));
