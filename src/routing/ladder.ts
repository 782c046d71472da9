import type { Candidates } from '../contract/strategy.ts';
import type { Ladder, LadderRule, TierName } from '../core/request/tiers.ts';

/** The candidates of a request: their estimates, and the index of each model in the snapshot. Their order is the order of the models. */
export interface LadderCandidates extends Pick<Candidates, 'n' | 'quality' | 'cost' | 'latency'> {
  readonly model: Int32Array;
}

/** The choice of a ladder, as the position of a candidate. */
export interface LadderChoice {
  readonly at: number;
  readonly by: LadderRule;
  /** The choice that `by` replaced; null if `by` made the first one. */
  readonly before: LadderChoice | null;
}

/** In floating point, 0.9 − 0.03 can differ from 0.87 in its last bit. */
const SLACK = 1e-9;

/** How much better a model must be to be taken for more money. Smaller differences of quality are noise. */
export const STEP_QUALITY = 0.01;

/** How many times as much as the model whose answer failed a better model may cost, if no model of the hard list is better. */
const ESCALATION_COST = 3;

/** Returns the position of the best candidate of a ladder; of several with the same quality, the first in the order. -1 for none. */
export function bestAt({ places }: Ladder, { n, model, quality }: LadderCandidates): number {
  let best = -1;
  for (let i = 0; i < n; i++) {
    const place = places[model[i]!]!;
    if (place < 0) continue;
    if (best < 0 || quality[i]! > quality[best]! || (quality[i] === quality[best] && place < places[model[best]!]!))
      best = i;
  }
  return best;
}

/**
 * Returns the first candidate of the order whose quality is at least `least`; -1 for none.
 * @param most the most that the typical request may cost, in Credits
 */
