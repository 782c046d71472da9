import type { ModelSettings } from '../../core/conversation.ts';
import { idText } from '../../core/id.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { Endpoint, Provider } from '../../core/snapshot.ts';
import { isPlausible, type Usage } from '../../core/usage.ts';
import type { AttemptRecord } from '../../records/record.ts';
import type { SpanAttributes, SpanResult } from '../../telemetry/trace.ts';
import { type Endpointed, placeOf } from './genai-provider.ts';
import { type Judged, type Observation, type Settled, selectorOf } from './observation.ts';

/** What is told of one call to one endpoint. */
export interface CallSeen {
  readonly provider: Provider;
  readonly endpoint: Endpoint;
  /** Only its figures are read. */
  readonly request: ModelRequest;
  /** Output tokens of one choice at most, as sent. */
  readonly outputCap: number;
  readonly attempt: AttemptRecord;
  /** As the provider reported it; null where it said nothing. */
  readonly usage: Usage | null;
}

/** Methods by their registered names. Any other is a caller's own word. */
const METHODS: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'QUERY',
  'TRACE',
]);
const OTHER = 'other';

/** The span of a whole request, with names and figures only. */
export function requestSpan(seen: Observation): SpanResult {
  const { status, settled, judged } = seen;
  const isKnown = METHODS.has(seen.method);
  const route = seen.route === OTHER ? undefined : seen.route;
  const error = errorOf(seen);
  return {
    name: `${isKnown ? seen.method : 'HTTP'}${route === undefined ? '' : ` ${route}`}`,
    attributes: {
      'http.request.method': isKnown ? seen.method : '_OTHER',
      'http.route': route,
      'http.response.status_code': status === 0 ? undefined : status,
      'url.scheme': 'http',
      'error.type': error ?? undefined,
      'signalbox.request_id': idText('req_', seen.id),
      'signalbox.key_id': seen.keyId ?? undefined,
      'signalbox.error_code': seen.code ?? undefined,
      'signalbox.decision_id': seen.decisionId ?? undefined,
      'signalbox.stream': seen.isStream || undefined,
      'signalbox.replayed': seen.isReplayed || undefined,
      ...(judged && judgedAttributes(judged)),
      ...(settled && settledAttributes(settled)),
    },
    error,
  };
}

/** By OpenTelemetry's rules a server is not at fault for what its callers do wrong. A stream that broke has its 200 all the same. */
function errorOf({ status, code, settled }: Observation): string | null {
  if (settled) {
    const { status: outcome, error } = settled.outcome;
    if (outcome === 'failed' || outcome === 'broken') return error ?? outcome;
    if (outcome === 'abandoned' && error !== null) return error;
  }
  return status >= 500 ? (code ?? String(status)) : null;
}

function judgedAttributes(judged: Judged): SpanAttributes {
  const { facts, snapshot } = judged;
  const { constraints } = facts.rules;
  return {
    'signalbox.operation': facts.operation,
    'signalbox.selector': selectorOf(judged),
    'signalbox.task': facts.task,
    'signalbox.policy_revision': snapshot.revision,
    'signalbox.constraints':
      constraints.length === 0 ? undefined : constraints.map((at) => snapshot.constraints[at]?.name ?? ''),
  };
}

function settledAttributes({ outcome, platform }: Settled): SpanAttributes {
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

/** The span of one call upstream, by the conventions for generative AI. */
export function callSpan({ provider, endpoint, request, outputCap, attempt, usage }: CallSeen): SpanResult {
  const { name, address, port }: Endpointed = placeOf(provider);
  const { upstream } = endpoint;
  const isStream = request.stream;
  const reasons = attempt.finishReasons;
  return {
    name: `chat ${upstream}`,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': name,
      'gen_ai.request.model': upstream,
      'server.address': address,
      'server.port': port,
      'error.type': attempt.failure ?? undefined,
      'gen_ai.request.max_tokens': outputCap,
      'gen_ai.request.stream': isStream || undefined,
      ...requestedAttributes(request.settings),
      // What came of no answer is empty, and not to be read as one.
      'gen_ai.response.finish_reasons': reasons.length === 0 ? undefined : Array.from(reasons, (one) => one || OTHER),
      'gen_ai.response.time_to_first_chunk': isStream ? secondsOf(attempt.firstPartMs) : undefined,
      ...(usage && isPlausible(usage) && usageAttributes(usage)),
      'signalbox.provider': provider.name,
      'signalbox.model': attempt.model,
      'signalbox.provider_request_id': attempt.requestId ?? undefined,
    },
    error: attempt.failure,
  };
}

/** Figures that the caller set. Not what is said, nor words by which others could be told apart: stop sequences, `user`, tools. */
function requestedAttributes(settings: ModelSettings): SpanAttributes {
  const { seed, choices, answerFormat: format } = settings;
  return {
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.frequency_penalty': settings.frequencyPenalty,
    'gen_ai.request.presence_penalty': settings.presencePenalty,
    // Beyond these it is no 64-bit integer, which is what traces have.
    'gen_ai.request.seed': Number.isSafeInteger(seed) ? seed : undefined,
    'gen_ai.request.choice.count': choices !== undefined && choices > 1 ? choices : undefined,
    'gen_ai.output.type': format && (format.type === 'text' ? 'text' : 'json'),
  };
}

function usageAttributes(usage: Usage): SpanAttributes {
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  };
}

const secondsOf = (ms: number | null): number | undefined => (ms === null ? undefined : ms / 1_000);
