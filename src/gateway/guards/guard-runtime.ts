import type { GuardMatch, GuardModel, GuardService, GuardWindow, PreparedGuard } from '../../contract/guard.ts';
import { matchFault } from '../../contract/guard-matches.ts';
import type { GuardRule } from '../../core/policy/guards.ts';
import { messageOf } from '../../core/thrown.ts';

/** A guard of the policy with its prepared plugin. */
export interface RunningGuard {
  readonly rule: GuardRule;
  readonly prepared: PreparedGuard;
  /** The API key of the guard's service; null or absent for none. */
  readonly apiKey?: string | null;
}

/** Thrown if a guard throws, takes too long, or returns something that is no list of matches. */
export class GuardFailure extends Error {}

/** @throws GuardFailure for matches that break the contract */
function checkedMatches({ kinds }: PreparedGuard, window: GuardWindow, matches: readonly GuardMatch[]) {
  const fault = matchFault(kinds, window, matches);
  if (fault !== null) throw new GuardFailure(fault);
  return matches;
}

/**
 * Calls a guard. The result is a promise only if the guard returns one.
 * @param service null for a guard that calls no service
 * @param model null for a guard that calls no model
 * @throws GuardFailure, or rejects with it
 */
export function callGuard(
  { prepared, rule }: RunningGuard,
  window: GuardWindow,
  service: GuardService | null = null,
  model: GuardModel | null = null,
): readonly GuardMatch[] | Promise<readonly GuardMatch[]> {
  let found: ReturnType<PreparedGuard['check']>;
  try {
    found = prepared.check(window, service ?? undefined, model ?? undefined);
  } catch (cause) {
    throw new GuardFailure(`it failed: ${messageOf(cause)}`);
  }
  if (!(found instanceof Promise)) return checkedMatches(prepared, window, found);
  if (rule.isPure) throw new GuardFailure('it returned a promise although it is pure');
  return found.then(
    (matches) => checkedMatches(prepared, window, matches),
    (cause) => {
      throw new GuardFailure(`it failed: ${messageOf(cause)}`);
    },
  );
}
