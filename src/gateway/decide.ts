import type { Decision } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { isRefusal } from '../routing/decide.ts';
import { refusalError } from '../routing/refuse.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type Gateway, newSeed } from './gateway.ts';

/** Decides with the selector's own strategy, or by the request's weights, or by the model's name. Throws SignalboxError when no model is left. */
export function decide({ nextId }: Gateway, facts: Facts, runtime: Runtime): Decision {
  const weighted = facts.weights !== null || facts.pinned;
  const strategy = weighted ? runtime.weighted : runtime.strategies.get(facts.model)!;
  const reason = facts.pinned ? 'pinned' : `${facts.model}:${strategy.reason}`;
  const outcome = runtime.decider.decide(facts, { id: nextId(), seed: newSeed(), strategy, reason });
  if (isRefusal(outcome)) throw refusalError(outcome, runtime.snapshot);
  return outcome;
}
