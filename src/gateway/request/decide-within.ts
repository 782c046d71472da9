import type { Decision, Refusal } from '../../core/decision/decision.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { AvailableFunds, FundShortage } from '../../ledger/available-funds.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { type DecisionContext, isRefusal } from '../../routing/decide.ts';
import { leastWorstCase } from '../../routing/refuse.ts';
import { withoutEscalation } from '../../routing/tiers.ts';

/** A decision that was tried within the funds of a caller. */
export interface FundedTrial {
  readonly outcome: Decision | Refusal;
  /** A shortage that no fund of the caller can ever cover; null for none. */
  readonly shortage: FundShortage | null;
  /** The funds that limited the decision; null if nothing limits it. */
  readonly funds: AvailableFunds | null;
}

/**
 * Decides within the caller's funds. If only open holds prevent a choice, the request waits until they end. A conversation that is escalated
 * keeps its first tier if the funds can pay only for this tier. If no fund can ever pay for the model that the request names, its listed
 * fallbacks are tried, whatever the funds do with other requests.
 */
export function decideWithin(
  funds: AvailableFunds,
  facts: Facts,
  given: DecisionContext,
  runtime: Pick<Runtime, 'decider' | 'snapshot'>,
): FundedTrial {
  const trial = decideUnder(funds.terms, funds, facts, given, runtime);
  if (trial.shortage === null) return trial;
  if (facts.escalation !== undefined) {
    const unescalated = withoutEscalation(facts, { share: null, isUnpaid: true });
    const usual = decideUnder(funds.terms, funds, unescalated, given, runtime);
    return usual.shortage === null && !isRefusal(usual.outcome) ? usual : trial;
  }
  if (facts.named === null || facts.fallbacks === undefined) return trial;
  const [first, ...others] = funds.strictTerms;
  return first === undefined ? trial : decideUnder([first, ...others], funds, facts, given, runtime);
}

function decideUnder(
  terms: AvailableFunds['terms'],
  funds: AvailableFunds,
  facts: Facts,
  given: DecisionContext,
  { decider, snapshot }: Pick<Runtime, 'decider' | 'snapshot'>,
): FundedTrial {
  let outcome = decider.decide({ ...facts, funds: terms[0] }, given);
  for (let at = 1; at < terms.length && isRefusal(outcome) && outcome.group === 'funds'; at++) {
    outcome = decider.decide({ ...facts, funds: terms[at]! }, given);
  }
  const needed = isRefusal(outcome)
    ? outcome.group === 'funds' && leastWorstCase(outcome, snapshot)
    : outcome.ranked[0].bound;
  return { outcome, shortage: needed === false ? null : funds.shortFor(needed), funds };
}
