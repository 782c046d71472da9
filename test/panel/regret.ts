import { doing, FAST_COST, FAST_S, NEAR, type Reckoned, reckonAll, type Selector } from './judge.ts';
import { WORTHS } from './kinds.ts';
import { KEY_SETS } from './offers.ts';
import type { Case } from './panel.ts';

/**
 * The regret of a choice in Credits: the worth of the best model for a request minus the worth of the chosen model. A choice within the
 * judge's bounds is accepted however much it wastes; the regret of a choice grows with every waste. README.md has the formula.
 */

/** The odds of a good answer from a model that has exactly the level that a request needs: nine of ten answers are good. */
const ODDS_AT_NEED = 9;
/** Each level more multiplies the odds. */
const ODDS_PER_LEVEL = 3;

/** Returns the probability of a good answer from a model this many levels above the needs of a request (negative: below). */
export function chanceOf(margin: number): number {
  const odds = ODDS_AT_NEED * ODDS_PER_LEVEL ** margin;
  return odds / (1 + odds);
}

/** The worth of an answer to a caller. */
export interface Stake {
  /** Credits that a good answer is worth. */
  readonly answer: number;
  /** Credits that a second less is worth. */
  readonly second: number;
  /** The wait that counts: seconds until the answer begins, or until it ends. */
  readonly wait: 'firstS' | 'totalS';
}

/** An estimate of a model for a request. */
export type Option = Pick<Reckoned, 'id' | 'margin' | 'credits' | 'firstS' | 'totalS'>;

/** Returns the worth of a model's answer in Credits. It is negative if the answer costs more than it is worth. */
export const worthOf = ({ answer, second, wait }: Stake, option: Option): number =>
  answer * chanceOf(option.margin) - option.credits - second * option[wait];

/** The share of bad answers that a signal of failure finds. It finds no good answer bad. */
const FOUND = 0.5;

/**
 * Returns the worth of two answers: the second model is asked if a signal finds the answer of the first bad. A model gives a good answer
 * wherever a weaker one does, so the second helps only as far as it is better.
 */
export function againWorthOf(stake: Stake, first: Option, second: Option): number {
  const chance = chanceOf(first.margin);
  const better = Math.max(0, chanceOf(second.margin) - chance);
  const repeat = FOUND * (1 - chance) * (second.credits + stake.second * second[stake.wait]);
  return worthOf(stake, first) + FOUND * better * stake.answer - repeat;
}

/** Returns the worth of the best model in Credits. Two answers can be worth more. */
export const bestWorth = (stake: Stake, options: readonly Option[]): number =>
  Math.max(...options.map((option) => worthOf(stake, option)));

/**
 * Returns the regret of a choice in Credits, 0 or more. No answer (`null`, or a model that cannot serve the request) is worth 0, but never
 * more than the worst answer.
 */
export function regretOf(choice: string | null, stake: Stake, options: readonly Option[]): number {
  const worths = options.map((option) => worthOf(stake, option));
  const chosen = options.findIndex(({ id }) => id === choice);
  const worth = worths[chosen] ?? Math.min(0, ...worths);
  return Math.max(worth, ...worths) - worth;
}

/** The keys whose models define the quickest model, because the worth of a second does not depend on the keys that a user has. */
const WIDEST = KEY_SETS.find(({ name }) => name === 'all')!;
/** A good answer is worth this much less to a caller of `auto-cheap`. */
const CHEAP = 2;

/**
 * Returns the worth of an answer. A good answer is worth the Credits that `WORTHS` states for its level. A caller who waits as long as the
 * judge accepts gives up as much as for an answer that is not good in one of ten cases; a caller of `auto-fast` five times as much.
 */
export function stakeOf(one: Case, selector: Selector): Stake {
  const { answer, patienceS } = WORTHS[one.worth];
  const patience = answer * (1 - chanceOf(0));
  switch (selector) {
    case 'auto':
      return { answer, second: patience / patienceS, wait: 'firstS' };
    case 'auto-cheap':
      return { answer: answer / CHEAP, second: 0, wait: 'totalS' };
    case 'auto-fast': {
      const quickest = Math.min(...doing(reckonAll(one, WIDEST)).map(({ totalS }) => totalS));
      return { answer, second: (FAST_COST * patience) / Math.max(FAST_S, NEAR * quickest), wait: 'totalS' };
    }
  }
}
