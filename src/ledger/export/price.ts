import { type Decimal, plainText } from '../../core/decimal.ts';
import { isObject, parsedJson } from '../../core/object.ts';
import { lineFor, type Price, type PriceLine } from '../../core/price.ts';

/** The line of a price list that billed a request, as exact decimals: USD per 1M tokens, and USD for the request. */
export interface UsdLine {
  readonly input: string;
  readonly cachedInput: string;
  readonly cacheWrite: string;
  readonly output: string;
  readonly perRequest: string;
}

const MILLION = 1_000_000n;

/** Reads a price of `tariffs`; null for any other text. */
export function readPrice(text: string): Price | null {
  const price = parsedJson(text);
  return isPrice(price) ? price : null;
}

/**
 * Inverts `compilePrice`. A rate over the divisor is Credits per 1M tokens; times the worth of a Credit it is the USD that
 * the policy stated.
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

/** Writes a quotient as a decimal. An endless decimal stays a fraction: nothing is rounded here. */
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

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b));

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function isPrice(value: unknown): value is Price {
  if (!isObject(value)) return false;
  const { lines, perRequest, divisor } = value;
  const isLines = Array.isArray(lines) && lines.length > 0 && lines.every(isLine);
  return isLines && isCount(perRequest) && isCount(divisor) && divisor > 0;
}

function isLine(value: unknown): value is PriceLine {
  if (!isObject(value)) return false;
  const { overInputTokens, input, cachedInput, cacheWrite, output } = value;
  return [overInputTokens, input, cachedInput, cacheWrite, output].every(isCount);
}
