import { MICROCREDITS, type Microcredits } from './credits.ts';
import { type Decimal, parseDecimal, plainText } from './decimal.ts';

const CREDIT_DECIMALS = Math.log10(MICROCREDITS);

/** Returns the exact worth of an amount in USD. */
export const usdOf = (amount: Microcredits, usdPerCredit: Decimal): Decimal => ({
  digits: usdPerCredit.digits * BigInt(amount),
  scale: usdPerCredit.scale + CREDIT_DECIMALS,
});

/**
 * Makes a function that writes amounts in USD as exact decimals in plain notation, so that rows add up to their total.
 * @param usdPerCredit the worth of a Credit, from a policy or a ledger; null in a ledger that never had a policy
 * @returns a function from microcredits to text; its result is null for an amount other than 0 if the worth of a Credit is unknown
 */
export function usdWriter(usdPerCredit: string | null): (amount: Microcredits) => string | null {
  const worth = usdPerCredit === null ? null : parseDecimal(usdPerCredit);
  // 0 microcredits are worth 0 USD even if the worth of a Credit is unknown.
  return (amount) => (worth ? plainText(usdOf(amount, worth)) : amount === 0 ? '0' : null);
}

/**
 * Writes the amounts of one column for people. All have the same number of decimals, and none is rounded.
 * @param amounts exact decimals in plain notation; null for an unknown amount
 * @param least the fewest decimals
 */
export function equalDecimals(amounts: readonly (string | null)[], least: number): string[] {
  const parts = amounts.map((amount) => amount?.split('.') ?? null);
  const decimals = Math.max(least, ...parts.map((part) => part?.[1]?.length ?? 0));
  return parts.map((part) => {
    if (part === null) return '-';
    const [whole = '', fraction = ''] = part;
    const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
    return decimals === 0 ? grouped : `${grouped}.${fraction.padEnd(decimals, '0')}`;
  });
}

/** Writes an amount in USD for people, such as `1,204.50 USD`. */
export const usdText = (amount: Microcredits, usdPerCredit: string | null): string =>
  `${equalDecimals([usdWriter(usdPerCredit)(amount)], 2)[0]} USD`;
