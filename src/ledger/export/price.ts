import type { Bill } from '../../core/accounting/bill.ts';
import { type Decimal, plainText } from '../../core/money/decimal.ts';
import { gcd, lineFor, type Price, type PriceLine, rateOf } from '../../core/money/price.ts';
import { TOKEN_UNITS, type TokenUnit, toolOf } from '../../core/money/units.ts';

/** The line of a price list that a request was billed by, as exact decimals: USD per 1M tokens of each unit, and USD for the request. */
export interface UsdLine extends Readonly<Record<TokenUnit, string>> {
  readonly request: string;
}

const MILLION = 1_000_000n;

/**
 * Inverts `compilePrice`: a rate divided by the divisor is a price in Credits per 1M tokens. This price multiplied by the value of a Credit
 * is the price in USD that the policy states.
 */
export const usdLine = (price: Price, inputTokens: number, usdPerCredit: Decimal): UsdLine =>
  usdRates(lineFor(price, inputTokens), price.divisor, usdPerCredit);

/** Returns the rates by which a bill was made, and of units that it does not have the rates of its price line. */
export function usdOfBill(price: Price, bill: Bill, usdPerCredit: Decimal): UsdLine {
  const line = lineFor(price, bill.input);
  const stored = bill.lines.flatMap(({ unit, rate }) => (rate === null ? [] : [[unit, rate]]));
  return usdRates({ ...line, rates: { ...line.rates, ...Object.fromEntries(stored) } }, price.divisor, usdPerCredit);
}

function usdRates(line: PriceLine, divisor: number, usdPerCredit: Decimal): UsdLine {
  const over = BigInt(divisor) * 10n ** BigInt(usdPerCredit.scale);
  const usd = (key: string, per: bigint) => quotient(BigInt(rateOf(line, key)) * usdPerCredit.digits, over * per);
  const ofTokens = Object.fromEntries(TOKEN_UNITS.map((unit) => [unit, usd(unit, 1n)])) as Record<TokenUnit, string>;
  return { ...ofTokens, request: usd('request', MILLION) };
}

/** @returns the uses of tools on a bill as JSON, and what they cost in USD, as an exact decimal; null if there are none */
export function toolUsesOf({ lines, divisor }: Bill, usdPerCredit: Decimal | null) {
  const ofTools = lines.filter(({ unit }) => toolOf(unit) !== '');
  if (ofTools.length === 0) return null;
  const uses = JSON.stringify(Object.fromEntries(ofTools.map(({ unit, amount }) => [toolOf(unit), amount])));
  const sum = ofTools.reduce((all, { amount, rate }) => all + BigInt(amount) * BigInt(rate ?? 0), 0n);
  if (divisor === null || usdPerCredit === null) return { uses, usd: null };
  const over = BigInt(divisor) * 10n ** BigInt(usdPerCredit.scale) * MILLION;
  return { uses, usd: quotient(sum * usdPerCredit.digits, over) };
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
