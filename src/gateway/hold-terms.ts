import type { Decision, RankedModel } from '../core/decision.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { FirstHold, HoldTerms } from '../ledger/first-hold.ts';
import {
  affordableCap,
  ampleCase,
  capWithin,
  dearestCase,
  outputCap,
  taskOf,
  usefulCase,
} from '../routing/estimate.ts';
import { type DecidedWay, firstTrancheOf, mayGrow } from './growth.ts';

/**
 * Returns the amounts that a decided request asks its funds for: those of the choice and of each fallback, so that a hold suffices
 * or can be raised.
 */
export function holdTermsOf({ runtime, decision, request }: DecidedWay & { readonly decision: Decision }): HoldTerms {
  const { snapshot } = runtime;
  const [choice, ...fallbacks] = decision.ranked;
  return {
    amounts: [choice.bound, ...fallbacks.map(({ bound }) => bound)],
    ...cappedHolds(decision, snapshot),
    growth: mayGrow(snapshot, decision)
      ? { wholeShare: snapshot.ledger.wholeHoldShare, first: () => firstTrancheOf({ runtime, decision, request }) }
      : undefined,
  };
}

/** The holds of the choice where a fund caps outputs, in microcredits. */
function cappedHolds(
  { facts, readings, ranked: [choice] }: Decision,
  snapshot: PolicySnapshot,
): Pick<HoldTerms, 'whole' | 'least' | 'ample'> {
  if (facts.funds?.cap === undefined) return { least: null };
  const { endpoints, outputCap: cap, cappedBy } = choice;
  const model = snapshot.models[choice.model]!;
  const ownCap = () => affordableCap(model, endpoints, facts, outputCap(model, facts));
  return {
    whole: cappedBy === null ? undefined : dearestCase(model, endpoints, facts, ownCap()),
    least: usefulCase(model, endpoints, facts, taskOf(facts, snapshot), cap),
    ample: ampleCase(model, endpoints, facts, snapshot, readings, cap),
  };
}

/** Returns the choice as a hold of so much caps it; the choice itself where the hold pays it whole, or grows with the answer. */
export function choiceWithin(
  { amount, grows }: FirstHold,
  { facts, ranked: [choice] }: Decision,
  { models }: PolicySnapshot,
): RankedModel {
  const cap = facts.funds?.cap;
  if (grows || cap === undefined || amount >= choice.bound) return choice;
  const model = models[choice.model]!;
  const held = capWithin(amount, model, choice.endpoints, facts, choice.outputCap);
  const bound = dearestCase(model, choice.endpoints, facts, held);
  return { ...choice, outputCap: held, bound, cappedBy: choice.cappedBy ?? cap.by };
}
