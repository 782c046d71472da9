import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { GuardSide } from '../../core/policy/guard-texts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Timers } from '../../core/time/timers.ts';
import type { WorkTurns } from '../../host/turns.ts';
import { GuardChain } from './guard-chain.ts';
import { guardInput } from './guard-input.ts';
import type { RunningGuard } from './guard-runtime.ts';
import { isActive, scopeOf } from './guard-scope.ts';
import { AnswerBlocked } from './held-parts.ts';
import { Placeholders } from './placeholders.ts';
import { Verdicts } from './verdicts.ts';

/** The effect of a policy's guards on a request that is never sent. */
export interface HypotheticalVerdicts {
  /** The request after masks; the given request if a guard refuses it. */
  readonly request: ModelRequest;
  readonly verdicts: Verdicts;
  /** The error with which a guard refuses the request; null for none. */
  readonly refusal: SignalboxError | null;
}

/**
 * Runs the pure guards of a policy on a request that is never sent. Guards that are not pure do not run, because they may call a service.
 * @param answer the text that a model would answer; null if guards inspect only the request
 * @param turns the result is a promise only if they are turns of the event loop
 */
export function guardHypothetical(
  given: ModelRequest,
  caller: Caller,
  {
    guards,
    alarms: { timers },
  }: { readonly guards: readonly RunningGuard[]; readonly alarms: { readonly timers: Timers } },
  answer: string | null,
  turns: WorkTurns,
): Awaitable<HypotheticalVerdicts> {
  const verdicts = new Verdicts();
  const none = { request: given, verdicts, refusal: null };
  if (guards.length === 0) return none;
  const scope = scopeOf(given, caller, NO_ORIGIN);
  const active = guards.filter((one) => one.rule.isPure && isActive(one, scope));
  const on = (side: GuardSide) => active.filter(({ rule }) => rule.on.includes(side));
  const context = {
    verdicts,
    placeholders: new Placeholders(() => NO_SECRET),
    timers,
    turns,
    clock: () => performance.now(),
    kept: null,
    signal: () => undefined,
    onFailure: () => {},
  };
  const guarded = (request: ModelRequest): Awaitable<HypotheticalVerdicts> =>
    whenReady(
      answer === null ? undefined : guardText(answer, new GuardChain(on('output'), false, { ...context, request })),
      () => ({ request, verdicts, refusal: null }),
    );
  const refused = (cause: unknown): HypotheticalVerdicts => {
    if (!(cause instanceof SignalboxError)) throw cause;
    return { ...none, refusal: cause };
  };
  try {
    return orElse(whenReady(guardInput(given, on('input'), context), guarded), refused);
  } catch (cause) {
    return refused(cause);
  }
}

/** Inspects the text of an answer that is never shown. */
function guardText(text: string, parts: GuardChain): Awaitable<void> {
  const blocked = (cause: unknown): void => {
    // The verdicts say which guard blocks the answer.
    if (!(cause instanceof AnswerBlocked)) throw cause;
  };
  try {
    const shown = parts.add([
      { type: 'text', choice: 0, text },
      { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
    ]);
    return orElse(
      whenReady(shown, () => {}),
      blocked,
    );
  } catch (cause) {
    blocked(cause);
  }
}

/** The HTTP request of a request that is never sent. */
export const NO_ORIGIN = { headers: null, body: { bytes: 0 } };
/** No placeholder of a hypothetical request is shown. */
const NO_SECRET = new Uint8Array(32);
