import { idText } from '../core/id.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { withoutDroppedTools } from '../routing/dropped-tools.ts';
import { runtimeFor } from '../runtime/wildcard-runtime.ts';
import type { AnswerSource, RunningAnswer } from '../exchange/answer-source.ts';
import { withBoundedTools } from './bounded-tools.ts';
import { decideRequest } from './decide.ts';
import { checkServing } from './drain.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { Funding } from '../money/funding.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';
import { type RequestClaim, reserve } from '../money/reserve.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';

/** A request as its surface has read it. */
export interface PipelineCall {
  readonly request: ModelRequest;
  readonly context: RequestContext;
}

/** The ends of the pipeline: a surface, and the transport of its requests and answers. */
export interface PipelineEdge<Answer> {
  /** @throws SignalboxError for the field at fault */
  read(): ModelRequest;
  /** Finds who pays: at once where no signature is to be checked. @throws SignalboxError */
  fund(call: PipelineCall): Funding | Promise<Funding>;
  /**
   * Claims the name by which repeats of the request are recognized.
   * @returns null for a request without a name
   * @throws SignalboxError while a request of that name runs, or where its answer cannot be given again
   */
  claim(call: PipelineCall, funding: Funding): Promise<NamedRun | RepeatedAnswer<Answer>> | null;
  /** Writes an answer in the dialect of the surface. @throws SignalboxError of an answer that failed before its headers */
  write(source: AnswerSource, answer: RunningAnswer): Promise<Answer>;
}

/** The answer to an earlier request of the same name. */
export interface RepeatedAnswer<Answer> {
  readonly kind: 'stored';
  readonly answer: Answer;
}

/** A request that is carried out once for its name. */
export interface NamedRun {
  readonly kind: 'run';
  readonly claim: RequestClaim;
  /** Whether it goes on after its caller has left. */
  readonly toTheEnd: boolean;
  /** Gives the name back, where the request ends before its exchange. */
  drop(): Promise<void>;
  /** Returns the source that stores the answer as it is read. */
  keep(answer: RunningAnswer): AnswerSource;
}

/**
 * The pipeline of a request for a model. `http/admission.ts` has admitted it before its body arrived, and noted so in the context.
 * `recommend` takes the same steps up to decide.
 * @throws SignalboxError, and then nothing is held
 */
export async function serveRequest<Answer>(
  gateway: Gateway,
  context: RequestContext,
  edge: PipelineEdge<Answer>,
): Promise<Answer> {
  const call = { context, request: edge.read() };
  // Steps that need not wait go on in the same turn of the event loop.
  const found = edge.fund(call);
  const funding = found instanceof Promise ? await found : found;
  const claim = edge.claim(call, funding);
  const named = claim && (await claim);
  if (named?.kind === 'stored') return named.answer;
  let running: RunningAnswer;
  try {
    running = await carryOut(gateway, call, funding, named);
  } catch (cause) {
    await named?.drop();
    throw cause;
  }
  // (guards on the answer: each wraps `running`)
  const source = named ? named.keep(running) : running;
  abandonWithCaller(context, running, source, named?.toTheEnd ?? false);
  return await edge.write(source, running);
}

/** Takes the steps between read and write. Where a payment would mend an error, the error says how to pay. */
async function carryOut(
  gateway: Gateway,
  { request, context }: PipelineCall,
  funding: Funding,
  named: NamedRun | null,
): Promise<RunningAnswer> {
  checkServing(gateway);
  try {
    const given = funding.terms();
    const terms = { ...given, runtime: runtimeFor(given.runtime, request.model) };
    context.step('pin');
    const { clock } = gateway;
    const startedAt = clock();
    const { runtime, caller } = terms;
    const { gateway: policy } = runtime.snapshot;
    const { request: kept, dropped } = withoutDroppedTools(request, policy);
    const bounded = withBoundedTools(kept, policy);
    // (guards on the request)
    // (cache)
    const deciding = decideRequest(gateway, bounded, terms, true, context);
    const { decision, history, features } = deciding instanceof Promise ? await deciding : deciding;
    const runnable: RunnableRequest = {
      request: bounded,
      dropped,
      context,
      terms,
      runtime,
      caller,
      clock,
      startedAt,
      decision,
      history,
      features,
    };
    const reservedAt = clock();
    const funded = await reserve(gateway, runnable, funding, named);
    // Only from here on the decision is kept, and can be looked up.
    context.decisionId = idText('dec_', decision.id);
    // A chain takes seconds, which are not the gateway's own.
    if (funded.isSettledPayment) context.startedAt += clock() - reservedAt;
    const exchange = new Exchange(gateway, runnable, funded);
    context.attach(exchange);
    return exchange;
  } catch (cause) {
    // Harmless where none was begun.
    context.endWork(0);
    throw await funding.mend(cause);
  }
}

/** Ends an answer when its caller leaves. A named one that goes on to its end only loses its reader. */
function abandonWithCaller(
  { signal }: RequestContext,
  running: RunningAnswer,
  source: AnswerSource,
  toTheEnd: boolean,
): void {
  const leave = () => {
    if (!toTheEnd) running.abandon('caller-gone');
    if (source !== running) source.abandon('caller-gone');
  };
  signal.addEventListener('abort', leave);
  // The caller may have left while the money was set aside: that event is over.
  if (signal.aborted) leave();
}
