import { type Awaitable, orElse, whenReadyWith } from '../../core/awaitable.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { perLatest } from '../../core/lazy.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { Exchange } from '../exchange/exchange.ts';
import { answerJudge } from '../guards/answer-judge.ts';
import type { GuardPayer } from '../guards/guard-model.ts';
import { type FundingRequest, type FundingTerms, HoldRefused } from '../money/funding.ts';
import { reserve } from '../money/reserve.ts';
import { AnswerRecorder } from './answer-recorder.ts';
import { checkLimits } from './check-request.ts';
import { decideRequest } from './decide.ts';
import type { RequestDecision } from './decide-thread.ts';
import { shuttingDown } from './drain.ts';
import type { Gateway } from './gateway.ts';
import { PaidModels } from './guard-call.ts';
import { pin } from './pin.ts';
import { PreparedRequest, type PreparingParts } from './prepared.ts';
import type { RequestContext } from './request-context.ts';
import type { WorkFacts } from './request-facts.ts';
import { type FundedRequest, ServedRequest, TermsChanged } from './served.ts';
import { composed, inOrder, type Next, type Step, type StepChoice } from './steps.ts';

/** The steps of a gateway, composed once when it starts. */
export interface Pipeline {
  readonly gateway: Gateway;
  /**
   * Prepares a request for any use of it, unless it was already prepared under the same policy.
   * @param isHypothetical whether the request is only priced or judged. Then no guard calls a service or a model.
   * @param payer who pays for calls of guards to models; null if no guard may call a model
   * @throws SignalboxError
   */
  prepare(
    given: ModelRequest,
    policy: Runtime,
    context: RequestContext,
    isHypothetical?: boolean,
    payer?: GuardPayer | null,
  ): Awaitable<PreparedRequest>;
  /**
   * Carries out a request up to its exchange. If a payment would fix an error, the error says how to pay.
   * @throws SignalboxError, by rejecting; after this error no money is held
   */
  serve(funded: FundedRequest): Promise<RunningAnswer>;
}

/**
 * Composes the steps of a gateway, once for each policy. `http/admission.ts` has admitted each request before, and `http/replay.ts` has
 * claimed its name. The writer of the answer follows, which makes the exchange begin; the exchange does the calls and the settlement.
 */
export function openPipeline(gateway: Gateway, choose: StepChoice): Pipeline {
  const parts: PreparingParts = {
    affinity: gateway.affinity,
    log: gateway.log,
    guardModels: (prepared, payer) => new PaidModels(gateway, prepared, payer),
  };
  const stepsOf = perLatest((policy: Runtime) => {
    const { onRequest, onAnswer, beforeDecision } = choose(policy);
    return {
      prepare: inOrder([pin, ...onRequest, checkLimits]),
      answer: composed([...onAnswer, ...beforeDecision, decision, work, reservation, dispatch]),
    };
  });
  const prepare: Pipeline['prepare'] = (given, policy, context, isHypothetical = false, payer = null) => {
    const { work } = context;
    const earlier = work.prepared;
    const isSame = earlier?.given === given && earlier.policy === policy;
    if (isSame && (isHypothetical || !earlier.isHypothetical)) {
      work.guards = earlier.guards;
      return earlier;
    }
    // The request may have been prepared under an earlier policy, whose guards no longer apply.
    work.guards = null;
    const prepared = new PreparedRequest(given, policy, context, parts, isHypothetical, payer);
    return whenReadyWith(stepsOf(policy).prepare(prepared), notePrepared, prepared, work);
  };
  /** Prepares the request once, also if it is decided again, and for a quote under the same policy. */
  const preparation: Step = (served, next) => {
    const { funded, context, terms } = served;
    const { runtime } = terms;
    const hasGuards = runtime.guards.length > 0;
    const payer = hasGuards ? { terms, signal: funded.named?.toTheEnd ? undefined : context.signal } : null;
    return whenReadyWith(prepare(funded.request, runtime, context, false, payer), writePrepared, served, next);
  };
  const serve = composed([preparation, (served) => stepsOf(served.prepared.policy).answer(served)]);
  return {
    gateway,
    prepare,
    async serve(funded) {
      if (gateway.isDraining) throw shuttingDown();
      const served = new ServedRequest(gateway, funded);
      try {
        const renewal = gateway.renewedPrices();
        if (renewal !== null) await renewal;
        served.terms = served.funding.terms();
        return await serve(served);
      } catch (cause) {
        throw await errorOf(served, cause);
      }
    },
  };
}

function notePrepared(prepared: PreparedRequest, work: WorkFacts): PreparedRequest {
  work.prepared = prepared;
  return prepared;
}

function writePrepared(served: ServedRequest, next: Next, prepared: PreparedRequest): Awaitable<RunningAnswer> {
  served.prepared = prepared;
  return next(served);
}

