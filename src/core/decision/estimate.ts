/** The lowest and highest share of good answers in corrections. Beyond this range a correction would have almost no effect. */
const SHARE_MIN = 0.02;
const SHARE_MAX = 0.98;
/** The largest correction on the log-odds scale. Beyond a correction of 100 the share rounds to 0 or 1, and the odds could overflow. */
const BY_MAX = 100;

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Returns the log odds of a share of good answers. `logitOf` clamps the share to 0.02..0.98. */
export function logitOf(share: number): number {
  const within = Math.min(SHARE_MAX, Math.max(SHARE_MIN, share));
  return Math.log(within / (1 - within));
}

/** Moves a share of good answers by `by` on the log-odds scale. 0 returns exactly the same number. The result rises with both arguments. */
export function moved(share: number, by: number): number {
  return by === 0 ? share : withOddsTimes(timesOf(by), share);
}

/** Moves all shares by the same amount. @param by not 0 */
export function allMoved(shares: Float64Array, by: number): Float64Array {
  const times = timesOf(by);
  const all = new Float64Array(shares.length);
  for (let i = 0; i < all.length; i++) all[i] = withOddsTimes(times, shares[i]!);
  return all;
}

/**
 * Returns the factor by which a correction multiplies the odds. The factor of the odds needs one exponential instead of a logarithm and two
 * exponentials.
 */
const timesOf = (by: number): number => Math.exp(Math.min(BY_MAX, by));

function withOddsTimes(times: number, share: number): number {
  const from = Math.min(SHARE_MAX, Math.max(SHARE_MIN, share));
  const odds = from * times;
  return Math.min(1, Math.max(0, share + odds / (1 - from + odds) - from));
}

/** The correction of the declared qualities for one request. Lists in an estimate are by index of the snapshot's models. */
export interface Estimate {
  /** Q before preferences, 0..1, which the decision used. */
  readonly quality: Float64Array;
  /** How much the length of the question adds to the log odds of each declared quality. */
  readonly length: number;
}
