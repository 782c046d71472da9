/** Shares beyond these bounds are clamped, so that their log odds stay finite. */
const SHARE_MIN = 0.02;
const SHARE_MAX = 0.98;

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Returns the log odds of a share of good answers. `logitOf` clamps the share to 0.02..0.98. */
export function logitOf(share: number): number {
  const within = Math.min(SHARE_MAX, Math.max(SHARE_MIN, share));
  return Math.log(within / (1 - within));
}
