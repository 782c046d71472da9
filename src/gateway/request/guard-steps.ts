import { whenReady } from '../../core/awaitable.ts';
import { rootOf } from '../../core/people/caller.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { crowdedError } from '../exchange/failure.ts';
import { GuardChain } from '../guards/guard-chain.ts';
import { unmaskableAnswer } from '../guards/guard-errors.ts';
import { guardInput } from '../guards/guard-input.ts';
import type { RunningGuard } from '../guards/guard-runtime.ts';
import { isActive, scopeOf } from '../guards/guard-scope.ts';
import { GuardedAnswer } from '../guards/guarded-answer.ts';
import { KeptMatches } from '../guards/kept-matches.ts';
import { Placeholders } from '../guards/placeholders.ts';
import { RequestGuards } from '../guards/request-guards.ts';
import { UnmaskedParts } from '../guards/unmasked-parts.ts';
import type { ServedRequest } from './served.ts';
import type { PreparingStep, Step } from './steps.ts';

/** The step that runs the guards of the policy on a request. */
export const guardRequest: PreparingStep = (prepared) => {
  const { context, request, runtime } = prepared;
  const { guards } = runtime;
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
      turns: runtime.alarms.turns,
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
};

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
  if (!guards || (guards.output.length === 0 && guards.unmasking.length === 0)) return next(served);
  return whenReady(next(served), (answer) => {
    const { gateway, prepared, exchange } = served;
    let shown = answer;
    if (guards.output.length > 0) {
      const { verdicts, placeholders } = guards;
      const onFailure = logFailure(gateway.log);
      const { timers, turns } = prepared.runtime.alarms;
      const { request } = prepared;
      const models = prepared.models ?? undefined;
      const room = roomOf(served);
      const context = { request, verdicts, placeholders, clock: gateway.clock, timers, turns, models, room, onFailure };
      shown = new GuardedAnswer(
        shown,
        new GuardChain(guards.output, request.stream, context),
        (released) => exchange?.recorder.hearGuarded(released),
        (error) => {
          room?.leave();
          guards.answerRead(error);
        },
      );
    }
    const places = guards.unmasking.flatMap(({ rule }) => rule.unmask);
    if (places.length === 0) return shown;
    const room = roomOf(served);
    const parts = new UnmaskedParts(places, guards.placeholders, room);
    return new GuardedAnswer(shown, parts, undefined, () => room?.leave());
  });
};

/**
 * Returns the memory for what guards hold back of a stream, which counts like the answers of providers. An answer without streaming is
 * counted while it arrives, and an answer of the cache until it was read.
 */
function roomOf({ gateway, prepared, terms, exchange }: ServedRequest) {
  const { request, runtime } = prepared;
  if (!request.stream || !exchange) return undefined;
  const { answersBytesMax } = runtime.snapshot.gateway;
  const hold = gateway.answers.hold(rootOf(terms.caller));
  let isOver = false;
  return {
    take: (bytes: number) => isOver || hold.take(bytes, answersBytesMax),
    error: () => crowdedError(request.names.outputTokensMax),
    /** Releases the memory at the end of the answer; it may be called again. */
    leave() {
      isOver = true;
      hold.leave();
    },
  };
}

const logFailure =
  (log: Log) =>
  ({ rule }: RunningGuard, cause: unknown): void =>
    log.warn('a guard failed', { guard: rule.name, error: messageOf(cause) });
