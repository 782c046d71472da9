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

/** The fewest decimals of USD amounts shown to people. */
const CENTS = 2;

/** Writes the amounts of one column in USD for people. All amounts of the column have the same number of decimals, and none is rounded. */
export function usdColumn(amounts: readonly Microcredits[], usdPerCredit: string | null): string[] {
  const write = usdWriter(usdPerCredit);
  const parts = amounts.map((amount) => write(amount)?.split('.') ?? null);
  const decimals = Math.max(CENTS, ...parts.map((part) => part?.[1]?.length ?? 0));
  return parts.map((part) => {
    if (part === null) return '-';
    const [whole = '', fraction = ''] = part;
    return `${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${fraction.padEnd(decimals, '0')}`;
  });
}

/** Writes an amount in USD for people, such as `1,204.50 USD`. */
export const usdText = (amount: Microcredits, usdPerCredit: string | null): string =>
  `${usdColumn([amount], usdPerCredit)[0]} USD`;
