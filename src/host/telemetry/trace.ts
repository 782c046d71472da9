/** Traces of requests. The times of a trace are read from the tracer's clock at each call. */

/** The steps of a request in their order. */
export type TraceStep = 'admit' | 'pin' | 'profile' | 'shortlist' | 'decide' | 'reserve' | 'dispatch' | 'settle';

/** Attributes of a span have OpenTelemetry's names if they exist, else `signalbox.…`. A trace omits attributes whose value is undefined. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** The result of a span when it ends. */
export interface SpanResult {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** The error of the span in one line; null without an error. */
  readonly error: string | null;
}

/** The trace of one request. */
export interface Trace {
  /** The ID of the trace, 32 hexadecimal digits. */
  readonly traceId: string;
  /** The ID of the span of the whole request, 16 hexadecimal digits. */
  readonly spanId: string;
  /** If false, the tracer sends no span, but propagates the context. */
  readonly isSampled: boolean;
  /** Ends the current step of the trace and starts another step. */
  step(step: TraceStep): void;
  /** Starts an upstream call within the current step. */
  call(): CallTrace;
  /** Ends the current step and the request. Calls of `end` after the first call have no effect. */
  end(result: SpanResult): void;
}

export interface CallTrace {
  /** The headers for the provider: `traceparent`, and the caller's `tracestate` if there is one; empty if propagation is off. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the call. Calls of `end` after the first call have no effect. */
  end(result: SpanResult): void;
}
