import type { Attributes as ExportedAttributes, SpanContext, SpanKind, SpanStatus } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Attributes } from '../trace.ts';
import { between, type Moment } from './moment.ts';

/** What all spans of a server have in common. */
export interface Origin {
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

export interface SpanParts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly start: Moment;
  readonly end: Moment;
  readonly attributes: Attributes;
  /** Null for none. */
  readonly error: string | null;
}

const UNSET: SpanStatus = Object.freeze({ code: 0 });
/** Of OpenTelemetry's `SpanStatusCode`, which is only loaded where something is traced. */
const ERROR = 2;

/** A span that has ended, in the form that OpenTelemetry's exporters take. */
export class FinishedSpan implements ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext: SpanContext | undefined;
  readonly startTime: Moment;
  readonly endTime: Moment;
  readonly attributes: ExportedAttributes;
  readonly status: SpanStatus;
  readonly resource: Resource;
  readonly instrumentationScope: Origin['scope'];
  readonly links = [];
  readonly events = [];
  readonly ended = true;
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly #context: SpanContext;

  constructor(parts: SpanParts, { resource, scope }: Origin) {
    this.name = parts.name;
    this.kind = parts.kind;
    this.#context = parts.context;
    this.parentSpanContext = parts.parent;
    this.startTime = parts.start;
    this.endTime = parts.end;
    this.attributes = known(parts.attributes);
    this.status = parts.error === null ? UNSET : { code: ERROR, message: parts.error };
    this.resource = resource;
    this.instrumentationScope = scope;
  }

  spanContext = (): SpanContext => this.#context;

  get duration(): Moment {
    return between(this.startTime, this.endTime);
  }
}

/** Without what nothing is known of: an exporter would send an empty value. */
function known(attributes: Attributes): ExportedAttributes {
  const all: ExportedAttributes = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) all[name] = typeof value === 'object' ? [...value] : value;
  }
  return all;
}
