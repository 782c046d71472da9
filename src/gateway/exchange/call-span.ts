import type { AttemptRecord } from '../../core/decision/attempt.ts';
import { figureOf, isPlausible, type Usage } from '../../core/money/usage.ts';
import type { Endpoint, Provider } from '../../core/policy/snapshot.ts';
import type { ModelSettings } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { SpanAttributes, SpanResult } from '../../host/telemetry/trace.ts';
import { type ProviderAddress, providerAddressOf } from './provider-address.ts';

/** The facts about a call to an endpoint that the span of the call shows. */
export interface CallFacts {
  readonly provider: Provider;
  readonly endpoint: Endpoint;
  /** The request of the call, of which the span reads only the figures, not the text. */
  readonly request: ModelRequest;
  /** The most output tokens of one choice, as sent to the provider. */
  readonly outputCap: number;
  readonly attempt: AttemptRecord;
  /** The usage that the provider reported; null for none. */
  readonly usage: Usage | null;
}

const OTHER = 'other';

/** Makes the span of one upstream call, following OpenTelemetry's conventions for generative AI. */
export function callSpan({ provider, endpoint, request, outputCap, attempt, usage }: CallFacts): SpanResult {
  const { name, address, port }: ProviderAddress = providerAddressOf(provider);
  const { upstream } = endpoint;
  const isStream = request.stream;
  const reasons = attempt.finishReasons;
  return {
    name: `${request.operation} ${upstream}`,
    attributes: {
      'gen_ai.operation.name': request.operation,
      'gen_ai.provider.name': name,
      'gen_ai.request.model': upstream,
      'server.address': address,
      'server.port': port,
      'error.type': attempt.failure ?? undefined,
      'gen_ai.request.max_tokens': outputCap,
      'gen_ai.request.stream': isStream || undefined,
      ...requestedAttributes(request.settings),
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

/** Returns the figures that the caller set, without the text of the request: no stop sequences, `user` or tools. */
function requestedAttributes(settings: ModelSettings): SpanAttributes {
  const { seed, choices, answerFormat: format } = settings;
  return {
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.frequency_penalty': settings.frequencyPenalty,
    'gen_ai.request.presence_penalty': settings.presencePenalty,
    // Traces support only 64-bit integers.
    'gen_ai.request.seed': Number.isSafeInteger(seed) ? seed : undefined,
    'gen_ai.request.choice.count': choices !== undefined && choices > 1 ? choices : undefined,
    'gen_ai.output.type': format && (format.type === 'text' ? 'text' : 'json'),
  };
}

function usageAttributes(usage: Usage): SpanAttributes {
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': figureOf(usage, 'cache_read'),
    'gen_ai.usage.cache_write.input_tokens': figureOf(usage, 'cache_write'),
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  };
}

const secondsOf = (ms: number | null): number | undefined => (ms === null ? undefined : ms / 1_000);
