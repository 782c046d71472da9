import { type Attributes, type SpanContext, SpanKind, type SpanStatus, SpanStatusCode } from '@opentelemetry/api';
import { hrTimeDuration, millisToHrTime } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { CallTrace, SpanAttributes, SpanResult, Trace, TraceStep } from '../trace.ts';
import { contextHeaders } from './context.ts';
import type { TraceIds } from './ids.ts';

const UNSET: SpanStatus = Object.freeze({ code: SpanStatusCode.UNSET });
/** The result of a call that was not ended explicitly. */
const NO_RESULT: SpanResult = Object.freeze({ name: 'chat', attributes: {}, error: null });

/** The parts of a tracer that a request needs. */
interface RequestTraceOptions {
  /** Milliseconds on a monotonic clock. */
  clock(): number;
  /** Unix time, ms. */
  now(): number;
  readonly ids: TraceIds;
  /** Whether calls propagate the trace context to providers. */
  readonly propagates: boolean;
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
  /** Receives finished spans. */
  take(span: ReadableSpan): void;
}

/** A request, step or call with times on the tracer's clock; `end` is NaN while the span is open. */
interface OpenSpan {
  readonly kind: SpanKind;
  readonly context: SpanContext;
  /** The span that contains this span; null for the span of the request. */
  readonly within: OpenSpan | null;
  readonly start: number;
  end: number;
  result: SpanResult;
}

/**
 * The trace of a request. A `RequestTrace` collects the times of steps and calls, and makes the spans at the end, because OpenTelemetry's
 * own objects would take three times as much time. A trace that is not sampled only propagates its context.
 */
export class RequestTrace implements Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly #parent: SpanContext | null;
  readonly #options: RequestTraceOptions;
  /** Unix time at the zero of the monotonic clock. */
  readonly #originMs: number;
  readonly #request: OpenSpan;
  readonly #steps: OpenSpan[] = [];
  readonly #calls: OpenSpan[] = [];
  #isOver: boolean;

  /** @param parent the caller's span, if there is one */
  constructor(traceId: string, isSampled: boolean, parent: SpanContext | null, options: RequestTraceOptions) {
    this.traceId = traceId;
    this.isSampled = isSampled;
    this.#isOver = !isSampled;
    this.#parent = parent;
    this.#options = options;
    this.#originMs = options.now() - options.clock();
    this.#request = this.#open(SpanKind.SERVER, null, NO_RESULT);
    this.spanId = this.#request.context.spanId;
  }

  step(name: TraceStep): void {
    if (this.#isOver) return;
    const step = this.#open(SpanKind.INTERNAL, this.#request, { name, attributes: {}, error: null });
    this.#closeStep(step.start);
    this.#steps.push(step);
  }

  call(): CallTrace {
    const { clock, propagates } = this.#options;
    const call = this.#open(SpanKind.CLIENT, this.#steps.at(-1) ?? this.#request, NO_RESULT);
    this.#calls.push(call);
    return {
      headers: propagates ? contextHeaders(call.context) : {},
      end(result) {
        if (!Number.isNaN(call.end)) return;
        call.end = clock();
        call.result = result;
      },
    };
  }

  end(result: SpanResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const now = this.#options.clock();
    this.#request.result = result;
    this.#request.end = now;
    this.#closeStep(now);
    for (const call of this.#calls) {
      if (Number.isNaN(call.end)) call.end = now;
      // A call can last longer than the start of the next step; the trace then extends the step of the call.
      if (call.within && call.within.end < call.end) call.within.end = call.end;
    }
    for (const span of [this.#request, ...this.#steps, ...this.#calls]) this.#options.take(this.#finished(span));
  }

  #open(kind: SpanKind, within: OpenSpan | null, result: SpanResult): OpenSpan {
    const { traceId, isSampled } = this;
    const traceState = this.#parent?.traceState;
    const context = { traceId, spanId: this.#options.ids.newSpanId(), traceFlags: Number(isSampled), traceState };
    return { kind, context, within, start: this.#options.clock(), end: Number.NaN, result };
  }

  #closeStep(now: number): void {
    const last = this.#steps.at(-1);
    if (last) last.end = now;
  }

  #finished({ kind, context, within, start, end, result: { name, attributes, error } }: OpenSpan): ReadableSpan {
    const { resource, scope } = this.#options;
    const startTime = millisToHrTime(this.#originMs + start);
    const endTime = millisToHrTime(this.#originMs + end);
    return {
      name,
      kind,
      spanContext: () => context,
      parentSpanContext: (within ? within.context : this.#parent) ?? undefined,
      startTime,
      endTime,
      duration: hrTimeDuration(startTime, endTime),
      attributes: definedAttributes(attributes),
      status: error === null ? UNSET : { code: SpanStatusCode.ERROR, message: error },
      resource,
      instrumentationScope: scope,
      links: [],
      events: [],
      ended: true,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

/** Omits undefined attributes, which an exporter would send as empty values. */
function definedAttributes(attributes: SpanAttributes): Attributes {
  const all: Attributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) all[name] = value;
  }
  return all;
}
