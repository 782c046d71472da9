import { isObject, parseJson } from '../../core/json/object.ts';
import type { AddOns } from '../../core/money/add-ons.ts';
import { type Decimal, plainText } from '../../core/money/decimal.ts';
import { addOnPairs, gcd, lineFor, type Price, type PriceLine } from '../../core/money/price.ts';

/** The line of a price list that a request was billed by, as exact decimals: USD per 1M tokens, and USD for the request. */
export interface UsdLine {
  readonly input: string;
  readonly cachedInput: string;
  readonly cacheWrite: string;
  readonly output: string;
  readonly perRequest: string;
}

const MILLION = 1_000_000n;

/**
 * Parses a price from the table `tariffs`.
 * @returns null for a text that is not a price
 */
export function readPrice(text: string): Price | null {
  const price = parseJson(text);
  return isPrice(price) ? price : null;
}

/**
 * Inverts `compilePrice`: a rate divided by the divisor is a price in Credits per 1M tokens. This price multiplied by the value of a Credit
 * is the price in USD that the policy states.
 */
export function usdLine(price: Price, inputTokens: number, usdPerCredit: Decimal): UsdLine {
  const line = lineFor(price, inputTokens);
  const divisor = BigInt(price.divisor) * 10n ** BigInt(usdPerCredit.scale);
  const usd = (rate: number) => quotient(BigInt(rate) * usdPerCredit.digits, divisor);
  return {
    input: usd(line.input),
    cachedInput: usd(line.cachedInput),
    cacheWrite: usd(line.cacheWrite),
    output: usd(line.output),
    perRequest: quotient(BigInt(price.perRequest) * usdPerCredit.digits, divisor * MILLION),
  };
}

/**
 * Parses the add-ons of a charge.
 * @returns null if the charge has no add-ons, and for a text that is not a list of add-ons
 */
export function readAddOns(text: string | null): AddOns | null {
  const value = text === null ? null : parseJson(text);
  if (!isObject(value)) return null;
  const { hourCacheTokens = 0, toolUses = {} } = value;
  return isCount(hourCacheTokens) && isCounts(toolUses) ? { hourCacheTokens, toolUses } : null;
}

const isCounts = (value: unknown): value is Readonly<Record<string, number>> =>
  isObject(value) && Object.values(value).every(isCount);

/** @returns what the add-ons of a request with this many input tokens cost, in USD, as an exact decimal */
export function usdOfAddOns(price: Price, inputTokens: number, addOns: AddOns, usdPerCredit: Decimal): string {
  const sum = sumOf(addOnPairs(price, lineFor(price, inputTokens), addOns));
  return quotient(sum * usdPerCredit.digits, BigInt(price.divisor) * 10n ** BigInt(usdPerCredit.scale) * MILLION);
}

/**
 * @param pairs amounts, each followed by its rate
 * @returns the sum of amount × rate
 */
export function sumOf(pairs: readonly number[]): bigint {
  let sum = 0n;
  for (let at = 0; at < pairs.length; at += 2) sum += BigInt(pairs[at]!) * BigInt(pairs[at + 1]!);
  return sum;
}

/** Writes a quotient as a decimal. If the decimal would be endless, the function writes a fraction, because an export never rounds. */
export function quotient(numerator: bigint, denominator: bigint): string {
  const common = gcd(numerator < 0n ? -numerator : numerator, denominator);
  const over = denominator / common;
  let rest = over;
  let scale = 0;
  for (const prime of [10n, 5n, 2n]) {
    for (; rest % prime === 0n; rest /= prime) scale++;
  }
  if (rest !== 1n) return `${numerator / common}/${over}`;
  return plainText({ digits: (numerator / common) * (10n ** BigInt(scale) / over), scale });
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function isPrice(value: unknown): value is Price {
  if (!isObject(value)) return false;
  const { lines, perRequest, toolUses = {}, divisor } = value;
  const isLines = Array.isArray(lines) && lines.length > 0 && lines.every(isLine);
  return isLines && isCount(perRequest) && isCounts(toolUses) && isCount(divisor) && divisor > 0;
}

function isLine(value: unknown): value is PriceLine {
  if (!isObject(value)) return false;
  const { overInputTokens, input, cachedInput, cacheWrite, hourCacheWrite = 0, output } = value;
  return [overInputTokens, input, cachedInput, cacheWrite, hourCacheWrite, output].every(isCount);
}
