import { type Decimal, parseDecimal, plainText } from '../../core/money/decimal.ts';

/** An amount of USD, in millionths of a microdollar, so that the price of each token is exact. */
export type Picodollars = bigint;

/** The decimals of an amount in picodollars. */
const SCALE = 12;

/** @returns the amount, rounded toward zero; null for a text that is no decimal */
export function picodollarsIn(text: string): Picodollars | null {
  const decimal = parseDecimal(text);
  return decimal && picodollars(decimal);
}

const picodollars = ({ digits, scale }: Decimal): Picodollars =>
  scale <= SCALE ? digits * 10n ** BigInt(SCALE - scale) : digits / 10n ** BigInt(scale - SCALE);

/** Writes an amount as an exact decimal. */
export const usdText = (amount: Picodollars): string => plainText({ digits: amount, scale: SCALE });

/** The unit that counts requests instead of what they used. */
export const REQUESTS = 'requests';
/** One line of a provider's bill, or of the books: an amount of one unit, its cost, or both. */
export interface BilledLine {
  /** The day in UTC: `2026-11-20`. */
  readonly day: string;
  /** The provider's name of the model; null if the line is about no single model. */
  readonly model: string | null;
  /**
   * `UnitKey`, where `input` and `output` are the tokens that no other unit counts; `requests`, `total`, or the provider's own word for
   * something else.
   */
  readonly unit: string;
  /** The number of units; null if the line states only a cost. */
  readonly amount: number | null;
  /** The cost; null if the line states only an amount. */
  readonly usd: Picodollars | null;
  /** The service tier, if it is not the usual one; null otherwise. */
  readonly tier: string | null;
  /** The project, workspace or API key that the provider bills; null if the line states none. */
  readonly account: string | null;
}

/** Returns the name of a model without the date of its version: a bill names `gpt-6-luna-2026-08-06`, where a request named `gpt-6-luna`. */
export const undated = (model: string): string => model.replace(/[-@](\d{4}-\d{2}-\d{2}|20\d{6})$/, '');
