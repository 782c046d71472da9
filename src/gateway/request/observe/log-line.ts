import type { DecisionOutcome } from '../../../core/decision/outcome.ts';
import type { GuardVerdict } from '../../../core/decision/verdict.ts';
import type { Operation } from '../../../core/kinds/operations.ts';
import { figureOf } from '../../../core/money/usage.ts';
import { buildOf } from '../../../core/policy/build.ts';
import type { Log, LogFields } from '../../../host/telemetry/log.ts';
import type { ExchangeResult } from '../../exchange/exchange-facts.ts';
import type { RequestContext } from '../request-context.ts';
import { selectorOf } from '../request-facts.ts';
import type { RequestReporter } from './observer.ts';
import { isTurnedAway, strangersLimit } from './strangers.ts';

interface RequestLine {
  readonly level: 'info' | 'warn';
  readonly message: Operation | 'request';
  readonly fields: LogFields;
}

/**
 * Makes the log line of a request that has ended. It has names and figures only. Of the caller's text it has only the names of the session
 * and the agent, whose length is bounded.
 * @param now ms on the gateway's clock
 * @param suppressed how many similar requests before this one have no line
 */
export function requestLine(request: RequestContext, now: number, suppressed?: number): RequestLine {
  const message = request.operation ?? 'request';
  const fields = request.hasWork ? workFields(request, now, suppressed) : plainFields(request, now, suppressed);
  return { level: levelOf(request), message, fields };
}

/** The fields of a request that can do no work for a model: the fields of other requests that it can have, in the same order. */
function plainFields(request: RequestContext, now: number, suppressed: number | undefined): LogFields {
  const { trace, client, answer } = request;
  return {
    request: request.requestId,
    trace: trace?.isSampled ? trace.traceId : undefined,
    key: keyOf(request),
    denied: client.denied?.reason,
    sent_by: client.sentBy ?? undefined,
    method: request.method,
    route: request.route,
    status: answer.status === 0 ? undefined : answer.status,
    error: answer.code ?? undefined,
    total_ms: Math.round(now - request.at),
    suppressed,
  };
}

/** A command that arrives through the socket of the data folder has no key. */
const keyOf = ({ keyId, client: { denied } }: RequestContext): string | undefined =>
  keyId || denied?.caller.keyId || undefined;

function workFields(request: RequestContext, now: number, suppressed: number | undefined): LogFields {
  const { trace, operation } = request;
  const { routing } = request.work;
  const { result } = request.exchange;
  const { status } = request.answer;
  const facts = routing?.facts;
  const { outcome, platform }: Partial<ExchangeResult> = result ?? {};
  const usage = outcome?.usage;
  return {
    request: request.requestId,
    trace: trace?.isSampled ? trace.traceId : undefined,
    key: keyOf(request),
    denied: request.client.denied?.reason,
    sent_by: request.client.sentBy ?? undefined,
    method: operation === null ? request.method : undefined,
    route: operation === null ? request.route : undefined,
    status: status === 0 ? undefined : status,
    error: request.answer.code ?? outcome?.error ?? undefined,
    decision: request.decisionId ?? undefined,
    operation: facts?.operation,
    selector: routing ? selectorOf(routing) : undefined,
    alias: facts?.alias ?? undefined,
    session: request.work.run.session ?? undefined,
    agent: request.work.run.agent ?? undefined,
    stream: request.answer.isStream || undefined,
    task: facts?.task,
    model: platform?.routed_model ?? facts?.named?.[0],
    endpoint: result ? endpointOf(result) : undefined,
    // `key` is the caller's key.
    endpoint_key: outcome?.attempts.at(-1)?.key,
    reason: platform?.route_reason,
    escalation: facts?.escalation?.signal,
    escalation_withheld: facts?.unescalated?.signal,
    attempts: outcome?.attempts.length,
    failures: outcome && failuresOf(outcome),
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    cached_tokens: (usage && figureOf(usage, 'cache_read')) || undefined,
    reasoning_tokens: usage?.reasoningTokens || undefined,
    credits: platform?.credits_consumed,
    saved_credits: platform?.cost_saved_credits,
    output_capped_by: platform?.output_capped_by,
    usage_replaced: platform?.usage_replaced,
    adapted: platform?.adapted?.join(','),
    cache: request.work.cache?.result,
    guards: request.work.guards ? guardsText(request.work.guards.verdicts.all) : undefined,
    payment: platform?.payment?.id ?? undefined,
    ttft_ms: outcome?.firstPartMs ?? undefined,
    total_ms: outcome?.totalMs ?? Math.round(now - request.at),
    outcome: outcome?.status ?? (operation === null ? undefined : outcomeOf(request)),
    revision: platform?.policy_revision ?? (routing ? buildOf(routing.snapshot) : undefined),
    suppressed,
  };
}

/** Returns the outcome of a chat without an exchange. A refused chat has an error instead. */
function outcomeOf({ answer: { isReplayed, isMissing } }: RequestContext): 'replayed' | 'abandoned' | undefined {
  if (isReplayed) return 'replayed';
  return isMissing ? 'abandoned' : undefined;
}

/** Failures of the gateway or of an upstream are warnings; mistakes of callers are not. */
function levelOf({ answer: { status }, exchange: { result } }: RequestContext): 'info' | 'warn' {
  const ended = result?.outcome.status;
  return status >= 500 || ended === 'failed' || ended === 'broken' ? 'warn' : 'info';
}

/** Whether a request has no log line. This holds for successful requests on open routes, such as health checks. */
const isSilent = ({ route, answer: { status }, operation }: RequestContext): boolean =>
  status < 500 && operation === null && route !== 'other' && !route.startsWith('/v1/') && !route.startsWith('/admin/');

/** @returns `provider/upstream` of the last attempt */
function endpointOf({ outcome: { attempts } }: ExchangeResult): string | undefined {
  const last = attempts[attempts.length - 1];
  return last && `${last.provider}/${last.upstream}`;
}

/** @returns `provider/model:kind` for each failed attempt, separated by spaces; undefined for none */
function failuresOf({ attempts }: DecisionOutcome): string | undefined {
  let words: string | undefined;
  for (const { provider, model, failure } of attempts) {
    if (failure === null) continue;
    const word = `${provider}/${model}:${failure}`;
    words = words === undefined ? word : `${words} ${word}`;
  }
  return words;
}

/** @returns `guard/side:action=matches` for each verdict, separated by spaces; undefined for none */
function guardsText(verdicts: readonly GuardVerdict[]): string | undefined {
  if (verdicts.length === 0) return undefined;
  const words = verdicts.map(({ guard, side, action, matches, failed, unreadable }) => {
    const count = Object.values(matches).reduce((sum, one) => sum + one, 0);
    return `${guard}/${side}:${action}=${failed ? 'failed' : (unreadable ?? count)}`;
  });
  return words.join(' ');
}

/** Returns a reporter that writes one line for each request. */
export function logRequests(log: Log): RequestReporter {
  const strangers = strangersLimit();
  return (request, now) => {
    if (isSilent(request)) return;
    let suppressed: number | undefined;
    if (request.caller === null && isTurnedAway(request)) {
      const before = strangers(now);
      if (before === null) return;
      suppressed = before || undefined;
    }
    const { level, message, fields } = requestLine(request, now, suppressed);
    log[level](message, fields);
  };
}
