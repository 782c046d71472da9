import { buildOf } from '../../../core/policy/build.ts';
import type { SpanAttributes, SpanResult } from '../../../host/telemetry/trace.ts';
import type { ExchangeResult } from '../../exchange/exchange-facts.ts';
import type { RequestContext } from '../request-context.ts';
import { type RoutingAttempt, selectorOf } from '../request-facts.ts';

/** The registered HTTP methods. Any other method is text that the caller chose, and is not reported. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE']);
const OTHER = 'other';

/** Makes the span of a whole request, with names and figures only. */
export function requestSpan(request: RequestContext): SpanResult {
  const { status } = request.answer;
  const { result } = request.exchange;
  const { routing } = request.work;
  const isKnown = METHODS.has(request.method);
  const route = request.route === OTHER ? undefined : request.route;
  const error = errorOf(request);
  return {
    name: `${isKnown ? request.method : 'HTTP'}${route === undefined ? '' : ` ${route}`}`,
    attributes: {
      'http.request.method': isKnown ? request.method : '_OTHER',
      'http.route': route,
      'http.response.status_code': status === 0 ? undefined : status,
      'url.scheme': 'http',
      'error.type': error ?? undefined,
      'signalbox.request_id': request.requestId,
      'signalbox.key_id': request.keyId ?? undefined,
      'signalbox.error_code': request.answer.code ?? undefined,
      'signalbox.decision_id': request.decisionId ?? undefined,
      'signalbox.stream': request.answer.isStream || undefined,
      'signalbox.replayed': request.answer.isReplayed || undefined,
      ...(routing && routingAttributes(routing)),
      ...(result && resultAttributes(result)),
    },
    error,
  };
}

/**
 * By OpenTelemetry's rules, a mistake of the caller is not an error of the server. A broken stream is an error of the server although its
 * status is 200.
 */
function errorOf({ answer: { status, code }, exchange: { result } }: RequestContext): string | null {
  if (result) {
    const { status: outcome, error } = result.outcome;
    if (outcome === 'failed' || outcome === 'broken') return error ?? outcome;
    if (outcome === 'abandoned' && error !== null) return error;
  }
  return status >= 500 ? (code ?? String(status)) : null;
}

function routingAttributes(attempt: RoutingAttempt): SpanAttributes {
  const { facts, snapshot } = attempt;
  const { constraints } = facts.rules;
  return {
    'signalbox.operation': facts.operation,
    'signalbox.selector': selectorOf(attempt),
    'signalbox.task': facts.task,
    'signalbox.policy_revision': buildOf(snapshot),
    'signalbox.constraints':
      constraints.length === 0 ? undefined : constraints.map((at) => snapshot.constraints[at]?.name ?? ''),
  };
}

function resultAttributes({ outcome, platform }: ExchangeResult): SpanAttributes {
  const { usage, firstPartMs } = outcome;
  return {
    'signalbox.outcome': outcome.status,
    'signalbox.model': platform.routed_model,
    'signalbox.route_reason': platform.route_reason,
    'signalbox.attempts': outcome.attempts.length,
    'signalbox.credits': platform.credits_consumed,
    'signalbox.saved_credits': platform.cost_saved_credits,
    'signalbox.input_tokens': usage?.inputTokens,
    'signalbox.output_tokens': usage?.outputTokens,
    'signalbox.estimated': platform.estimated,
    'signalbox.time_to_first_part': secondsOf(firstPartMs),
  };
}

const secondsOf = (ms: number | null): number | undefined => (ms === null ? undefined : ms / 1_000);
