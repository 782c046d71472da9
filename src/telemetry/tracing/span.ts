import type { Attributes as ExportedAttributes, SpanContext, SpanKind, SpanStatus } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { SpanAttributes } from '../trace.ts';
import { elapsed, type HrTime } from './hr-time.ts';

/** The parts that all spans of a server share. */
export interface SpanOrigin {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

export interface SpanParts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly start: HrTime;
  readonly end: HrTime;
  readonly attributes: SpanAttributes;
  /** Null without an error. */
  readonly error: string | null;
}

const UNSET: SpanStatus = Object.freeze({ code: 0 });
/** From OpenTelemetry's `SpanStatusCode`, which is loaded only when tracing. */
const ERROR = 2;

/** A finished span in the form of OpenTelemetry's exporters. */
export class FinishedSpan implements ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext: SpanContext | undefined;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: ExportedAttributes;
  readonly status: SpanStatus;
  readonly resource: Resource;
  readonly instrumentationScope: SpanOrigin['scope'];
  readonly links = [];
  readonly events = [];
  readonly ended = true;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly #context: SpanContext;

  constructor(parts: SpanParts, { resource, scope }: SpanOrigin) {
    this.name = parts.name;
    this.kind = parts.kind;
    this.#context = parts.context;
    this.parentSpanContext = parts.parent;
    this.startTime = parts.start;
    this.endTime = parts.end;
    this.attributes = definedAttributes(parts.attributes);
    this.status = parts.error === null ? UNSET : { code: ERROR, message: parts.error };
    this.resource = resource;
    this.instrumentationScope = scope;
  }

  spanContext = (): SpanContext => this.#context;

  get duration(): HrTime {
    return elapsed(this.startTime, this.endTime);
  }
}

/** Omits undefined attributes, which an exporter would send as empty values. */
function definedAttributes(attributes: SpanAttributes): ExportedAttributes {
  const all: ExportedAttributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) all[name] = typeof value === 'object' ? [...value] : value;
  }
  return all;
}
