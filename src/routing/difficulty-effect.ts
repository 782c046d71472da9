import type { Difficulty, Facts } from '../core/facts.ts';

/** The effect of a difficulty on estimates. */
interface Effect {
  /** Added to the log odds of a good answer, for every model. */
  readonly logits: number;
  /** Factor of the task's usual hidden reasoning. */
  readonly reasoning: number;
  /** Factor of the worth of a good answer, in Credits, where `hard_quality_factor` is `none`. */
  readonly worth: number;
}

/**
 * A declared quality is a share over easy and hard requests of a task. Item-response theory (Rasch 1960) adds a request's
 * difficulty to the log odds of every model alike: all are good at easy requests, and differ most at hard ones. 1.5 logits
 * are about the distance between the middle of a task and its easy part in `bench/catalog/mapping.ts`. The figures are
 * guesses, like the qualities that they move.
 */
const EFFECTS: Readonly<Record<Difficulty, Effect>> = {
  easy: { logits: 1.5, reasoning: 0.25, worth: 1 },
  usual: { logits: 0, reasoning: 1, worth: 1 },
  hard: { logits: -1.5, reasoning: 2, worth: 2 },
};

/** Factor of the worth of a good answer to a request, in Credits. */
export const worthFactor = ({ difficulty, qualityFactor }: Pick<Facts, 'difficulty' | 'qualityFactor'>): number =>
  qualityFactor ?? EFFECTS[difficulty].worth;
export const reasoningFactor = (difficulty: Difficulty): number => EFFECTS[difficulty].reasoning;

/** Moves qualities by difficulty. They stay within 0..1 and keep their order; `usual` returns the same array. */
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
