/** The least and the most that a share of good answers counts as: beyond them a correction would do nothing. */
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

/** The correction of the declared qualities, for one request. Lists are by index of the snapshot's models. */
export interface Estimate {
  /** Q before preferences, as the decision went by it, 0..1. */
  readonly quality: Float64Array;
  /** What the length of the question adds to the log odds of each declared quality. */
  readonly length: number;
  /** Absent where nothing was learned, as in every new decision. */
  readonly learned?: LearnedQuality;
}

/** What a version that learned from outcomes did with them: nothing, showed them, or decided by them. */
export const LEARNING_MODES = ['off', 'shadow', 'on'] as const;
export type LearningMode = (typeof LEARNING_MODES)[number];

/** What versions that learned from outcomes added to the declared qualities, as their records have it. */
export interface LearnedQuality {
  /** The quality with all outcomes counted, in shadow mode; null where `quality` counts them. */
  readonly shadow: Float64Array | null;
  /** What outcomes added to the log odds, whatever the text. */
  readonly outcomes: Float32Array;
  /** What the words of the question added. */
  readonly text: Float32Array;
  /** How many outcomes of this task there were of each model. */
  readonly counts: Float32Array;
  /** How far the words were trusted, 0..1. */
  readonly trust: number;
}
