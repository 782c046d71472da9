/** The least and the most that a share of good answers counts as: of what is never or always good nothing could be learnt. */
const SHARE_MIN = 0.02;
const SHARE_MAX = 0.98;
/** Beyond this a share is 0 or 1 to the last bit, and the odds must stay finite. */
const BY_MAX = 100;

export const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** The log odds of a share of good answers, which counts as .02 at least and .98 at most. */
export function logitOf(share: number): number {
  const within = Math.min(SHARE_MAX, Math.max(SHARE_MIN, share));
  return Math.log(within / (1 - within));
}

/** A share of good answers, moved by so much on the scale of log odds; 0 leaves every bit of it as it was. Rises with both. */
export function moved(share: number, by: number): number {
  return by === 0 ? share : withOddsTimes(timesOf(by), share);
}

/** All of them moved by the same, which is not 0. */
export function allMoved(shares: Float64Array, by: number): Float64Array {
  const times = timesOf(by);
  const all = new Float64Array(shares.length);
  for (let i = 0; i < all.length; i++) all[i] = withOddsTimes(times, shares[i]!);
  return all;
}

/** By what the odds are multiplied: one exponential in place of a logarithm and two of them. */
const timesOf = (by: number): number => Math.exp(Math.min(BY_MAX, by));

function withOddsTimes(times: number, share: number): number {
  const from = Math.min(SHARE_MAX, Math.max(SHARE_MIN, share));
  const odds = from * times;
  return Math.min(1, Math.max(0, share + odds / (1 - from + odds) - from));
}

/**
 * An estimator's correction of the declared qualities, for one request. Arrays are by index of the snapshot's models; all
 * but the qualities are differences of log odds, which together lead from what is declared to what was learnt.
 */
export interface Estimate {
  /** Q before preferences, as the decision went by it, 0..1. */
  readonly quality: Float64Array;
  /** The quality with all outcomes counted, in shadow mode; null where `quality` counts them, or learning is off. */
  readonly shadow: Float64Array | null;
  /** The part that the length of the question adds, by model. */
  readonly length: number;
  /** The part that outcomes add, whatever the text. */
  readonly outcomes: Float32Array;
  /** The part that the words of the question add. */
  readonly text: Float32Array;
  /** How many outcomes of this task there were of each model. */
  readonly counts: Float32Array;
  /** How far the words are trusted, 0..1. */
  readonly trust: number;
}

/** How a choice was drawn. */
export interface ExplorationDraw {
  /** Of the model that was chosen, above 0, at most 1. */
  readonly probability: number;
  /** How many models took part. */
  readonly among: number;
}
