import type { Microcredits } from '../core/credits.ts';
import { type Decimal, parseDecimal, plainText } from '../core/decimal.ts';
import type { PaymentNetwork } from '../core/payment-policy.ts';
import { decimalAt } from './prices.ts';
import type { Report } from './report.ts';
import { placeAt, type Tree, valueAt } from './tree.ts';

/** Decimals of a Credit in the ledger. */
const CREDIT_DECIMALS = 6;

const power = (exponent: number): bigint => 10n ** BigInt(exponent);

/** An amount of USD, as written and in microcredits. */
export interface UsdAmount {
  readonly usd: Decimal;
  readonly credits: Microcredits;
}

/**
 * Reads a figure exactly from the text, or its default if it is left out. Null if there is none, or if it cannot be read,
 * which is reported.
 */
export function figureAt(tree: Tree, key: string, value: number | undefined, report: Report): Decimal | null {
  if (value === undefined) return null;
  return valueAt(tree, key) ? decimalAt(tree, key, report) : parseDecimal(String(value));
}

/** Converts USD to microcredits. Upper limits are rounded down, lower limits up. */
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

/** The rate between microcredits and units of a token that is worth 1 USD, in lowest terms. */
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

/** A figure as an exact whole number of units of 10^-`decimals`; null if it has more decimals. */
export function unitsOf(decimals: number, { digits, scale }: Decimal): bigint | null {
  const scaled = digits * power(decimals);
  return scaled % power(scale) === 0n ? scaled / power(scale) : null;
}

export function isAbove(a: Decimal, b: Decimal): boolean {
  return a.digits * power(b.scale) > b.digits * power(a.scale);
}
