import type { Microcredits } from '../core/credits.ts';
import { type Decimal, parseDecimal } from '../core/decimal.ts';
import type { PaymentNetwork } from '../core/payment-policy.ts';
import { plainText } from './decimal-text.ts';
import { decimalAt } from './prices.ts';
import type { Report } from './report.ts';
import { placeAt, type Tree, valueAt } from './tree.ts';

/** A Credit has so many decimals in the ledger. */
const CREDIT_DECIMALS = 6;

const power = (exponent: number): bigint => 10n ** BigInt(exponent);

/** An amount of USD, as written and as it is counted. */
export interface UsdAmount {
  readonly usd: Decimal;
  readonly credits: Microcredits;
}

/**
 * Reads a figure that fits its schema exactly from the text; where it is left out, its default. Null where there is none,
 * or where it cannot be read, and then the report says why.
 */
export function figureAt(tree: Tree, key: string, value: number | undefined, report: Report): Decimal | null {
  if (value === undefined) return null;
  return valueAt(tree, key) ? decimalAt(tree, key, report) : parseDecimal(String(value));
}

/** Counts USD in microcredits: what is at most taken is rounded down, what is at least taken up. */
export class UsdReader {
  readonly #usdPerCredit: Decimal;
  readonly #report: Report;

  constructor(usdPerCredit: Decimal, report: Report) {
    this.#usdPerCredit = usdPerCredit;
    this.#report = report;
  }

  read(tree: Tree, key: string, value: number | undefined, rounding: 'down' | 'up'): UsdAmount | null {
    const usd = figureAt(tree, key, value, this.#report);
    if (!usd) return null;
    const { digits, scale } = this.#usdPerCredit;
    const above = usd.digits * power(scale + CREDIT_DECIMALS);
    const below = power(usd.scale) * digits;
    const credits = (rounding === 'up' ? above + below - 1n : above) / below;
    if (credits <= BigInt(Number.MAX_SAFE_INTEGER)) return { usd, credits: Number(credits) };
    const worth = plainText(this.#usdPerCredit);
    const message = `\`${key}\` is more than can be counted in Credits of ${worth} USD`;
    this.#report.add('out-of-range', placeAt(tree, key), message, {
      expected: 'a smaller amount, or Credits that are worth more',
    });
    return null;
  }
}

/** What a token that is worth 1 USD is worth in microcredits, in lowest terms. */
export function rateOf(usdPerCredit: Decimal, decimals: number): PaymentNetwork['rate'] {
  const atomic = usdPerCredit.digits * power(decimals);
  const microcredits = power(usdPerCredit.scale + CREDIT_DECIMALS);
  const divisor = greatestCommonDivisor(atomic, microcredits);
  return { microcredits: microcredits / divisor, atomic: atomic / divisor };
}

function greatestCommonDivisor(one: bigint, other: bigint): bigint {
  let [a, b] = [one, other];
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

/** Counts a figure in units of so many of its decimals, exactly; null when it has more. */
export function unitsOf(decimals: number, { digits, scale }: Decimal): bigint | null {
  const scaled = digits * power(decimals);
  return scaled % power(scale) === 0n ? scaled / power(scale) : null;
}

/** Whether one decimal is above another. */
export function isAbove(a: Decimal, b: Decimal): boolean {
  return a.digits * power(b.scale) > b.digits * power(a.scale);
}
