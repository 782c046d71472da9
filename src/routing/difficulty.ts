import type { Difficulty } from '../core/facts.ts';

/** What a difficulty does to estimates. */
interface Effect {
  /** Added to the log odds of a good answer, whichever model gives it. */
  readonly logits: number;
  /** Times the hidden reasoning that is usual of the task. */
  readonly reasoning: number;
  /** Times what a good answer is worth: what is hard takes more work, whoever does it. */
  readonly worth: number;
}

/**
 * By difficulty. A declared quality is a share over the requests of a task, easy and hard ones together. In the
 * item-response view (Rasch 1960) a request's difficulty is added to the log odds of every model alike: all are good at
 * what is easy, and differ most in what is hard. 1.5 logits are about what lies between the middle of a task and its
 * easy part in `bench/catalog/mapping.ts`. The figures are guesses, like the qualities that they move.
 */
const EFFECTS: Readonly<Record<Difficulty, Effect>> = {
  easy: { logits: 1.5, reasoning: 0.25, worth: 1 },
  usual: { logits: 0, reasoning: 1, worth: 1 },
  hard: { logits: -1.5, reasoning: 2, worth: 2 },
};

/** Times what a good answer is worth. */
export const worthFactor = (difficulty: Difficulty): number => EFFECTS[difficulty].worth;

/** Times the hidden reasoning that is usual of the task. */
export const reasoningFactor = (difficulty: Difficulty): number => EFFECTS[difficulty].reasoning;

/** Qualities as a request of this difficulty has them, within 0..1 and in the same order; the same array where it changes nothing. */
export function atDifficulty(quality: Float64Array, difficulty: Difficulty): Float64Array {
  const { logits } = EFFECTS[difficulty];
  if (logits === 0) return quality;
  const odds = Math.exp(logits);
  return quality.map((share) => (share * odds) / (1 - share + share * odds));
}
