import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { isObject, type Json } from '../../plugins/providers/json.ts';
import { startOwnServer } from './own-server.ts';

/** The OpenTelemetry messages for traces; field numbers from opentelemetry-proto 1.7. */
const PROTO = `syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Scope { string name = 1; string version = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  uint32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10; Status status = 15; fixed32 flags = 16;
}
message Status { string message = 2; uint32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message ArrayValue { repeated AnyValue values = 1; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; bytes bytes_value = 7;
  }
}`;
const Message = protobuf.parse(PROTO).root.lookupType('ExportTraceServiceRequest');

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

type Value = string | number | boolean | null | readonly Value[];

/** A span as it arrived. */
export interface ArrivedSpan {
  /** Hexadecimal, like all IDs. */
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for none. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  readonly kind: string;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, Value>>;
  /** Null if the status is not an error. */
  readonly error: string | null;
  readonly flags: number;
  /** Attributes of the sender. */
  readonly resource: Readonly<Record<string, Value>>;
  readonly scope: string;
}

/**
 * `stall`: accepts a request and never answers. `dribble`: keeps sending bytes of its answer and never ends it. A number: answers with this
 * status.
 */
export type Manner = 'take' | 'stall' | 'dribble' | number;

export interface Collector {
  /** The value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: ArrivedSpan[];
  /** Every request that arrived. */
  readonly requests: { readonly path: string; readonly headers: Headers; readonly bytes: Uint8Array }[];
  behave(manner: Manner, headers?: Readonly<Record<string, string>>): void;
  stop(): Promise<void>;
}

/** Starts a real OTLP/HTTP endpoint on 127.0.0.1 that accepts protobuf and JSON, plain or compressed with gzip. */
export function startCollector(): Collector {
  const spans: ArrivedSpan[] = [];
  const requests: Collector['requests'] = [];
  let manner: Manner = 'take';
  let extra: Readonly<Record<string, string>> = {};
  const server = startOwnServer(async (request) => {
    const sent = new Uint8Array(await request.arrayBuffer());
    const bytes = request.headers.get('content-encoding') === 'gzip' ? new Uint8Array(gunzipSync(sent)) : sent;
    requests.push({ path: new URL(request.url).pathname, headers: request.headers, bytes });
    if (manner === 'stall') await new Promise<never>(() => {});
    if (manner === 'dribble') return new Response(dribble());
    if (manner !== 'take') return new Response('no', { status: Number(manner), headers: extra });
    const isJson = request.headers.get('content-type') === 'application/json';
    spans.push(...spansOf(isJson ? readJson(bytes) : readProtobuf(bytes)));
    return isJson ? Response.json({}) : new Response(new Uint8Array(), { headers: { 'content-type': PROTOBUF } });
  });
  return {
    url: server.url,
    spans,
    requests,
    behave(next, headers = {}) {
      manner = next;
      extra = headers;
    },
    stop: server.stop,
  };
}

const dribble = () =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(20);
      controller.enqueue(new Uint8Array(1));
    },
  });

const PROTOBUF = 'application/x-protobuf';

/** Returns the message in the form of OTLP's JSON: IDs in hexadecimal, 64-bit numbers as text. */
function readProtobuf(bytes: Uint8Array): unknown {
  return Message.toObject(Message.decode(bytes), { longs: String, arrays: true });
}

const readJson = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes));

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const idOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : textOf(value);
const objectOf = (value: unknown): Json => (isObject(value) ? value : {});

function spansOf(message: unknown): ArrivedSpan[] {
  return listOf(objectOf(message).resourceSpans).flatMap(({ resource, scopeSpans }) =>
    listOf(scopeSpans).flatMap(({ scope, spans }) =>
      listOf(spans).map((span) => ({
        ...spanOf(span),
        resource: attributesOf(objectOf(resource).attributes),
        scope: textOf(objectOf(scope).name),
      })),
    ),
  );
}

function spanOf(span: Json): Omit<ArrivedSpan, 'resource' | 'scope'> {
  const status = objectOf(span.status);
  return {
    traceId: idOf(span.traceId),
    spanId: idOf(span.spanId),
    parentId: idOf(span.parentSpanId),
    state: textOf(span.traceState),
    name: textOf(span.name),
    kind: KINDS[Number(span.kind)] ?? 'unknown',
    start: BigInt(String(span.startTimeUnixNano)),
    end: BigInt(String(span.endTimeUnixNano)),
    attributes: attributesOf(span.attributes),
    error: Number(status.code) === 2 ? textOf(status.message) : null,
    flags: Number(span.flags ?? 0),
  };
}

const attributesOf = (list: unknown): Record<string, Value> =>
  Object.fromEntries(listOf(list).map(({ key, value }) => [textOf(key), plainOf(objectOf(value))]));

function plainOf(value: Json): Value {
  if (typeof value.stringValue === 'string') return value.stringValue;
  if (typeof value.boolValue === 'boolean') return value.boolValue;
  if (value.intValue !== undefined) return Number(value.intValue);
  if (typeof value.doubleValue === 'number') return value.doubleValue;
  return isObject(value.arrayValue) ? listOf(value.arrayValue.values).map(plainOf) : null;
}
