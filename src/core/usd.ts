import { MICROCREDITS, type Microcredits } from './credits.ts';
import { type Decimal, parseDecimal, plainText } from './decimal.ts';

const CREDIT_DECIMALS = Math.log10(MICROCREDITS);

/** The exact worth of an amount in USD. */
export const usdOf = (amount: Microcredits, usdPerCredit: Decimal): Decimal => ({
  digits: usdPerCredit.digits * BigInt(amount),
  scale: usdPerCredit.scale + CREDIT_DECIMALS,
});

/**
 * Makes the writer of amounts in USD: exact decimals in plain notation, so that rows add up to their sum.
 * @param usdPerCredit the worth of a Credit, as a policy or a ledger states it; null in a ledger that never had a policy
 * @returns writes microcredits; null for an amount other than 0 where the worth of a Credit is unknown
 */
export function usdWriter(usdPerCredit: string | null): (amount: Microcredits) => string | null {
  const worth = usdPerCredit === null ? null : parseDecimal(usdPerCredit);
  // Nothing is worth nothing.
  return (amount) => (worth ? plainText(usdOf(amount, worth)) : amount === 0 ? '0' : null);
}

/** Decimals of USD that people are shown at least. */
const CENTS = 2;

/** Shows the amounts of one column in USD to people: all with as many decimals, of which none is rounded. */
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

/** An amount in USD for people, such as `1,204.50 USD`. */
export const usdText = (amount: Microcredits, usdPerCredit: string | null): string =>
  `${usdColumn([amount], usdPerCredit)[0]} USD`;
