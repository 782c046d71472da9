import type { SpanContext, TraceState } from '@opentelemetry/api';
import type { Attributes, CallTrace, Step, Told, Trace } from '../trace.ts';
import { contextHeaders, type TraceContext } from './context.ts';
import { newSpanId } from './ids.ts';
import { momentAt } from './moment.ts';
import type { SpanParts } from './span.ts';

/** OpenTelemetry's `SpanKind`, which is only loaded where something is traced. */
const INTERNAL = 0;
const SERVER = 1;
const CLIENT = 2;

const NO_ATTRIBUTES: Attributes = Object.freeze({});
/** Of a call whose end nobody told. */
const UNTOLD: Told = Object.freeze({ name: 'chat', attributes: NO_ATTRIBUTES, error: null });

const NO_HEADERS: CallTrace['headers'] = Object.freeze({});
/** Of a call that nobody is told of. */
const SILENT_CALL: CallTrace = Object.freeze({ headers: NO_HEADERS, end() {} });

/** A request that is not sampled: it only says where it comes from. */
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

/** What a sampled request needs of its tracer. */
export interface Sampled {
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  /** Unix time, ms, at which that clock stood at 0. */
  readonly originMs: number;
  /** The caller's `tracestate` as spans have it. */
  readonly state: TraceState | undefined;
  /** Whether calls say where they come from. */
  readonly propagates: boolean;
  /** Takes spans that have ended. */
  take(span: SpanParts): void;
}

/** One step or call, with its times on the tracer's clock; `end` is NaN while it is under way. */
interface Stretch {
  readonly spanId: string;
  readonly start: number;
  end: number;
}

interface OpenStep extends Stretch {
  readonly step: Step;
}

interface OpenCall extends Stretch {
  /** Null for the request itself. */
  readonly within: OpenStep | null;
  told: Told;
}

/** A request that is sampled: gathers what is told of it, and makes its spans when it is over. */
export class SampledTrace implements Trace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly isSampled = true;
  readonly #parent: TraceContext | null;
  readonly #of: Sampled;
  readonly #start: number;
  readonly #steps: OpenStep[] = [];
  readonly #calls: OpenCall[] = [];
  #step: OpenStep | null = null;
  #isOver = false;

  constructor(traceId: string, parent: TraceContext | null, of: Sampled) {
    this.traceId = traceId;
    this.#parent = parent;
    this.#of = of;
    this.#start = of.clock();
  }

  step(step: Step): void {
    if (this.#isOver) return;
    const now = this.#of.clock();
    this.#close(now);
    this.#step = { step, spanId: newSpanId(), start: now, end: Number.NaN };
    this.#steps.push(this.#step);
  }

  call(): CallTrace {
    const { clock, propagates } = this.#of;
    const call = { within: this.#step, spanId: newSpanId(), start: clock(), end: Number.NaN, told: UNTOLD };
    if (!this.#isOver) this.#calls.push(call);
    const { traceId } = this;
    const state = this.#parent?.state ?? null;
    return {
      headers: propagates ? contextHeaders({ traceId, spanId: call.spanId, isSampled: true, state }) : NO_HEADERS,
      end(told) {
        if (!Number.isNaN(call.end)) return;
        call.end = clock();
        call.told = told;
      },
    };
  }

  end(told: Told): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const now = this.#of.clock();
    this.#close(now);
    for (const call of this.#calls) {
      if (Number.isNaN(call.end)) call.end = now;
      // A step is over when its last call is, although the next one may have begun.
      if (call.within && call.within.end < call.end) call.within.end = call.end;
    }
    const parent = this.#parent && {
      traceId: this.traceId,
      spanId: this.#parent.spanId,
      traceFlags: this.#parent.isSampled ? 1 : 0,
      isRemote: true,
      traceState: this.#of.state,
    };
    this.#give(SERVER, { spanId: this.spanId, start: this.#start, end: now }, told, parent ?? undefined);
    const root = this.#contextOf(this.spanId);
    for (const step of this.#steps) {
      this.#give(INTERNAL, step, { name: step.step, attributes: NO_ATTRIBUTES, error: null }, root);
    }
    for (const call of this.#calls) {
      this.#give(CLIENT, call, call.told, call.within ? this.#contextOf(call.within.spanId) : root);
    }
  }

  #close(now: number): void {
    if (this.#step) this.#step.end = now;
    this.#step = null;
  }

  #contextOf(spanId: string): SpanContext {
    return { traceId: this.traceId, spanId, traceFlags: 1, traceState: this.#of.state };
  }

  #give(kind: SpanParts['kind'], { spanId, start, end }: Stretch, told: Told, parent: SpanContext | undefined): void {
    const { originMs } = this.#of;
    this.#of.take({
      name: told.name,
      kind,
      context: this.#contextOf(spanId),
      parent,
      start: momentAt(originMs, start),
      end: momentAt(originMs, end),
      attributes: told.attributes,
      error: told.error,
    });
  }
}
