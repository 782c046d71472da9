import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { unmaskableAnswer } from '../guards/guard-errors.ts';
import { guardInput } from '../guards/guard-input.ts';
import type { RunningGuard } from '../guards/guard-runtime.ts';
import { isActive, scopeOf } from '../guards/guard-scope.ts';
import { GuardedAnswer } from '../guards/guarded-answer.ts';
import { GuardedParts } from '../guards/guarded-parts.ts';
import { KeptMatches } from '../guards/kept-matches.ts';
import { Placeholders } from '../guards/placeholders.ts';
import { RequestGuards } from '../guards/request-guards.ts';
import { UnmaskedParts } from '../guards/unmasked-parts.ts';
import type { PreparedRequest } from './prepared.ts';
import type { PreparingStep, Step } from './steps.ts';

/** The step that runs the guards of the policy on a request. Without guards it does nothing. */
export const guardRequest: PreparingStep = (prepared) => {
  const { guards } = prepared.runtime;
  // The request may have been prepared under an earlier policy, whose guards no longer apply.
  prepared.context.work.guards = null;
  return guards.length === 0 ? undefined : runGuards(prepared, guards);
};

function runGuards(prepared: PreparedRequest, guards: readonly RunningGuard[]): Awaitable<void> {
  const { context, request, runtime } = prepared;
  const scope = scopeOf(request, context.caller, context);
  const active = guards.filter((guard) => isActive(guard, scope));
  if (active.length === 0) return;
  const placeholders = new Placeholders(() => prepared.conversationSecret());
  const running = new RequestGuards(active, placeholders);
  prepared.guards = running;
  context.work.guards = running;
  const isRun = ({ rule }: RunningGuard) =>
    rule.isPure || (!prepared.isHypothetical && (rule.model === undefined || prepared.payer !== null));
  prepared.guardsNotRun = active.filter((guard) => !isRun(guard)).map(({ rule }) => rule.name);
  const guarded = guardInput(
    request,
    active.filter((guard) => guard.rule.on.includes('input') && isRun(guard)),
    {
      verdicts: running.verdicts,
      placeholders,
      models: prepared.models ?? undefined,
      timers: runtime.alarms.timers,
      clock: () => performance.now(),
      kept: KeptMatches.of(request, guards),
      signal: () => prepared.leaving,
      onFailure: logFailure(prepared.log),
    },
  );
  return whenReady(guarded, (result) => {
    checkAnswer(running, result);
    prepared.request = result;
  });
}

/** @throws SignalboxError for a request whose answer repeats its text in a form that guards do not read */
function checkAnswer({ output }: RequestGuards, { settings, names }: ModelRequest): void {
  const acting = output.find(({ rule }) => rule.onMatch !== 'flag');
  if (acting && settings.logprobs) throw unmaskableAnswer(acting.rule, names.logprobs);
}

/**
 * The step that runs the guards of the policy on an answer, and then puts values back in place of placeholders. Content records read the
 * answer in between.
 */
export const guardAnswer: Step = (served, next) => {
  const { guards } = served.context.work;
  if (!guards || (guards.output.length === 0 && guards.unmasking.length === 0)) return next();
  return whenReady(next(), (answer) => {
    const { gateway, prepared, exchange } = served;
    let shown = answer;
    if (guards.output.length > 0) {
      const { verdicts, placeholders } = guards;
      const onFailure = logFailure(gateway.log);
      const { timers } = prepared.runtime.alarms;
      const { request } = prepared;
      const models = prepared.models ?? undefined;
      const context = { request, verdicts, placeholders, clock: gateway.clock, timers, models, onFailure };
      const parts = new GuardedParts(guards.output, request.stream, context);
      shown = new GuardedAnswer(
        shown,
        parts,
        (released) => exchange?.recorder.hearGuarded(released),
        (error) => guards.answerRead(error),
      );
    }
    const places = guards.unmasking.flatMap(({ rule }) => rule.unmask);
    return places.length === 0 ? shown : new GuardedAnswer(shown, new UnmaskedParts(places, guards.placeholders));
  });
};

const logFailure =
  (log: Log) =>
  ({ rule }: RunningGuard, cause: unknown): void =>
    log.warn('a guard failed', { guard: rule.name, error: messageOf(cause) });
