import { refuse, SignalboxError } from '../../core/errors.ts';
import { MICROCREDITS, type Microcredits, toCredits } from '../../core/money/credits.ts';
import { exactMillionths } from '../../core/money/exact-millionths.ts';
import type { PaymentNetwork } from '../../core/policy/payments.ts';

/** The amount of a top-up: exactly one of the two, above 0. */
export interface TopUpAmount {
  readonly usd?: number;
  readonly credits?: number;
}

type Bounds = { readonly min: Microcredits; readonly max: Microcredits };

/**
 * Returns the microcredits of a top-up. An amount of dollars is rounded down to whole microcredits here; the payment itself is credited in
 * full.
 * @throws SignalboxError if both or neither are given, for more than 6 decimals, and for an amount out of bounds
 */
export function topUpAmount({ usd, credits }: TopUpAmount, bounds: Bounds, network: PaymentNetwork): Microcredits {
  if (usd !== undefined && credits !== undefined) {
    refuse('credits', 'The request has both `usd` and `credits`. Send only one of them.');
  }
  const param = usd === undefined ? 'credits' : 'usd';
  const asked = usd ?? credits;
  if (asked === undefined) {
    throw new SignalboxError('missing_field', 'The amount to pay in is missing. Send `usd` or `credits`.', {
      param: 'credits',
    });
  }
  const millionths = exactMillionths(asked, param);
  const [low, high] = usd === undefined ? [millionths, millionths] : worthOfDollars(millionths, network);
  // The bounds are rounded dollars of the policy, so an amount exactly at a bound is allowed.
  if (high >= bounds.min && low <= bounds.max) return low;
  // Shows the bounds in the unit of the request.
  const shown = (amount: Microcredits) => (usd === undefined ? toCredits(amount) : dollarsOf(amount, network));
  const message = `\`${param}\` must be from ${shown(bounds.min)} to ${shown(bounds.max)} in one top-up, not ${asked}.`;
  throw new SignalboxError('out_of_range', message, { param });
}

/** The microcredits that an amount in millionths of a dollar is worth, rounded down and rounded up. */
function worthOfDollars(millionths: number, { asset, rate }: PaymentNetwork): [Microcredits, Microcredits] {
  const above = BigInt(millionths) * 10n ** BigInt(asset.decimals) * rate.microcredits;
  const below = rate.atomic * BigInt(MICROCREDITS);
  return [Number(above / below), Number((above + below - 1n) / below)];
}

/** The price of Credits in dollars for a message, with as many digits as are exact. */
const dollarsOf = (amount: Microcredits, { asset, rate }: PaymentNetwork): number =>
  Number(((amount * Number(rate.atomic)) / Number(rate.microcredits) / 10 ** asset.decimals).toPrecision(9));
