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

/** A request that its surface has parsed, with its payer and the name by which repeats of the request are recognized. */
interface FundedRequest {
  readonly request: ModelRequest;
  readonly context: RequestContext;
  readonly funding: Funding;
  /** The name of the request; null if it has none. */
  readonly named: NamedRequest | null;
}

/** The name of a request. Requests with the same name are carried out once. */
export interface NamedRequest {
  readonly claim: RequestClaim;
  /** Whether the request continues after its caller has disconnected. */
  readonly toTheEnd: boolean;
}

/**
 * Carries out a request up to its exchange. The exchange does the steps from dispatch on. `http/admission.ts` admitted the request before
 * the body arrived, and noted the admission in the context. `recommend` takes the same steps up to the step "decide". If a payment would
 * fix an error, the error says how to pay.
 * @throws SignalboxError; after this error no money is held
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
      // The decision used figures of funds that may be a second old, but the books refused the hold with current figures, so the request is
      // decided once more.
      runnable = await decideFunded(gateway, funded);
      context.step('reserve');
      hold = await reserveFor(gateway, runnable, funded);
    }
    // The decision is stored only from here on, so callers can look it up only now.
    context.decisionId = idText('dec_', runnable.decision.id);
    // A payment on a blockchain takes seconds, which do not count as the gateway's own time.
    if (hold.isSettledPayment) context.startedAt += clock() - reservedAt;
    const exchange = new Exchange(gateway, runnable, hold, new AnswerRecorder(gateway, runnable, context));
    context.attach(exchange);
    return exchange;
  } catch (cause) {
    // `endWork` does nothing if no work has begun.
    context.endWork(0);
    throw await funding.mend(cause);
  }
}

/** Runs the steps from pin to decide. A step that does not need to wait runs in the same turn of the event loop. */
function decideFunded(
  gateway: Gateway,
  { request: given, context, funding }: FundedRequest,
): RunnableRequest | Promise<RunnableRequest> {
  const leased = funding.terms();
  const { clock } = gateway;
  const startedAt = clock();
  const { request, dropped, runtime } = pinRequest(given, leased.runtime, context);
  const terms = runtime === leased.runtime ? leased : { ...leased, runtime };
  // If Signalbox had a cache of answers, the cache would be read here.
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
 * Begins the step "reserve". From here on a shutdown waits for the request, until its work has ended.
 * @returns a promise if limits are checked in the store
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
  // Deciding, and limits that the store counts, may have taken time, during which a shutdown may have begun.
  if (isDraining) throw shuttingDown();
  context.enterFlight(inFlight);
}

function reserveFor(
  { clock, now }: Gateway,
  { request, decision, terms, startedAt }: RunnableRequest,
  { context, funding, named }: FundedRequest,
): Promise<FundedHold> {
  // A named request keeps waiting for money even if its caller disconnects.
  const signal = named?.toTheEnd ? undefined : context.signal;
  const unpaid = { request, decision, terms, run: context.run, startedAt, signal, clock, now };
  return reserve(unpaid, funding, named?.claim ?? null);
}
