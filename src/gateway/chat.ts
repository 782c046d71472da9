import type { StreamPart } from '../contract/parts.ts';
import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import { idText } from '../core/id.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Order } from '../ledger/ledger.ts';
import { recordContent } from '../records/contents.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { PromptHistory } from './affinity.ts';
import { decideChat } from './decide-chat.ts';
import { decisionWrites } from './decision-record.ts';
import { drainingError } from './drain.ts';
import { Exchange } from './exchange.ts';
import type { FailedAttempt } from './failure.ts';
import type { FundedHold, Funding, FundingTerms } from './funding.ts';
import type { Gateway } from './gateway.ts';
import { blameForRetry, lessonOf, noteAsked } from './lesson.ts';
import type { RequestContext } from './request-context.ts';
import { expectedTokens, usedTokens } from './ticket.ts';
import { wordsForLog } from './words.ts';

/** The claim of a request on its name, which is stored before a provider is called. */
export interface RequestClaim {
  /**
   * Stores the claim. Called before money is set aside, so that one commit carries both.
   * @param decision the decision's ID
   * @throws StoreError
   */
  begin(decision: number): Promise<void>;
}

/** A chat request on its way. */
export interface ChatCall {
  readonly request: ModelRequest;
  readonly context: RequestContext;
}

/** How a request is carried out. */
export interface ExecutionOptions {
  readonly claim?: RequestClaim | null;
  /** Whether it goes on after its caller has left. */
  readonly toTheEnd?: boolean;
}

/**
 * Steps 2 to 6 of a chat request: pins the runtime, decides, reserves. The exchange that comes back
 * is paid for and not yet begun; whoever asked for it must open it, and read it to its end or
 * abandon it. Throws SignalboxError, and then nothing is held; where a payment would mend it, the error says how to pay.
 */
export async function beginChat(
  gateway: Gateway,
  call: ChatCall,
  funding: Funding,
  options: ExecutionOptions = {},
): Promise<Exchange> {
  if (gateway.draining()) throw drainingError();
  try {
    return await begin(gateway, call, funding, options);
  } catch (cause) {
    throw await funding.mend(cause);
  }
}

async function begin(
  gateway: Gateway,
  { request, context }: ChatCall,
  funding: Funding,
  { claim = null, toTheEnd = false }: ExecutionOptions,
): Promise<Exchange> {
  const signal = toTheEnd ? undefined : context.signal;
  const terms = funding.terms();
  context.step('pin');
  const startedAt = gateway.clock();
  const { runtime, caller } = terms;
  const { history, decision, features } = await decideChat(gateway, request, terms, true, context);
  context.startedAt = startedAt;
  context.step('reserve');
  // It may have taken a while.
  if (gateway.draining()) throw drainingError();
  context.beginWork(request.stream, expectedTokens(decision, runtime.snapshot));
  // Before money is waited for, so that a shutdown waits, too.
  context.enterFlight(gateway.inFlight);
  let funded: FundedHold;
  const reservedAt = gateway.clock();
  try {
    const begun = claim?.begin(decision.id) ?? null;
    // Looked at when there is money.
    begun?.catch(() => {});
    funded = await funding.reserve(orderOf(gateway, decision, terms, startedAt, signal), begun);
  } catch (cause) {
    context.endWork(0);
    throw cause;
  }
  // Before this nothing of it is kept, and nobody could look it up.
  context.decisionId = idText('dec_', decision.id);
  // A chain takes seconds, which are not the gateway's own.
  if (funded.isSettledPayment) context.startedAt += gateway.clock() - reservedAt;
  const paid = { runtime, request, history, caller, decision, features, funded, startedAt, context };
  noteAsked(gateway, paid);
  blameForRetry(gateway, paid);
  const exchange = exchangeOf(gateway, paid);
  context.attach(exchange);
  return exchange;
}

/** An exchange ends at its deadline; a hold that is open so much later was forgotten, ms. */
const EXPIRY_SLACK_MS = 60_000;

/** What is to be set aside: the worst case, so that it suffices or is raised, whoever answers. */
function orderOf(
  { clock, now }: Gateway,
  { id, facts, ranked }: Decision,
  { caller, payer, agentWallet, runtime }: FundingTerms,
  startedAt: number,
  signal: AbortSignal | undefined,
): Order {
  const { models, ledger: terms } = runtime.snapshot;
  const [choice, ...fallbacks] = ranked;
  const leftMs = models[choice.model]!.deadlines.totalMs - (clock() - startedAt);
  return {
    id,
    caller,
    selector: facts.model,
    agentWallet,
    payer,
    amounts: [choice.bound, ...fallbacks.map(({ bound }) => bound)],
    limit: facts.budget,
    // Who waited must still have time for the answer.
    waitMs: Math.min(terms.contentionWaitMs, leftMs - choice.latencyMs),
    signal,
    expiresAt: now() + leftMs + EXPIRY_SLACK_MS,
  };
}

/** A request that is paid for. */
interface Paid {
  readonly runtime: Runtime;
  readonly request: ModelRequest;
  readonly history: PromptHistory;
  readonly caller: Caller;
  readonly decision: Decision;
  readonly features: Uint8Array | null;
  readonly funded: FundedHold;
  readonly startedAt: number;
  readonly context: RequestContext;
}

/** The exchange of a request, with what is to be told and written down of it. */
function exchangeOf(gateway: Gateway, paid: Paid): Exchange {
  const { runtime, request, history, caller, decision, funded, startedAt, context } = paid;
  const lesson = lessonOf(gateway, paid);
  const { snapshot } = runtime;
  let tokens = 0;
  const answerBytes = gateway.answers.hold(caller.keyId);
  const listener = recordContent(snapshot.content, request, caller);
  return new Exchange({
    runtime,
    request,
    history,
    decision,
    hold: funded.hold,
    funded,
    answerBytes,
    seen: context,
    clock: gateway.clock,
    now: gateway.now,
    startedAt,
    created: Math.floor(gateway.now() / 1000),
    onSettle: (outcome, platform) => {
      tokens = usedTokens(outcome.usage, platform.routed_model, decision, snapshot);
      context.result = { outcome, platform };
      const writes = decisionWrites(gateway, 'chat', decision, caller, snapshot, outcome);
      if (lesson) writes.push(...lesson.settled(outcome, platform));
      if (listener) writes.push(...listener.writes(decision.id, gateway.now()));
      writes.push(...funded.settlementWrites(outcome.charged));
      return writes;
    },
    onParts: hearers(listener?.add.bind(listener), lesson?.hear),
    onFailure: (attempt) => logFailure(gateway, decision, attempt, request),
    written: () => gateway.ledger.written(),
    onEnd: () => {
      answerBytes.leave();
      context.endWork(tokens);
    },
  });
}

type Hear = (parts: readonly StreamPart[]) => void;

/** Whoever listens to an answer, as one; none where nobody does. */
function hearers(one: Hear | undefined, other: Hear | undefined): Hear | undefined {
  if (!one || !other) return one ?? other;
  return (parts) => {
    one(parts);
    other(parts);
  };
}

/** An operator needs the status and the words of the upstream. What it means for the endpoint is told by its health. */
function logFailure({ log }: Gateway, decision: Decision, attempt: FailedAttempt, request: ModelRequest): void {
  const { model, provider, failure, requestId } = attempt;
  log.warn('an attempt failed', {
    decision: idText('dec_', decision.id),
    provider,
    model,
    kind: failure.kind,
    status: failure.status,
    upstream_request_id: requestId ?? undefined,
    upstream_message: wordsForLog(attempt, request),
  });
}
