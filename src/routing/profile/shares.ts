import type { TaskShare } from '../../core/request/facts.ts';
import { TASKS } from './tasks.ts';

/** Shares are whole 64ths, which are exact in binary, so that they sum to exactly 1. */
const PARTS = 64;
/** The shares leave out tasks that are less likely than this. */
const LEAST = 0.05;

/** Returns the probability of each task, in the order of `TASKS`. @param odds the array that receives the result */
export function likelihoods(logits: Float64Array, odds: Float64Array = new Float64Array(logits.length)): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < logits.length; at++) most = Math.max(most, logits[at]!);
  let sum = 0;
  for (let at = 0; at < logits.length; at++) sum += odds[at] = Math.exp(logits[at]! - most);
  for (let at = 0; at < odds.length; at++) odds[at]! /= sum;
  return odds;
}

/** The share from which a task counts. On requests of other authors, this share has about the most right tasks. */
const TASK_SHARE = 0.35;

/**
 * Returns the likely tasks with their shares, and the likeliest task; `general` if no task is likely enough.
 * @param likely receives the likelihoods
 */
export function sharesOf(
  logits: Float64Array,
  likely: Float64Array,
): { readonly task: string; readonly mix: readonly TaskShare[] } {
  likelihoods(logits, likely);
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
  if (mix.length === 1) return { task: first.task, mix: [] };
  return { task: first.share >= TASK_SHARE ? first.task : 'general', mix };
}

/** Orders tasks by their probability, and equally likely tasks by name. */
const precedes = (one: TaskShare, other: TaskShare): boolean =>
  one.share === other.share ? one.task < other.task : one.share > other.share;
