import type { TaskShare } from '../../core/facts.ts';
import type { TaskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';

/** Shares are whole 64ths: exact in binary, so that they sum to exactly 1. */
const PARTS = 64;
/** What is less likely than this is left out. */
const LEAST = 0.05;

/** How likely each task is, 0..1, in the order of `TASKS`. */
export function likelihoods(evidence: TaskLogits): Float64Array {
  let most = evidence[0]!;
  for (let at = 1; at < evidence.length; at++) most = Math.max(most, evidence[at]!);
  const likely = new Float64Array(evidence.length);
  let sum = 0;
  for (let at = 0; at < likely.length; at++) {
    likely[at] = Math.exp(evidence[at]! - most);
    sum += likely[at]!;
  }
  for (let at = 0; at < likely.length; at++) likely[at]! /= sum;
  return likely;
}

/** The shares that the evidence leaves, as `mix` has them, and the task that is likelier than not. */
export function sharesOf(evidence: TaskLogits): { readonly task: string; readonly mix: readonly TaskShare[] } {
  const likely = likelihoods(evidence);
  const kept: { readonly task: string; share: number }[] = [];
  let sum = 0;
  for (let at = 0; at < likely.length; at++) {
    const share = likely[at]!;
    if (share < LEAST) continue;
    kept.push({ task: TASKS[at]!, share });
    sum += share;
  }
  kept.sort((a, b) => b.share - a.share || (a.task < b.task ? -1 : 1));
  let left = PARTS;
  for (const one of kept) {
    const parts = Math.floor((one.share / sum) * PARTS);
    one.share = parts / PARTS;
    left -= parts;
  }
  const [first] = kept;
  if (!first) return { task: 'general', mix: [] };
  // What rounding leaves goes to the likeliest.
  first.share += left / PARTS;
  if (kept.length === 1) return { task: first.task, mix: [] };
  return { task: first.share >= 0.5 ? first.task : 'general', mix: kept };
}
