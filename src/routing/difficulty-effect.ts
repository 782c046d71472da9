import type { Difficulty, Facts } from '../core/request/facts.ts';

/** The effect that the difficulty of a request has on estimates. */
interface Effect {
  /** The amount added to the log odds of a good answer, for every model. */
  readonly logits: number;
  /** The factor for the usual hidden reasoning of the task. */
  readonly reasoning: number;
  /** h, the hard factor of the worth of a good answer, if `hard_quality_factor` is `none`. */
  readonly worth: number;
}

/**
 * A declared quality averages over easy and hard requests of a task. Item-response theory (Rasch 1960) adds the difficulty of a request to
 * the log odds of every model, so all models are good at easy requests and differ most at hard ones. 1.5 logits are about the distance
 * between the middle of a task and its easy part in `bench/catalog/mapping.ts`. The effects of difficulty are guesses, and so are the
 * declared qualities.
 */
const EFFECTS: Readonly<Record<Difficulty, Effect>> = {
  easy: { logits: 1.5, reasoning: 0.25, worth: 1 },
  usual: { logits: 0, reasoning: 1, worth: 1 },
  hard: { logits: -1.5, reasoning: 2, worth: 2 },
};

/** Returns h, the hard factor: how many times as much a good answer to the request is worth as a good answer to a usual one. */
export const worthFactor = ({ difficulty, qualityFactor }: Pick<Facts, 'difficulty' | 'qualityFactor'>): number =>
  qualityFactor ?? EFFECTS[difficulty].worth;
export const reasoningFactor = (difficulty: Difficulty): number => EFFECTS[difficulty].reasoning;

/**
 * Adjusts qualities for the difficulty. The adjusted qualities stay within 0..1 and keep their order. For the difficulty `usual`,
 * `atDifficulty` returns the same array.
 */
export function atDifficulty(quality: Float64Array, difficulty: Difficulty): Float64Array {
  const { logits } = EFFECTS[difficulty];
  return logits === 0 ? quality : withOddsTimes(Math.exp(logits), quality);
}

function withOddsTimes(odds: number, quality: Float64Array): Float64Array {
  const moved = new Float64Array(quality.length);
  for (let i = 0; i < moved.length; i++) {
    const share = quality[i]!;
    moved[i] = (share * odds) / (1 - share + share * odds);
  }
  return moved;
}
