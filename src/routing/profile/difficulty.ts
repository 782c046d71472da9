import type { Difficulty } from '../../core/request/facts.ts';
import type { ReadingOdds } from './task-logits.ts';
import { COLUMN } from './word-table.ts';

/**
 * Returns the difficulty of a question. The table of words and the weights of features say how likely a request is easy, such as a greeting,
 * a small sum or a label, and how likely it is demanding: several conditions, a subtle fault, expert knowledge, a proof, a migration. Only a
 * request that is likely enough counts as easy or hard; all others are usual.
 *
 * An agent keeps the difficulty of its question while it calls tools. If it is stuck, its request is hard, whatever it is about
 * (`progress.ts`).
 */
export function difficultyOf(odds: ReadingOdds): Difficulty {
  if (odds[COLUMN.hard]! > HARD) return 'hard';
  return odds[COLUMN.easy]! > EASY ? 'easy' : 'usual';
}

/** Returns how likely a question is demanding or harder, 0..1, rounded to a thousandth, because records store it. */
export const hardShareOf = (odds: ReadingOdds): number =>
  Math.round(1_000 / (1 + Math.exp(-odds[COLUMN.hard]!))) / 1_000;

/** The log odds from which a request counts as hard or easy: 88 and 62 %. */
const HARD = 2;
const EASY = 0.5;
