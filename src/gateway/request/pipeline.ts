import { idText } from '../../core/id.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';
import { type FundedHold, type Funding, HoldRefused, type RequestClaim } from '../money/funding.ts';
import { reserve } from '../money/reserve.ts';
import { AnswerRecorder } from './answer-recorder.ts';
import { decideRequest } from './decide.ts';
import type { RequestDecision } from './decide-thread.ts';
import { shuttingDown } from './drain.ts';
import type { Gateway } from './gateway.ts';
import { pinRequest } from './pin.ts';
import type { RequestContext } from './request-context.ts';

/** A request as its surface has read it, with its payer and the name by which repeats of it are recognized. */
interface FundedRequest {
  readonly request: ModelRequest;
  readonly context: RequestContext;
  readonly funding: Funding;
  /** Null for a request without a name. */
  readonly named: NamedRequest | null;
}

/** The name of a request that is carried out once for it. */
export interface NamedRequest {
  readonly claim: RequestClaim;
  /** Whether it goes on after its caller has left. */
  readonly toTheEnd: boolean;
}

/**
 * Carries a request out as far as its exchange, which takes the steps from dispatch on. `http/admission.ts` has admitted it before its
 * body arrived, and noted so in the context. `recommend` takes the same steps up to decide. Where a payment would mend an error,
 * the error says how to pay.
 * @throws SignalboxError, and then nothing is held
 */
export async function serveRequest(gateway: Gateway, funded: FundedRequest): Promise<RunningAnswer> {
  const { context, funding } = funded;
  if (gateway.isDraining) throw shuttingDown();
  try {
    const found = decideFunded(gateway, funded);
    let runnable = found instanceof Promise ? await found : found;
    const { clock } = gateway;
    const reservedAt = clock();
    const beginning = beginWork(gateway, runnable, context);
    if (beginning) await beginning;
    let hold: FundedHold;
    try {
      hold = await reserveFor(gateway, runnable, funded);
    } catch (cause) {
      if (!(cause instanceof HoldRefused && cause.shortage.why === 'exhausted')) throw cause;
      // The figures at its decision may be a second old. Those of the refusal are not, so it is decided once more.
      runnable = await decideFunded(gateway, funded);
      context.step('reserve');
      hold = await reserveFor(gateway, runnable, funded);
    }
    // Only from here on the decision is kept, and can be looked up.
    context.decisionId = idText('dec_', runnable.decision.id);
    // A chain takes seconds, which are not the gateway's own.
    if (hold.isSettledPayment) context.startedAt += clock() - reservedAt;
    const exchange = new Exchange(gateway, runnable, hold, new AnswerRecorder(gateway, runnable, context));
    context.attach(exchange);
    return exchange;
  } catch (cause) {
    // Harmless where none was begun.
    context.endWork(0);
    throw await funding.mend(cause);
  }
}

/** The steps from pin to decide. A step that need not wait goes on in the same turn of the event loop. */
function decideFunded(
  gateway: Gateway,
  { request: given, context, funding }: FundedRequest,
): RunnableRequest | Promise<RunnableRequest> {
  const leased = funding.terms();
  const { clock } = gateway;
  const startedAt = clock();
  const { request, dropped, runtime } = pinRequest(given, leased.runtime, context);
  const terms = runtime === leased.runtime ? leased : { ...leased, runtime };
  // (cache)
  const runnableOf = ({ decision, history, questionLength }: RequestDecision): RunnableRequest => ({
    request,
    dropped,
    context,
    terms,
    runtime,
    caller: terms.caller,
    clock,
    startedAt,
    decision,
    history,
    questionLength,
  });
  const deciding = decideRequest(gateway, request, terms, true, context);
  return deciding instanceof Promise ? deciding.then(runnableOf) : runnableOf(deciding);
}

/**
 * Begins the step reserve. From here on a shutdown waits for the request, until its work is ended.
 * @returns a promise where the store is asked for limits
 */
function beginWork(
  gateway: Gateway,
  { request, decision, startedAt }: RunnableRequest,
  context: RequestContext,
): Promise<void> | null {
  context.startedAt = startedAt;
  context.step('reserve');
  const beginning = context.beginWork(request.stream, Math.ceil(decision.ranked[0].tokens));
  if (beginning) return beginning.then(() => enterFlight(gateway, context));
  enterFlight(gateway, context);
  return null;
}

function enterFlight({ isDraining, inFlight }: Gateway, context: RequestContext): void {
  // Deciding, and limits that the store counts, may have taken a while.
  if (isDraining) throw shuttingDown();
  context.enterFlight(inFlight);
}

function reserveFor(
  { clock, now }: Gateway,
  { request, decision, terms, startedAt }: RunnableRequest,
  { context, funding, named }: FundedRequest,
): Promise<FundedHold> {
  // A named request waits for money though its caller leaves.
  const signal = named?.toTheEnd ? undefined : context.signal;
  const unpaid = { request, decision, terms, run: context.run, startedAt, signal, clock, now };
  return reserve(unpaid, funding, named?.claim ?? null);
}