function firstAbove(
  { places, cost: typicalCost }: Ladder,
  { n, model, quality }: LadderCandidates,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number {
  let first = -1;
  for (let i = 0; i < n; i++) {
    const index = model[i]!;
    const place = places[index]!;
    if (place < 0 || quality[i]! < least - SLACK || typicalCost[index]! > most) continue;
    if (first < 0 || place < places[model[first]!]!) first = i;
  }
  return first;
}

/** Returns the first eligible candidate of the list that the policy states for a tier, then of the other list; -1 for none. */
function firstStated(stated: NonNullable<Ladder['stated']>, name: TierName, candidates: LadderCandidates): number {
  const own = firstOf(stated[name], candidates);
  return own >= 0 ? own : firstOf(stated[name === 'usual' ? 'strong' : 'usual'], candidates);
}

/** Returns the first eligible candidate of a list that is not the failed one, and not worse; -1 for none. */
function firstOf(list: readonly number[], { n, model, quality }: LadderCandidates, failed = -1): number {
  for (const index of list) {
    const at = model.indexOf(index);
    if (at < 0 || at >= n || at === failed) continue;
    if (failed < 0 || quality[at]! >= quality[failed]!) return at;
  }
  return -1;
}

/**
 * Returns the candidate that is no worse than a choice in quality, cost and latency of this request, and better in one; the choice itself if
 * there is none. Of several, it is one that no other candidate dominates.
 */
function undominated(
  { places }: Ladder,
  { n, model, quality, cost, latency }: LadderCandidates,
  choice: number,
): number {
  let found = choice;
  for (let i = 0; i < n; i++) {
    if (places[model[i]!]! < 0) continue;
    const isWorse = quality[i]! < quality[choice]! || cost[i]! > cost[choice]! || latency[i]! > latency[choice]!;
    const isEqual = quality[i] === quality[choice] && cost[i] === cost[choice] && latency[i] === latency[choice];
    if (isWorse || isEqual) continue;
    const order =
      found === choice ? -1 : cost[i]! - cost[found]! || latency[i]! - latency[found]! || quality[found]! - quality[i]!;
    if (order < 0) found = i;
  }
  return found;
}

/**
 * Returns the choice of a ladder for a tier, without looking at the other tier; null if no candidate may be chosen.
 * @param best as `bestAt` returns it
 */
function choiceOf(
  ladder: Ladder,
  limiting: Ladder | null,
  name: TierName,
  candidates: LadderCandidates,
  best: number,
): LadderChoice | null {
  const { quality, model } = candidates;
  if (ladder.stated) {
    const first = firstStated(ladder.stated, name, candidates);
    if (first >= 0) return { at: first, by: 'stated', before: null };
  }
  if (best < 0) return null;
  const foremost = firstAbove(ladder, candidates, quality[best]! - ladder.margins[name]);
  const first: LadderChoice = { at: foremost, by: 'first', before: null };
  let choice = first;
  if (ladder.stepCost !== null) {
    for (let at = first.at; at >= 0; ) {
      at = firstAbove(ladder, candidates, quality[at]! + STEP_QUALITY, ladder.stepCost * ladder.cost[model[at]!]!);
      if (at >= 0) choice = { at, by: 'step', before: first };
    }
  }
  const limit = ladder.limit && limiting && laddered(limiting, null, name, candidates);
  if (limit && candidates[ladder.limit.by][limit.at]! < candidates[ladder.limit.by][choice.at]!)
    choice = { at: limit.at, by: 'limit', before: choice };
  const better = undominated(ladder, candidates, choice.at);
  return better === choice.at ? choice : { at: better, by: 'dominates', before: choice };
}

/**
 * Chooses the candidate for a tier. A hard request never gets a worse model than a usual one: if its choice is worse, it gets the choice for
 * usual requests. If another selector limits this one, both kinds of requests then get the cheaper (or faster) of the two, so that the limit
 * holds for both.
 * @param limiting the ladder of the selector that limits this one; null for none
 * @param best as `bestAt` returns it
 * @returns null if no candidate may be chosen
 */
export function laddered(
  ladder: Ladder,
  limiting: Ladder | null,
  name: TierName,
  candidates: LadderCandidates,
  best = bestAt(ladder, candidates),
): LadderChoice | null {
  const own = choiceOf(ladder, limiting, name, candidates, best);
  const isLimited = ladder.limit !== null && limiting !== null;
  if (own === null || own.by === 'stated' || (name === 'usual' && !isLimited)) return own;
  const other = choiceOf(ladder, limiting, name === 'usual' ? 'strong' : 'usual', candidates, best)!;
  const [usual, strong] = name === 'usual' ? [own, other] : [other, own];
  const { quality } = candidates;
  if (quality[usual.at]! <= quality[strong.at]!) return own;
  const figures = isLimited ? candidates[ladder.limit!.by] : null;
  const isStrong = figures !== null && figures[strong.at]! < figures[usual.at]!;
  if (name === 'usual') return isStrong ? { at: strong.at, by: 'strong', before: own } : own;
  return isStrong ? own : { at: usual.at, by: 'usual', before: own };
}

/**
 * Chooses the candidate after an answer that failed: the choice for hard requests if it is better than the model that failed, otherwise the
 * cheapest better model at most three times as expensive. With lists that the policy states, it is the first other model of the strong list that
 * is not worse.
 * @param failed the position of the model whose answer failed
 * @returns -1 if no such candidate is better
 */
export function escalated(
  ladder: Ladder,
  limiting: Ladder | null,
  candidates: LadderCandidates,
  failed: number,
  best = bestAt(ladder, candidates),
): number {
  if (ladder.stated) return firstOf(ladder.stated.strong, candidates, failed);
  const { n, model, quality } = candidates;
  const strong = laddered(ladder, limiting, 'strong', candidates, best);
  if (strong && quality[strong.at]! > quality[failed]!) return strong.at;
  const { cost, places } = ladder;
  let found = -1;
  for (let i = 0; i < n; i++) {
    const index = model[i]!;
    const price = cost[index]!;
    if (places[index]! < 0 || quality[i]! <= quality[failed]!) continue;
    if (price > ESCALATION_COST * cost[model[failed]!]!) continue;
    const other = found < 0 ? -1 : model[found]!;
    if (other < 0 || price < cost[other]! || (price === cost[other] && places[index]! < places[other]!)) found = i;
  }
  return found < 0 ? -1 : undominated(ladder, candidates, found);
}

/**
 * Writes the place of each candidate after the choice, as a utility: first the others that the policy states for the tier, then those that are
 * good enough, in their order, then the rest by quality. A candidate that may not be chosen gets -Infinity.
 */
export function writeUtilities(
  { places, order, stated, margins }: Ladder,
  name: TierName,
  { n, model, quality }: LadderCandidates,
  choice: number,
  best: number,
  out: Float64Array,
): void {
  const least = best < 0 ? Number.POSITIVE_INFINITY : quality[best]! - margins[name] - SLACK;
  for (let i = 0; i < n; i++) {
    const place = places[model[i]!]!;
    if (i === choice) out[i] = 1;
    else if (place < 0) out[i] = Number.NEGATIVE_INFINITY;
    else out[i] = quality[i]! >= least ? -place : quality[i]! - order.length - 1;
  }
  if (!stated) return;
  const list = [...stated[name], ...stated[name === 'usual' ? 'strong' : 'usual']];
  for (let i = 0; i < n; i++) {
    const at = list.indexOf(model[i]!);
    if (at >= 0 && i !== choice) out[i] = (list.length - at) / (list.length + 1);
  }
}
