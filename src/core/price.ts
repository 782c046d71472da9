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
  readonly divisor: number;
}

/** Integers over the price's divisor. */
export interface PriceLine {
  /** The line applies to requests with more input tokens than this. */
  readonly overInputTokens: number;
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** A price list as the policy states it: USD per 1M tokens, USD per request. */
export interface ListPrice {
  readonly lines: readonly [ListPriceLine, ...ListPriceLine[]];
  readonly perRequest: Decimal | null;
}
export interface ListPriceLine {
  readonly overInputTokens: number;
  readonly input: Decimal;
  /** Absent: cached input costs as much as input. */
  readonly cachedInput: Decimal | null;
  /** Absent: writing to the cache costs as much as input. */
  readonly cacheWrite: Decimal | null;
  readonly output: Decimal;
}

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER);

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b));

/** Turns a list price into integers over one divisor, exactly. Throws RangeError when those leave 2^53. */
export function compilePrice(list: ListPrice, usdPerCredit: Decimal): Price {
  const amounts = list.lines.flatMap((line) => [
    line.input,
    line.cachedInput ?? line.input,
    line.cacheWrite ?? line.input,
    line.output,
  ]);
  // A fee in USD per request is 1M times as many microcredits as a USD price per 1M tokens.
  const fee = list.perRequest
    ? { digits: list.perRequest.digits * 1_000_000n, scale: list.perRequest.scale }
    : { digits: 0n, scale: 0 };
  amounts.push(fee);
  const scale = Math.max(usdPerCredit.scale, ...amounts.map((amount) => amount.scale));
  const over = (amount: Decimal) => amount.digits * 10n ** BigInt(scale - amount.scale);
  const scaled = amounts.map(over);
  const divisor = over(usdPerCredit);
  const common = scaled.reduce(gcd, divisor);
  const integers = [...scaled, divisor].map((n) => {
    const reduced = Number(n / common);
    if (!Number.isSafeInteger(reduced)) throw new RangeError('the price has more digits than can be charged exactly');
    return reduced;
  });
  const line = (from: ListPriceLine, at: number): PriceLine => ({
    overInputTokens: from.overInputTokens,
    input: integers[at * 4]!,
    cachedInput: integers[at * 4 + 1]!,
    cacheWrite: integers[at * 4 + 2]!,
    output: integers[at * 4 + 3]!,
  });
  const [first, ...rest] = list.lines;
  return {
    lines: [line(first, 0), ...rest.map((from, at) => line(from, at + 1))],
    perRequest: integers[amounts.length - 1]!,
    divisor: integers[amounts.length]!,
  };
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
  const { inputTokens, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens } = usage;
  const plain = inputTokens - cached - written;
  const sum =
    price.perRequest +
    plain * line.input +
    cached * line.cachedInput +
    written * line.cacheWrite +
    outputTokens * line.output;
  if (sum <= Number.MAX_SAFE_INTEGER) return ceilDivided(sum, price.divisor);
  const pairs = [plain, line.input, cached, line.cachedInput, written, line.cacheWrite, outputTokens, line.output];
  return ceilDividedExactly(price, pairs);
}

/**
 * The most that up to `inputTokens` and `outputTokens` can cost, whichever of them are cached
 * and whichever applicable line bills them.
 */
export function costBound(price: Price, inputTokens: number, outputTokens: number): Microcredits {
  const dearest = dearestLine(price, inputTokens);
  const sum = price.perRequest + inputTokens * dearest.input + outputTokens * dearest.output;
  if (sum <= Number.MAX_SAFE_INTEGER) return ceilDivided(sum, price.divisor);
  return ceilDividedExactly(price, [inputTokens, dearest.input, outputTokens, dearest.output]);
}

/**
 * The most output tokens whose bound beside `inputTokens` is within `amount`; -1 when not even the
 * input is. Nothing is rounded on the way, so that the smallest sufficient amount suffices.
 */
export function outputWithin(price: Price, inputTokens: number, amount: Microcredits): number {
  const dearest = dearestLine(price, inputTokens);
  const affords = amount * price.divisor;
  const spent = price.perRequest + inputTokens * dearest.input;
  if (affords <= Number.MAX_SAFE_INTEGER && spent <= Number.MAX_SAFE_INTEGER) {
    const left = affords - spent;
    if (left < 0) return -1;
    return dearest.output === 0 ? Number.MAX_SAFE_INTEGER : (left - (left % dearest.output)) / dearest.output;
  }
  const left =
    BigInt(amount) * BigInt(price.divisor) - BigInt(price.perRequest) - BigInt(inputTokens) * BigInt(dearest.input);
  if (left < 0n) return -1;
  return dearest.output === 0 ? Number.MAX_SAFE_INTEGER : clamped(left / BigInt(dearest.output));
}

function dearestLine(price: Price, inputTokens: number): { input: number; output: number } {
  let input = 0;
  let output = 0;
  for (let at = 0; at < price.lines.length; at++) {
    const line = price.lines[at]!;
    if (at > 0 && line.overInputTokens >= inputTokens) break;
    input = Math.max(input, line.input, line.cacheWrite, line.cachedInput);
    output = Math.max(output, line.output);
  }
  return { input, output };
}

/** ceil(sum / divisor) of a sum that a double holds exactly. */
function ceilDivided(sum: number, divisor: number): Microcredits {
  const rest = sum % divisor;
  return (sum - rest) / divisor + (rest > 0 ? 1 : 0);
}

/** ceil((perRequest + Σ tokens × rate) / divisor) in big integers: for sums beyond what doubles hold. */
function ceilDividedExactly(price: Price, pairs: readonly number[]): Microcredits {
  let exact = BigInt(price.perRequest);
  for (let i = 0; i < pairs.length; i += 2) exact += BigInt(pairs[i]!) * BigInt(pairs[i + 1]!);
  const divisor = BigInt(price.divisor);
  return clamped((exact + divisor - 1n) / divisor);
}

const clamped = (amount: bigint): number => (amount > SAFE_MAX ? Number.MAX_SAFE_INTEGER : Number(amount));
