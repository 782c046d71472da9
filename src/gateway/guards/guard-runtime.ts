import type {
  GuardMatch,
  GuardModel,
  GuardService,
  GuardSteps,
  GuardWindow,
  PreparedGuard,
} from '../../contract/guard.ts';
import { MATCHES_MAX, matchFault } from '../../contract/guard-matches.ts';
import { checkPure, isSteps, lengthOf, TooLongForGuard } from '../../contract/guard-steps.ts';
import type { Awaitable } from '../../core/awaitable.ts';
import type { GuardRule } from '../../core/policy/guards.ts';
import { messageOf } from '../../core/thrown.ts';
import type { WorkTurns } from '../../host/turns.ts';

/** A guard of the policy with its prepared plugin. */
export interface RunningGuard {
  readonly rule: GuardRule;
  readonly prepared: PreparedGuard;
  /** The API key of the guard's service; null or absent for none. */
  readonly apiKey?: string | null;
}

/** Thrown if a guard throws, takes too long, or returns something that is no list of matches. */
export class GuardFailure extends Error {
  /** Whether another try would fail, too, because a text is too long for the guard. */
  readonly isTooLong: boolean;

  constructor(message: string, isTooLong = false) {
    super(message);
    this.isTooLong = isTooLong;
  }
}

/** How long work of a guard is divided. */
export interface GuardWork {
  readonly turns: WorkTurns;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  /** Called between steps, to end the work with an error. */
  check(): void;
}

/** The most matches that are handled without a pause. */
export const MATCHES_AT_ONCE = 8_192;

/** Returns the matches that count. */
const counted = (matches: readonly GuardMatch[]): readonly GuardMatch[] =>
  Array.isArray(matches) && matches.length > MATCHES_MAX ? matches.slice(0, MATCHES_MAX) : matches;

/** @throws GuardFailure for matches that break the contract */
function checkedMatches({ kinds }: PreparedGuard, window: GuardWindow, matches: readonly GuardMatch[]) {
  const fault = matchFault(kinds, window, matches);
  if (fault !== null) throw new GuardFailure(fault);
  return matches;
}

const failure = (cause: unknown) => new GuardFailure(messageOf(cause), cause instanceof TooLongForGuard);

/** Takes the steps of a guard, and checks its matches. */
function* checkedSteps(
  prepared: PreparedGuard,
  window: GuardWindow,
  steps: GuardSteps,
): Generator<void, readonly GuardMatch[]> {
  const next = () => {
    try {
      return steps.next();
    } catch (cause) {
      throw failure(cause);
    }
  };
  let step = next();
  for (; !step.done; step = next()) yield;
  const matches = counted(step.value);
  if (!Array.isArray(matches)) return checkedMatches(prepared, window, matches);
  for (let at = 0; at < matches.length; at += MATCHES_AT_ONCE) {
    checkedMatches(prepared, window, matches.slice(at, at + MATCHES_AT_ONCE));
    yield;
  }
  return matches;
}

/**
 * Calls a guard. The result is a promise only if the guard returns one, or if a pure guard takes steps for longer than a turn of the event
 * loop.
 * @param service null for a guard that calls no service
 * @param model null for a guard that calls no model
 * @throws GuardFailure, or rejects with it
 */
export function callGuard(
  { prepared, rule }: RunningGuard,
  window: GuardWindow,
  { turns, clock, check }: GuardWork,
  service: GuardService | null = null,
  model: GuardModel | null = null,
): Awaitable<readonly GuardMatch[]> {
  let found: ReturnType<PreparedGuard['check']>;
  try {
    found = rule.isPure
      ? checkPure(prepared, window)
      : prepared.check(window, service ?? undefined, model ?? undefined);
  } catch (cause) {
    throw failure(cause);
  }
  if (found instanceof Promise) {
    if (rule.isPure) throw new GuardFailure('it returned a promise although it is pure');
    return found.then(
      (matches) => checkedMatches(prepared, window, counted(matches)),
      (cause) => {
        throw failure(cause);
      },
    );
  }
  if (!isSteps(found)) return checkedMatches(prepared, window, counted(found));
  return turns.run(checkedSteps(prepared, window, found), lengthOf(window.texts), clock, check);
}
