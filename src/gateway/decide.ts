import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { Constraint, Preference } from '../core/rules.ts';
import { isRefusal } from '../routing/decide.ts';
import { refusalError } from '../routing/refuse.ts';
import { withRules } from '../routing/rules.ts';
import { type Runtime, strategyOf } from '../runtime/runtime.ts';
import { type Gateway, newSeed } from './gateway.ts';

/** What of a request the policy's rules may look at beside the facts. */
export interface ForRules {
  readonly stream: boolean;
  readonly user: string | null | undefined;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
}

/** Finds the rules that apply, and decides under them. Throws SignalboxError when no model is left. */
export function decide(
  gateway: Gateway,
  facts: Facts,
  forRules: ForRules,
  caller: Caller,
  runtime: Runtime,
  promptField?: string,
): Decision {
  const { stream, user, metadata } = forRules;
  const ruled = withRules(
    facts,
    runtime.snapshot,
    () => ({ stream, user: user ?? '', metadata: metadata ?? {}, caller, time: runtime.localTime(gateway.now()) }),
    (rule, error) => tellOnce(gateway, rule, `the condition of rule \`${rule.name}\` failed and counts as true`, error),
  );
  const { faults } = runtime.decider;
  const chosen = strategyOf(ruled, runtime);
  const outcome = runtime.decider.decide(ruled, { id: gateway.nextId(), seed: newSeed(), ...chosen });
  if (runtime.decider.faults > faults) {
    tellOnce(gateway, chosen.strategy, `the strategy of \`${facts.model}\` gave no usable scores`, null);
  }
  if (isRefusal(outcome)) throw refusalError(outcome, runtime.snapshot, promptField);
  return outcome;
}

/** Rules and strategies whose fault was told: it would be the same with every request. */
const told = new WeakSet<object>();

function tellOnce({ log }: Gateway, about: Constraint | Preference | object, message: string, error: unknown): void {
  if (told.has(about)) return;
  told.add(about);
  log.warn(message, error === null ? {} : { error: String(error) });
}
