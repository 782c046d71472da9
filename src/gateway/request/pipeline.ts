import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { Exchange } from '../exchange/exchange.ts';
import { answerJudge } from '../guards/answer-judge.ts';
import type { GuardPayer } from '../guards/guard-model.ts';
import { type FundingRequest, HoldRefused } from '../money/funding.ts';
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
import { type FundedRequest, ServedRequest, TermsChanged } from './served.ts';
import { type AddedSteps, composed, inOrder, type Step } from './steps.ts';

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
 * Composes the steps of a gateway. `http/admission.ts` has admitted each request before, and `http/replay.ts` has claimed its name. The
 * writer of the answer follows, which makes the exchange begin; the exchange does the calls and the settlement.
 */
export function openPipeline(gateway: Gateway, { onRequest, onAnswer, beforeDecision }: AddedSteps): Pipeline {
  const parts: PreparingParts = {
    affinity: gateway.affinity,
    log: gateway.log,
    guardModels: (prepared, payer) => new PaidModels(gateway, prepared, payer),
  };
  const prepareWith = inOrder([pin, ...onRequest, checkLimits]);
  const prepare: Pipeline['prepare'] = (given, policy, context, isHypothetical = false, payer = null) => {
    const { work } = context;
    const earlier = work.prepared;
    const isSame = earlier?.given === given && earlier.policy === policy;
    if (isSame && (isHypothetical || !earlier.isHypothetical)) {
      work.guards = earlier.guards;
      return earlier;
    }
    const prepared = new PreparedRequest(given, policy, context, parts, isHypothetical, payer);
    return whenReady(prepareWith(prepared), () => {
      context.work.prepared = prepared;
      return prepared;
    });
  };
  /** Prepares the request once, also if it is decided again, and for a quote under the same policy. */
  const preparation: Step = (served, next) => {
    const { funded, context, terms } = served;
    const payer = { terms, signal: funded.named?.toTheEnd ? undefined : context.signal };
    return whenReady(prepare(funded.request, terms.runtime, context, false, payer), (prepared) => {
      served.prepared = prepared;
      return next();
    });
  };
  const steps = [payer, preparation, ...onAnswer, ...beforeDecision, decision, work, reservation, dispatch];
  const serve = composed(steps);
  return {
    gateway,
    prepare,
    async serve(funded) {
      if (gateway.isDraining) throw shuttingDown();
      return await serve(new ServedRequest(gateway, funded));
    },
  };
}

/** Decides a request without carrying it out, for example for a quote. Throws as `decideRequest` does. */
export const decisionFor =
  ({ gateway, prepare }: Pipeline, given: ModelRequest, context: RequestContext): FundingRequest['decide'] =>
  async (terms) => {
    const { request, runtime, guardsNotRun } = await prepare(given, terms.runtime, context, true);
    const { decision } = await decideRequest(gateway, request, { ...terms, runtime }, false, context);
    return { runtime, decision, guardsNotRun };
  };

/** Finds the terms of the payer, and ends a request that fails in any later step. */
const payer: Step = (served, next) => {
  try {
    served.terms = served.funding.terms();
    return orElse(next(), (cause) => failed(served, cause));
  } catch (cause) {
    return failed(served, cause);
  }
};

/** @throws the error for the caller; after this error no money is held */
async function failed({ context, exchange, funding }: ServedRequest, cause: unknown): Promise<never> {
  if (exchange) {
    // No provider was called, because the writer of the answer makes the exchange begin.
    exchange.abandon(cause instanceof SignalboxError ? cause : 'caller-gone');
    throw cause;
  }
  // `endWork` does nothing if no work has begun.
  context.endWork(0);
  throw await funding.mend(cause);
}

const decision: Step = (served, next) => {
  // If a budget has ended, the decision already uses the budgets that apply now. A failure is reported by the hold.
  const renewal = served.gateway.ledger.renewed()?.catch(() => {});
  const decided = (isAgain: boolean): Awaitable<RunningAnswer> =>
    orElse(whenReady(decide(served), next), (cause) => {
      if (cause instanceof TermsChanged) return decided(isAgain);
      if (isAgain || !(cause instanceof HoldRefused && cause.shortage.why === 'exhausted')) throw cause;
      // The decision used figures of funds that may be a second old, but the books refused the hold with current figures, so the request is
      // decided once more, with the terms of the payer as they are now.
      served.terms = served.funding.terms();
      return decided(true);
    });
  return whenReady(renewal, () => decided(false));
};

function decide(served: ServedRequest): void | Promise<void> {
  const { gateway, context, prepared, startedAt } = served;
  const { request, dropped, runtime } = prepared;
  const terms = { ...served.terms, runtime };
  const keep = ({ decision, history }: RequestDecision): void => {
    const { caller } = terms;
    const decided = { decision, history };
    served.runnable = {
      request,
      dropped,
      context,
      terms,
      runtime,
      caller,
      clock: gateway.clock,
      startedAt,
      guardCalls: context.work.guards?.calls,
      judge: answerJudge(context.work.guards, request, runtime.alarms),
      ...decided,
    };
  };
  return whenReady(decideRequest(gateway, request, terms, true, context), keep);
}

/** From here on a shutdown waits for the request, until its work has ended. */
const work: Step = (served, next) => {
  const { gateway, context, runnable, startedAt, isWorking } = served;
  context.step('reserve');
  if (isWorking) return next();
  context.work.startedAt = startedAt;
  const beginning = context.life.beginWork(runnable.request.stream, Math.ceil(runnable.decision.ranked[0].tokens));
  return whenReady(beginning, () => {
    // Deciding, and limits that the store counts, may have taken time, during which a shutdown may have begun.
    if (gateway.isDraining) throw shuttingDown();
    context.enterFlight(gateway.inFlight);
    served.isWorking = true;
    return next();
  });
};

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
  return next();
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
