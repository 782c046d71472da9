import type { SpanContext } from '@opentelemetry/api';
import { parseTraceParent, TraceState } from '@opentelemetry/core';

/**
 * Returns the caller's span, according to W3C Trace Context; null if the headers name none. Signalbox omits invalid members of
 * `tracestate`.
 */
export function parseContext(headers: Headers): SpanContext | null {
  const context = parseTraceParent(headers.get('traceparent') ?? '');
  if (!context) return null;
  const traceState = new TraceState(headers.get('tracestate') ?? '');
  return { ...context, isRemote: true, traceState: traceState.serialize() === '' ? undefined : traceState };
}

/** Returns the headers that propagate a context. */
export function contextHeaders({ traceId, spanId, traceFlags, traceState }: SpanContext): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags & 1 ? '01' : '00'}`;
  return traceState ? { traceparent, tracestate: traceState.serialize() } : { traceparent };
}
