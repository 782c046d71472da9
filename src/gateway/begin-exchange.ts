import type { StreamPart } from '../contract/parts.ts';
import type { Decision } from '../core/decision.ts';
import type { DecisionOutcome } from '../core/decision-record.ts';
import { idText } from '../core/id.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { Usage } from '../core/usage.ts';
import { recordContent } from '../records/contents.ts';
import type { DecidedRequest } from './decide-thread.ts';
import { recordDecision, recordedOf } from './decision-record.ts';
import { Exchange } from './exchange.ts';
import { type FailedAttempt, failureText } from './failure.ts';
import type { FundedHold, FundingTerms } from './funding.ts';
import type { Gateway } from './gateway.ts';
import { learnFromAnswer, noteRequest, observeRetry } from './learn-from-answer.ts';
import type { RequestContext } from './request-context.ts';
import { AnswerId } from './threads.ts';
import { loggableMessage } from './upstream-message.ts';

/** A decided request with its money set aside. */
export interface FundedRequest extends DecidedRequest {
  readonly request: ModelRequest;
  /** Paths of fields that the policy took out of it. */
  readonly dropped: readonly string[];
  readonly context: RequestContext;
  readonly terms: FundingTerms;
  readonly funded: FundedHold;
  /** When its decision began, ms on the gateway's clock. */
  readonly startedAt: number;
}

/** Makes the exchange of a request, which writes its record, teaches the estimator and ends the request's work. */
export function beginExchange(gateway: Gateway, funded: FundedRequest): Exchange {
  const { request, context, terms, decision, features } = funded;
  const { runtime, caller } = terms;
  const learnable = { runtime, request, caller, decision, features };
  if (request.operation === 'chat') noteChat(gateway, learnable);
  const exchange = exchangeOf(gateway, funded, learnFromAnswer(gateway, learnable));
  context.attach(exchange);
  return exchange;
}

function noteChat(gateway: Gateway, learnable: Parameters<typeof observeRetry>[1]): void {
  noteRequest(gateway, learnable);
  observeRetry(gateway, learnable);
}

function exchangeOf(gateway: Gateway, of: FundedRequest, learning: ReturnType<typeof learnFromAnswer>): Exchange {
  const { request, dropped, context, terms, history, decision, funded, startedAt } = of;
  const { runtime, caller } = terms;
  const { snapshot } = runtime;
  let tokens = 0;
  const answerBytes = gateway.answers.hold(caller.keyId);
  const answerId = request.conversation.thread ? new AnswerId() : null;
  const content = recordContent(gateway.records.contents, snapshot.content, request, decision.facts.model, caller);
  return new Exchange({
    runtime,
    request,
    dropped,
    history,
    decision,
    funded,
    answerBytes,
    requestContext: context,
    clock: gateway.clock,
    now: gateway.now,
    startedAt,
    created: Math.floor(gateway.now() / 1000),
    onSettle: (outcome, platform) => {
      if (answerId) noteThread(gateway, of, answerId.value, outcome);
      tokens = usedTokens(outcome.usage, platform.routed_model, decision, snapshot);
      context.result = { outcome, platform };
      const recorded = recordedOf(request, caller, snapshot, context.run);
      const writes = [...recordDecision(gateway, request.operation, decision, recorded, snapshot, outcome)];
      if (learning) writes.push(...learning.settlementWrites(outcome, platform));
      if (content) writes.push(...content.writes(decision.id, gateway.now()));
      writes.push(...funded.settlementWrites(outcome.charged));
      return writes;
    },
    onParts: both(both(content?.add.bind(content), learning?.hear), answerId?.hear),
    onFailure: (attempt) => logFailure(gateway, decision, attempt, request),
    written: () => gateway.ledger.written(),
    onEnd: () => {
      answerBytes.leave();
      context.endWork(tokens);
    },
  });
}

/** Remembers a whole answer, from which its thread may go on. */
function noteThread(
  { affinity }: Gateway,
  { terms: { caller, runtime }, decision: { facts } }: FundedRequest,
  id: string | null,
  { status, attempts, usage }: DecisionOutcome,
): void {
  const attempt = attempts.at(-1);
  if (status !== 'completed' || id === null || !attempt || !usage) return;
  affinity.threads.note(caller.keyId, { id, attempt, usage, facts }, runtime);
}

type PartsListener = (parts: readonly StreamPart[]) => void;

/** Joins two listeners; undefined for none. */
function both(one: PartsListener | undefined, other: PartsListener | undefined): PartsListener | undefined {
  if (!one || !other) return one ?? other;
  return (parts) => {
    one(parts);
    other(parts);
  };
}

/**
 * The tokens of the usage that is charged. An upstream's absurd figure is cut at what its model can
 * take, so that it does not shut the caller out for years.
 */
function usedTokens(usage: Usage | null, answeredBy: string, { facts }: Decision, snapshot: PolicySnapshot): number {
  if (!usage) return 0;
  const { contextWindow } = snapshot.models[snapshot.modelIndex.get(answeredBy)!]!;
  return Math.min(usage.inputTokens + usage.outputTokens, contextWindow * (facts.embedding?.inputs ?? facts.choices));
}

/** Logs the status and message of the upstream for operators. Health reports the effect on the endpoint. */
function logFailure({ log }: Gateway, decision: Decision, attempt: FailedAttempt, request: ModelRequest): void {
  const { model, provider, upstream, failure, requestId } = attempt;
  log.warn('an attempt failed', {
    decision: idText('dec_', decision.id),
    provider,
    model,
    upstream,
    kind: failure.kind,
    detail: failureText(attempt, upstream),
    status: failure.status,
    upstream_request_id: requestId ?? undefined,
    upstream_message: loggableMessage(attempt, request),
  });
}
