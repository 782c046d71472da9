import type { TObject } from '@sinclair/typebox';
import type { Microcredits } from '../../core/money/credits.ts';
import { type Decimal, parseDecimal, plainText } from '../../core/money/decimal.ts';
import { gcd } from '../../core/money/price.ts';
import type { PaymentNetwork } from '../../core/policy/payments.ts';
import type { Report } from '../report/report.ts';
import { decimalAt } from '../schema/prices.ts';
import { placeAt, type Tree, valueAt } from '../yaml/tree.ts';
import { type AmountContext, type AmountOwner, usdAt } from './amounts.ts';
import { validPartsOf } from './check.ts';
import { emptyMap } from './section-checks.ts';

/** Decimals of a Credit in the ledger. */
const CREDIT_DECIMALS = 6;

const power = (exponent: number): bigint => 10n ** BigInt(exponent);

/** An amount of USD, as the policy writes it and in microcredits. */
export type UsdAmount = NonNullable<ReturnType<ReturnType<typeof usdReader>>>;

/**
 * Reads a figure exactly from the text of the policy, or its default if the policy leaves the figure out. `figureAt` returns null if the
 * figure has no default, or if it cannot be read, which is reported.
 */
export function figureAt(tree: Tree, key: string, value: number | undefined, report: Report): Decimal | null {
  if (value === undefined) return null;
  return valueAt(tree, key) ? decimalAt(tree, key, report) : parseDecimal(String(value));
}

/**
 * Makes a function that reads USD at a key, or its default, and converts it to microcredits. `usdReader` rounds upper limits down and lower
 * limits up.
 * @param schema of the owner
 */
export function usdReader(
  schema: TObject,
  owner: AmountOwner,
  { usdPerCredit, report }: Pick<AmountContext, 'usdPerCredit' | 'report'>,
) {
  const defaults = validPartsOf(schema, emptyMap(owner.tree.place));
  return (key: string, rounding: 'down' | 'up') => {
    const isStated = valueAt(owner.tree, key) !== undefined;
    const usd = isStated
      ? usdAt(schema.properties[key] ?? schema, owner, key, report)
      : parseDecimal(String(defaults[key]));
    if (!usd) return null;
    const above = usd.digits * power(usdPerCredit.scale + CREDIT_DECIMALS);
    const below = power(usd.scale) * usdPerCredit.digits;
    const credits = (rounding === 'up' ? above + below - 1n : above) / below;
    if (credits <= BigInt(Number.MAX_SAFE_INTEGER)) return { usd, credits: Number(credits) satisfies Microcredits };
    const message = `\`${key}\` is too large to count in Credits of ${plainText(usdPerCredit)} USD`;
    report.add('out-of-range', placeAt(owner.tree, key), message, {
      expected: 'a smaller amount, or a larger `credits.usd_per_credit`',
    });
    return null;
  };
}

/** Returns the rate between microcredits and units of a token that is worth 1 USD, as a reduced fraction. */
export function rateOf(usdPerCredit: Decimal, decimals: number): PaymentNetwork['rate'] {
  const atomic = usdPerCredit.digits * power(decimals);
  const microcredits = power(usdPerCredit.scale + CREDIT_DECIMALS);
  const divisor = gcd(atomic, microcredits);
  return { microcredits: microcredits / divisor, atomic: atomic / divisor };
}

/** Converts a figure to an exact whole number of units of 10^-`decimals`; null if the figure has more decimals. */
export function unitsOf(decimals: number, { digits, scale }: Decimal): bigint | null {
  const scaled = digits * power(decimals);
  return scaled % power(scale) === 0n ? scaled / power(scale) : null;
}

export function isAbove(a: Decimal, b: Decimal): boolean {
  return a.digits * power(b.scale) > b.digits * power(a.scale);
}
