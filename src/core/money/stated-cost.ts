import type { Microcredits } from './credits.ts';
import { type Decimal, parseDecimal, plainText, plus } from './decimal.ts';

/**
 * Costs that providers state in their answers, as texts in USD such as `0.00012`. They are compared with the costs at the prices of the
 * policy, and never change a charge.
 */

/** Sums of attempts whose answers state their cost: what providers state, and the costs of the same attempts at our prices. */
export interface StatedSums {
  readonly stated: Microcredits;
  readonly matched: Microcredits;
}

const MICROCREDITS = 1_000_000n;
/** No answer costs more: 100 million Credits, so that sums of many answers stay exact. A higher statement is in another unit. */
const MOST = 1e14;

/** Reads a stated cost. Returns null for a text that is no amount, and for a negative amount. */
function readCost(usd: string): Decimal | null {
  const amount = parseDecimal(usd);
  return amount && amount.digits >= 0n ? amount : null;
}

/**
 * Writes the sum of stated costs in USD as a text. A double stands for the shortest decimal that reads as this double, which is what JSON of
 * a provider has, up to 15 digits.
 *
 * @param costs in USD; xAI states ten billionths of a USD, as `ticks`
 * @returns undefined if one of them is no amount, or negative
 */
export function statedUsd(costs: readonly (number | string | { readonly ticks: number })[]): string | undefined {
  let sum: Decimal = { digits: 0n, scale: 0 };
  for (const cost of costs) {
    const amount = typeof cost === 'object' ? readCost(`${cost.ticks}e-10`) : readCost(`${cost}`);
    if (!amount) return undefined;
    sum = plus(sum, amount);
  }
  return plainText(sum);
}

/**
 * Converts a stated cost to microcredits, to the nearest one.
 * @param usdPerCredit the value of a Credit in USD
 * @returns null for a text that is no amount, and for an amount that is negative or too large
 */
export function statedCredits(usd: string, usdPerCredit: string): Microcredits | null {
  const amount = readCost(usd);
  const credit = readCost(usdPerCredit);
  if (!amount || !credit || credit.digits === 0n) return null;
  const above = 2n * amount.digits * 10n ** BigInt(credit.scale) * MICROCREDITS;
  const under = credit.digits * 10n ** BigInt(amount.scale);
  const nearest = Number((above + under) / (2n * under));
  return nearest <= MOST ? nearest : null;
}
