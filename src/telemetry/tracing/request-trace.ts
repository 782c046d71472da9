import type { SpanContext, TraceState } from '@opentelemetry/api';
import type { CallTrace, SpanAttributes, SpanResult, Trace, TraceStep } from '../trace.ts';
import { contextHeaders, type TraceContext } from './context.ts';
import { hrTimeAt } from './hr-time.ts';
import { newSpanId } from './ids.ts';
import type { SpanParts } from './span.ts';

/** OpenTelemetry's `SpanKind`, which is loaded only when tracing. */
const INTERNAL = 0;
const SERVER = 1;
const CLIENT = 2;

const NO_ATTRIBUTES: SpanAttributes = Object.freeze({});
/** For a call without an explicit end. */
const NO_RESULT: SpanResult = Object.freeze({ name: 'chat', attributes: NO_ATTRIBUTES, error: null });

const NO_HEADERS: CallTrace['headers'] = Object.freeze({});
/** For a call without propagation. */
const SILENT_CALL: CallTrace = Object.freeze({ headers: NO_HEADERS, end() {} });

/** A request that is not sampled: it only propagates its context. */
export class UnsampledTrace implements Trace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly isSampled = false;
  readonly #state: string | null;
  readonly #propagates: boolean;

  constructor(traceId: string, parent: TraceContext | null, propagates: boolean) {
    this.traceId = traceId;
    this.#propagates = propagates;
    this.#state = parent?.state ?? null;
  }

  step(): void {}

  call(): CallTrace {
    if (!this.#propagates) return SILENT_CALL;
    const context = { traceId: this.traceId, spanId: newSpanId(), isSampled: false, state: this.#state };
    return { headers: contextHeaders(context), end() {} };
  }

  end(): void {}
}

/** The parts of a tracer that a sampled request needs. */
export interface SampledTraceOptions {
  /** Milliseconds on a monotonic clock. */
  readonly clock: () => number;
  /** Unix time at the zero of that clock, ms. */
  readonly originMs: number;
  /** The caller's `tracestate` in the form of spans. */
  readonly state: TraceState | undefined;
  /** Whether calls propagate the context. */
  readonly propagates: boolean;
  /** Takes finished spans. */
  take(span: SpanParts): void;
}

/** A step or call by the tracer's clock; `end` is NaN while it is open. */
interface SpanInterval {
  readonly spanId: string;
  readonly start: number;
  end: number;
}

interface OpenStep extends SpanInterval {
  readonly step: TraceStep;
}

interface OpenCall extends SpanInterval {
  /** Null for the request itself. */
  readonly within: OpenStep | null;
  result: SpanResult;
}

/** A sampled request: collects steps and calls, and makes the spans at its end. */
export class SampledTrace implements Trace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly isSampled = true;
  readonly #parent: TraceContext | null;
  readonly #options: SampledTraceOptions;
  readonly #start: number;
  readonly #steps: OpenStep[] = [];
  readonly #calls: OpenCall[] = [];
  #step: OpenStep | null = null;
  #isOver = false;

  constructor(traceId: string, parent: TraceContext | null, of: SampledTraceOptions) {
    this.traceId = traceId;
    this.#parent = parent;
    this.#options = of;
    this.#start = of.clock();
  }

  step(step: TraceStep): void {
    if (this.#isOver) return;
    const now = this.#options.clock();
    this.#close(now);
    this.#step = { step, spanId: newSpanId(), start: now, end: Number.NaN };
    this.#steps.push(this.#step);
  }

  call(): CallTrace {
    const { clock, propagates } = this.#options;
    const call = { within: this.#step, spanId: newSpanId(), start: clock(), end: Number.NaN, result: NO_RESULT };
    if (!this.#isOver) this.#calls.push(call);
    const { traceId } = this;
    const state = this.#parent?.state ?? null;
    return {
      headers: propagates ? contextHeaders({ traceId, spanId: call.spanId, isSampled: true, state }) : NO_HEADERS,
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
    this.#close(now);
    for (const call of this.#calls) {
      if (Number.isNaN(call.end)) call.end = now;
      // A call can outlast the start of the next step, and extends its own.
      if (call.within && call.within.end < call.end) call.within.end = call.end;
    }
    const parent = this.#parent && {
      traceId: this.traceId,
      spanId: this.#parent.spanId,
      traceFlags: this.#parent.isSampled ? 1 : 0,
      isRemote: true,
      traceState: this.#options.state,
    };
    this.#emit(SERVER, { spanId: this.spanId, start: this.#start, end: now }, result, parent ?? undefined);
    const root = this.#contextOf(this.spanId);
    for (const step of this.#steps) {
      this.#emit(INTERNAL, step, { name: step.step, attributes: NO_ATTRIBUTES, error: null }, root);
    }
    for (const call of this.#calls) {
      this.#emit(CLIENT, call, call.result, call.within ? this.#contextOf(call.within.spanId) : root);
    }
  }

  #close(now: number): void {
    if (this.#step) this.#step.end = now;
    this.#step = null;
  }

  #contextOf(spanId: string): SpanContext {
    return { traceId: this.traceId, spanId, traceFlags: 1, traceState: this.#options.state };
  }

  #emit(
    kind: SpanParts['kind'],
    { spanId, start, end }: SpanInterval,
    result: SpanResult,
    parent: SpanContext | undefined,
  ): void {
    const { originMs } = this.#options;
    this.#options.take({
      name: result.name,
      kind,
      context: this.#contextOf(spanId),
      parent,
      start: hrTimeAt(originMs, start),
      end: hrTimeAt(originMs, end),
      attributes: result.attributes,
      error: result.error,
    });
  }
}
