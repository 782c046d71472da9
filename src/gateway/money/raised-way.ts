import type { Decision } from '../../core/decision/decision.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { Hold } from '../../ledger/hold.ts';
import type { RankedUpstream } from '../../policy/runtime/upstream.ts';
import { ampleCase, capWithin, taskOf, usefulCase, worstCase } from '../../routing/estimate.ts';
import { StoreError } from '../../store/store.ts';
import type { DecidedRequest } from './growth.ts';

/**
 * Raises a hold, as far as possible, by the amount that an attempt lacks. Returns the attempt with its output limited to what is held; null
 * if that is less than the least useful output.
 */
export async function raisedWay(
  { decision, runtime }: Pick<DecidedRequest, 'decision'> & { readonly runtime: { readonly snapshot: PolicySnapshot } },
  hold: Pick<Hold, 'left' | 'reserved' | 'grows' | 'raise'>,
  way: RankedUpstream,
  missing: Microcredits,
): Promise<RankedUpstream | null> {
  const { facts, ranked } = decision;
  const least = leastFor(way, facts, runtime.snapshot);
  // An attempt of the chosen model needs no raise, because its hold already got as much as the funds have.
  const isGranted = way.ranked === ranked[0] && !hold.grows && hold.left === hold.reserved && hold.left >= least;
  if (!isGranted) {
    try {
      const ample = Math.max(0, ampleFor(way, decision, runtime.snapshot) - hold.left);
      await hold.raise([Math.min(missing, ample), missing], Math.max(0, least - hold.left));
    } catch (cause) {
      // Money of a raised hold must not be spent if the raise cannot be stored.
      if (!(cause instanceof StoreError)) throw cause;
      return null;
    }
  }
  return payableWay(way, hold.left, facts, runtime.snapshot);
}

/** Returns the most money that is held for an attempt unless the funds have plenty. The amount has no limit if no fund limits outputs. */
function ampleFor(
  { ranked, upstream }: RankedUpstream,
  { facts, readings }: Pick<Decision, 'facts' | 'readings'>,
  snapshot: PolicySnapshot,
): Microcredits {
  if (facts.funds?.cap === undefined) return Number.POSITIVE_INFINITY;
  return ampleCase(upstream.model, [upstream.at], facts, snapshot, readings, ranked.outputCap);
}

/**
 * Returns the least that must be held for an attempt: its worst case, or the worst case of its least useful output if a fund limits
 * outputs.
 */
function leastFor(
  { ranked, upstream: { model, at, endpoint } }: RankedUpstream,
  facts: Facts,
  snapshot: PolicySnapshot,
): Microcredits {
  if (facts.funds?.cap === undefined) return worstCase(endpoint, model, facts, ranked.outputCap);
  return usefulCase(model, [at], facts, taskOf(facts, snapshot), ranked.outputCap);
}

/**
 * Returns an attempt with its output limited to what `held` microcredits pay for; null if `held` pays for less than the least useful
 * output.
 */
function payableWay(
  way: RankedUpstream,
  held: Microcredits,
  facts: Facts,
  snapshot: PolicySnapshot,
): RankedUpstream | null {
  const { ranked, upstream } = way;
  const { model, at, endpoint } = upstream;
  if (worstCase(endpoint, model, facts, ranked.outputCap) <= held) return way;
  const cap = facts.funds?.cap;
  if (cap === undefined || leastFor(way, facts, snapshot) > held) return null;
  const outputCap = capWithin(held, model, [at], facts, ranked.outputCap);
  return { upstream, ranked: { ...ranked, outputCap, cappedBy: cap.by } };
}
