import { MICROCREDITS, type Microcredits, toCredits } from '../../core/credits.ts';
import { refuse, SignalboxError } from '../../core/errors.ts';
import { exactMillionths } from '../../core/exact-millionths.ts';
import type { PaymentNetwork } from '../../core/payment-policy.ts';

/** The amount of a top-up: one of the two, above 0. */
export interface TopUpAmount {
  readonly usd?: number;
  readonly credits?: number;
}

type Bounds = { readonly min: Microcredits; readonly max: Microcredits };

/**
 * Returns the microcredits of a top-up. Dollars that are worth a fraction of one more count without it: the payment is
 * credited in full all the same.
 * @throws SignalboxError for both or neither, for more than 6 decimals, and for an amount out of bounds.
 */
export function topUpAmount({ usd, credits }: TopUpAmount, bounds: Bounds, network: PaymentNetwork): Microcredits {
  if (usd !== undefined && credits !== undefined) {
    refuse('credits', 'Send either `usd` or `credits`, not both.');
  }
  const param = usd === undefined ? 'credits' : 'usd';
  const asked = usd ?? credits;
  if (asked === undefined) {
    throw new SignalboxError('missing_field', 'Send `usd` or `credits`, the amount to pay in.', { param: 'credits' });
  }
  const millionths = exactMillionths(asked, param);
  const [low, high] = usd === undefined ? [millionths, millionths] : worthOfDollars(millionths, network);
  // The bounds are the policy's dollars, rounded: an amount exactly at one is within.
  if (high >= bounds.min && low <= bounds.max) return low;
  // In the currency of the request.
  const shown = (amount: Microcredits) => (usd === undefined ? toCredits(amount) : dollarsOf(amount, network));
  const message = `\`${param}\` must be from ${shown(bounds.min)} to ${shown(bounds.max)} in one top-up, not ${asked}.`;
  throw new SignalboxError('out_of_range', message, { param });
}

/** Microcredits that millionths of a dollar are worth, rounded down and up. */
function worthOfDollars(millionths: number, { asset, rate }: PaymentNetwork): [Microcredits, Microcredits] {
  const above = BigInt(millionths) * 10n ** BigInt(asset.decimals) * rate.microcredits;
  const below = rate.atomic * BigInt(MICROCREDITS);
  return [Number(above / below), Number((above + below - 1n) / below)];
}

/** The price of Credits for a text, in as many figures as are exact. */
const dollarsOf = (amount: Microcredits, { asset, rate }: PaymentNetwork): number =>
  Number(((amount * Number(rate.atomic)) / Number(rate.microcredits) / 10 ** asset.decimals).toPrecision(9));
