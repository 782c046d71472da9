import type { Decision, RankedModel } from '../../core/decision/decision.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
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
import { boundOfBoth, boundOfRepair } from './second-attempt.ts';

/**
 * Returns the amounts that a decided request tries to hold: for the chosen model, for each fallback, and for both attempts of a request that
 * may have a second one, or whose model a guard may ask again, so that a hold is sufficient or can be raised. If a fund limits outputs, the amounts include the amounts for a shorter answer of the chosen model.
 * @param drawsOnFunds by default, whether the decision used funds. A payment fills funds that did not exist at the decision.
 */
export function holdTermsOf(decided: DecidedRequest, drawsOnFunds = decided.decision.facts.funds !== null): HoldTerms {
  const { snapshot } = decided.runtime;
  const { facts, readings, ranked, second } = decided.decision;
  const [choice] = ranked;
  const amounts: [Microcredits, ...Microcredits[]] = [choice.bound];
  for (let at = 1; at < ranked.length; at++) amounts.push(ranked[at]!.bound);
  const both = second && decided.request ? boundOfBoth(decided.request, second, decided.decision) : null;
  if (both !== null) amounts.push(both);
  const repair = decided.asksAgain ? boundOfRepair(decided.decision) : null;
  if (repair !== null) amounts.push(repair);
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

/**
 * Returns the chosen model with its output limited to what a hold of this amount pays for; the unchanged choice if the hold covers it
 * completely, or grows with the answer.
 */
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
