/** Traces of requests. Times are from the tracer's clock at each call. */

/** The steps of a request in their order. */
export type TraceStep = 'admit' | 'pin' | 'profile' | 'shortlist' | 'decide' | 'reserve' | 'dispatch' | 'settle';

/** Attributes have OpenTelemetry's names if they exist, else `signalbox.…`. Undefined values are omitted. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | string[] | undefined>>;

/** The result of a span when it ends. */
export interface SpanResult {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** The error in one line; null without an error. */
  readonly error: string | null;
}

/** The trace of one request. */
export interface Trace {
  /** The ID of the trace, 32 hexadecimal digits. */
  readonly traceId: string;
  /** The ID of the span of the whole request, 16 hexadecimal digits. */
  readonly spanId: string;
  /** If false, no span is sent, but the context is still propagated. */
  readonly isSampled: boolean;
  /** Ends the current step and starts another. */
  step(step: TraceStep): void;
  /** Starts an upstream call within the current step. */
  call(): CallTrace;
  /** Ends the current step and the request. Later calls have no effect. */
  end(result: SpanResult): void;
}

export interface CallTrace {
  /** The headers for the provider: `traceparent`, and the caller's `tracestate` if there is one; empty if propagation is off. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends the call. Later calls of this function have no effect. */
  end(result: SpanResult): void;
}