/** Decides a request without carrying it out, for example for a quote. Throws as `decideRequest` does. */
export const decisionFor =
  ({ gateway, prepare }: Pipeline, given: ModelRequest, context: RequestContext): FundingRequest['decide'] =>
  async (terms) => {
    const { request, runtime, guardsNotRun } = await prepare(given, terms.runtime, context, true);
    const { decision } = await decideRequest(gateway, request, { ...terms, runtime }, false, context);
    return { runtime, decision, guardsNotRun };
  };

/** Ends a request that failed in any step. @returns the error for the caller; no money is held any more */
async function errorOf({ context, exchange, funding }: ServedRequest, cause: unknown): Promise<unknown> {
  if (exchange) {
    // No provider was called, because the writer of the answer makes the exchange begin.
    exchange.abandon(cause instanceof SignalboxError ? cause : 'caller-gone');
    return cause;
  }
  // `endWork` does nothing if no work has begun.
  context.endWork(0);
  return await funding.mend(cause);
}

const decision: Step = (served, next) => {
  // If a budget has ended, the decision already uses the budgets that apply now. A failure is reported by the hold.
  const renewal = served.gateway.ledger.renewed()?.catch(() => {});
  return whenReadyWith(renewal, decideFirst, served, next);
};

const decideFirst = (served: ServedRequest, next: Next): Awaitable<RunningAnswer> => decided(served, next, false);

function decided(served: ServedRequest, next: Next, isAgain: boolean): Awaitable<RunningAnswer> {
  return orElse(whenReadyWith(decide(served), nextOf, served, next), (cause) => {
    if (cause instanceof TermsChanged) return decided(served, next, isAgain);
    if (isAgain || !(cause instanceof HoldRefused && cause.shortage.why === 'exhausted')) throw cause;
    // The decision used figures of funds that may be a second old, but the books refused the hold with current figures, so the request is
    // decided once more, with the terms of the payer as they are now.
    served.terms = served.funding.terms();
    return decided(served, next, true);
  });
}

const nextOf = (served: ServedRequest, next: Next): Awaitable<RunningAnswer> => next(served);

function decide(served: ServedRequest): Awaitable<void> {
  const { gateway, context, prepared, terms } = served;
  const { request, runtime } = prepared;
  // The model of a wildcard has a runtime of its own.
  const own = terms.runtime === runtime ? terms : { ...terms, runtime };
  return whenReadyWith(decideRequest(gateway, request, own, true, context), writeRunnable, served, own);
}

function writeRunnable(served: ServedRequest, terms: FundingTerms, { decision, history }: RequestDecision): void {
  const { gateway, context, prepared, startedAt } = served;
  const { request, dropped, runtime } = prepared;
  const { guards } = context.work;
  served.isDecided = true;
  served.runnable = {
    request,
    dropped,
    context,
    terms,
    runtime,
    caller: terms.caller,
    clock: gateway.clock,
    startedAt,
    guardCalls: guards?.calls,
    judge: guards && answerJudge(guards, request, runtime.alarms),
    decision,
    history,
  };
}

/** From here on a shutdown waits for the request, until its work has ended. */
const work: Step = (served, next) => {
  const { context, runnable, startedAt, isWorking } = served;
  context.step('reserve');
  if (isWorking) return next(served);
  context.work.startedAt = startedAt;
  const beginning = context.life.beginWork(runnable.request.stream, Math.ceil(runnable.decision.ranked[0].tokens));
  return whenReadyWith(beginning, enterFlight, served, next);
};

function enterFlight(served: ServedRequest, next: Next): Awaitable<RunningAnswer> {
  const { gateway, context } = served;
  // Deciding, and limits that the store counts, may have taken time, during which a shutdown may have begun.
  if (gateway.isDraining) throw shuttingDown();
  context.enterFlight(gateway.inFlight);
  served.isWorking = true;
  return next(served);
}

const reservation: Step = async (served, next) => {
  const { gateway, context, runnable, funding, funded } = served;
  const { clock, now } = gateway;
  const { request, decision, terms, startedAt, judge } = runnable;
  const { named } = funded;
  // A named request keeps waiting for money even if its caller disconnects.
  const signal = named?.toTheEnd ? undefined : context.signal;
  const asksAgain = judge !== null;
  const unpaid = { request, decision, terms, run: context.work.run, asksAgain, startedAt, signal, clock, now };
  const reservedAt = clock();
  served.hold = await reserve(unpaid, funding, named?.claim ?? null);
  // A payment on a blockchain takes seconds, which do not count as the gateway's own time.
  if (served.hold.isSettledPayment) context.work.startedAt += clock() - reservedAt;
  return next(served);
};

const dispatch: Step = (served) => {
  const { gateway, context, runnable, hold } = served;
  // The decision is stored only from here on, so callers can look it up only now.
  context.work.decisionId = idText('dec_', runnable.decision.id);
  const exchange = new Exchange(gateway, runnable, hold, new AnswerRecorder(gateway, runnable, context));
  served.exchange = exchange;
  context.attach(exchange);
  return exchange;
};
