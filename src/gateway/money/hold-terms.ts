import type { Microcredits } from '../../core/credits.ts';
import type { Decision, RankedModel } from '../../core/decision.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { FirstHold, HoldTerms } from '../../ledger/first-hold.ts';
import {
  affordableCap,
  ampleCase,
  capWithin,
  dearestCase,
  outputCap,
  taskOf,
  usefulCase,
} from '../../routing/estimate.ts';
import { type DecidedRequest, firstTrancheOf, mayGrow } from './growth.ts';

/**
 * Returns the amounts that a decided request asks its funds for: those of the choice and of each fallback, so that a hold suffices
 * or can be raised. Where a fund caps outputs, they include those for a shorter answer of the choice.
 * @param drawsOnFunds by default whether the decision saw funds; those that a payment fills it did not see
 */
export function holdTermsOf(decided: DecidedRequest, drawsOnFunds = decided.decision.facts.funds !== null): HoldTerms {
  const { snapshot } = decided.runtime;
  const { facts, readings, ranked } = decided.decision;
  const [choice] = ranked;
  const amounts: [Microcredits, ...Microcredits[]] = [choice.bound];
  for (let at = 1; at < ranked.length; at++) amounts.push(ranked[at]!.bound);
  const growth = drawsOnFunds && mayGrow(snapshot, decided.decision) ? growthOf(decided) : undefined;
  if (facts.funds?.cap === undefined) return { amounts, least: null, growth };
  const { endpoints, outputCap: cap, cappedBy } = choice;
  const model = snapshot.models[choice.model]!;
  const own = affordableCap(model, endpoints, facts, outputCap(model, facts));
  return {
    amounts,
    whole: cappedBy === null ? undefined : dearestCase(model, endpoints, facts, own),
    least: usefulCase(model, endpoints, facts, taskOf(facts, snapshot), cap),
    ample: ampleCase(model, endpoints, facts, snapshot, readings, cap),
    growth,
  };
}

const growthOf = (decided: DecidedRequest): HoldTerms['growth'] => ({
  wholeShare: decided.runtime.snapshot.ledger.wholeHoldShare,
  first: () => firstTrancheOf(decided),
});

/** Returns the choice as a hold of so much caps it; the choice itself where the hold pays it whole, or grows with the answer. */
export function choiceWithin(
  { amount, grows }: FirstHold,
  { facts, ranked: [choice] }: Pick<Decision, 'facts' | 'ranked'>,
  { models }: PolicySnapshot,
): RankedModel {
  const cap = facts.funds?.cap;
  if (grows || cap === undefined || amount >= choice.bound) return choice;
  const model = models[choice.model]!;
  const held = capWithin(amount, model, choice.endpoints, facts, choice.outputCap);
  const bound = dearestCase(model, choice.endpoints, facts, held);
  return { ...choice, outputCap: held, bound, cappedBy: choice.cappedBy ?? cap.by };
}
