import type { Facts, TaskShare } from '../../core/request/facts.ts';
import { TASKS } from './table.ts';

/** The likeliest task, and the likely tasks with their shares. */
export type Guess = Pick<Facts, 'task' | 'mix'>;

/** Shares are whole 64ths, which are exact in binary, so that they sum to exactly 1. */
const PARTS = 64;
/** The shares leave out tasks that are less likely than this. */
const LEAST = 0.05;

/** Returns the probability of each task. @param count how many of the odds belong to tasks */
export function likelihoods(odds: Float64Array, count = odds.length): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at++) most = Math.max(most, odds[at]!);
  const likely = new Float64Array(count);
  let sum = 0;
  for (let at = 0; at < count; at++) {
    likely[at] = Math.exp(odds[at]! - most);
    sum += likely[at]!;
  }
  for (let at = 0; at < count; at++) likely[at]! /= sum;
  return likely;
}

/** Returns the likely tasks with their shares, and the likeliest task. @param odds the log odds of the tasks, then of other columns */
export function sharesOf(odds: Float64Array): Guess {
  const likely = likelihoods(odds, TASKS.length);
  const mix: { readonly task: string; share: number }[] = [];
  let sum = 0;
  for (let at = 0; at < likely.length; at++) {
    const share = likely[at]!;
    if (share < LEAST) continue;
    const one = { task: TASKS[at]!, share };
    let place = mix.length;
    for (; place > 0 && precedes(one, mix[place - 1]!); place--) mix[place] = mix[place - 1]!;
    mix[place] = one;
    sum += share;
  }
  let left = PARTS;
  for (const one of mix) {
    const parts = Math.floor((one.share / sum) * PARTS);
    one.share = parts / PARTS;
    left -= parts;
  }
  const first = mix[0]!;
  // The most likely task receives the remainder of the rounding.
  first.share += left / PARTS;
  return { task: first.task, mix: mix.length === 1 ? [] : mix };
}

/** Orders tasks by their probability, and equally likely tasks by name. */
const precedes = (one: TaskShare, other: TaskShare): boolean =>
  one.share === other.share ? one.task < other.task : one.share > other.share;
