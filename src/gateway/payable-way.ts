import type { Microcredits } from '../core/credits.ts';
import type { Facts } from '../core/facts.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import { capWithin, taskOf, usefulCase, worstCase } from '../routing/estimate.ts';
import type { RankedEndpoint } from './plan.ts';

/** The least that must be held for an attempt: its worst case, or that of its least useful output where a fund caps outputs. */
export function leastFor({ ranked, at }: RankedEndpoint, facts: Facts, snapshot: PolicySnapshot): Microcredits {
  const model = snapshot.models[ranked.model]!;
  if (facts.funds?.cap === undefined) return worstCase(model.endpoints[at]!.price, model, facts, ranked.outputCap);
  return usefulCase(model, [at], facts, taskOf(facts, snapshot), ranked.outputCap);
}

/** Returns an attempt with its output capped at what `held` microcredits pay; null where they pay less than its least. */
export function payableWay(
  way: RankedEndpoint,
  held: Microcredits,
  facts: Facts,
  snapshot: PolicySnapshot,
): RankedEndpoint | null {
  const { ranked, at } = way;
  const model = snapshot.models[ranked.model]!;
  if (worstCase(model.endpoints[at]!.price, model, facts, ranked.outputCap) <= held) return way;
  const cap = facts.funds?.cap;
  if (cap === undefined || leastFor(way, facts, snapshot) > held) return null;
  const outputCap = capWithin(held, model, [at], facts, ranked.outputCap);
  return { at, ranked: { ...ranked, outputCap, cappedBy: cap.by } };
}
