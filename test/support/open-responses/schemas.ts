import Ajv, { type ValidateFunction } from 'ajv';
import { isObject, type Json, listOf, parseJson, textOf } from '../../../plugins/providers/json.ts';
import spec from './schemas.json' with { type: 'json' };

/**
 * Checks answers and events against the published schemas of Open Responses. `schemas.json` has the schemas, from openresponses.org,
 * Apache-2.0, without descriptions. The specification allows other items and events as extensions; custom tools are an example.
 */
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ $id: 'spec', components: { schemas: mended(spec.schemas) } });

/** The copy lacks the object in the schema of a format, so this function adds it. */
function mended(schemas: typeof spec.schemas): object {
  const format = schemas.JsonSchemaResponseFormat;
  return {
    ...schemas,
    JsonSchemaResponseFormat: {
      ...format,
      properties: { ...format.properties, schema: {}, description: {} },
      required: ['type', 'name', 'schema'],
    },
  };
}

const compiled = new Map<string, ValidateFunction>();

/** Returns the errors of a value under a schema; empty for a valid value. */
function complaints(schema: string, value: unknown): readonly string[] {
  let check = compiled.get(schema);
  if (!check) {
    check = ajv.compile({ $ref: `spec#/components/schemas/${schema}` });
    compiled.set(schema, check);
  }
  if (check(value)) return [];
  return (check.errors ?? []).map(({ instancePath, message }) => `${schema}${instancePath}: ${message}`);
}

/** The schema of each event, under its type. */
const EVENTS: ReadonlyMap<string, string> = new Map(
  Object.entries<Json>(spec.schemas).flatMap(([name, schema]) => {
    const { type } = Object(schema.properties) as Json;
    const [event] = isObject(type) ? listOf(type.enum) : [];
    return name.endsWith('StreamingEvent') && typeof event === 'string' ? [[event, name]] : [];
  }),
);
const ITEMS: ReadonlySet<string> = new Set(['message', 'function_call', 'function_call_output', 'reasoning']);

const isKnownItem = (item: unknown): boolean => isObject(item) && ITEMS.has(textOf(item.type));

const withKnownItems = (response: unknown): unknown =>
  isObject(response)
    ? {
        ...response,
        output: listOf(response.output).filter(isKnownItem),
        tools: listOf(response.tools).filter((tool) => isObject(tool) && tool.type === 'function'),
      }
    : response;

/** Returns the members of a schema that are required and may be null. */
export function demandedNulls(schema: 'ResponseResource' | 'Reasoning' | 'FunctionTool' | 'ErrorPayload'): string[] {
  const { required, properties } = spec.schemas[schema];
  const allowed: Json = properties;
  return required.filter((name) =>
    listOf(Object(allowed[name]).anyOf).some((one) => isObject(one) && one.type === 'null'),
  );
}

/** @throws Error with every mistake of a `response` object */
export function checkResponse(response: unknown): void {
  fail(complaints('ResponseResource', withKnownItems(response)), response);
}

function fail(found: readonly string[], value: unknown): void {
  if (found.length > 0) throw new Error(`${found.join('\n')}\nin ${JSON.stringify(value)}`);
}

/** @throws Error with every mistake of one event */
function checkEvent(event: Json): void {
  const schema = EVENTS.get(textOf(event.type));
  if (schema === undefined || ('item' in event && !isKnownItem(event.item))) return;
  fail(complaints(schema, 'response' in event ? { ...event, response: withKnownItems(event.response) } : event), event);
}

const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/**
 * Checks a complete stream: each event against its schema, its number and its name. The check also requires that items come in order, each
 * piece belongs to an open item, the pieces make up the item, and the items make up the final response.
 */
export function checkStream(text: string): readonly Json[] {
  const events = text.split('\n\n').flatMap((frame) => {
    const lines = frame.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
    if (lines.length === 0) return [];
    const name = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length);
    const event = parseJson(lines.find((line) => line.startsWith('data: '))?.slice('data: '.length) ?? '');
    if (!isObject(event) || event.type !== name) throw new Error(`not an event: ${frame}`);
    return [event];
  });
  checkEvents(events);
  return events;
}

/** Makes the checks of `checkStream` for events that arrived in another way. */
export function checkEvents(events: readonly Json[]): void {
  const story = new StreamStory();
  for (const [at, event] of events.entries()) {
    if (event.sequence_number !== at) throw new Error(`number ${String(event.sequence_number)} at ${at}`);
    checkEvent(event);
    story.take(event);
  }
  if (!story.hasEnded) throw new Error('the stream has no end');
}

interface OpenItem {
  pieces: string;
}

/** What a careful client knows about a stream so far. */
class StreamStory {
  readonly #open = new Map<number, OpenItem>();
  readonly #done: unknown[] = [];
  #begun = 0;
  hasEnded = false;

  take(event: Json): void {
    const type = textOf(event.type);
    if (this.hasEnded) throw new Error(`${type} after the end`);
    const at = typeof event.output_index === 'number' ? event.output_index : -1;
    if (type === 'response.output_item.added') {
      if (at !== this.#begun++) throw new Error(`item ${at} out of order`);
      this.#open.set(at, { pieces: '' });
    } else if (type === 'response.output_item.done') this.#finish(at, event.item);
    else if (at >= 0) this.#piece(at, type, textOf(event.delta));
    if (!ENDS.has(type)) return;
    this.hasEnded = true;
    if (type === 'response.failed') return;
    if (this.#open.size > 0) throw new Error('the stream ends with an open item');
    const output = JSON.stringify(Object(event.response).output);
    if (output !== JSON.stringify(this.#done)) throw new Error(`the end has other items: ${output}`);
  }

  #piece(at: number, type: string, delta: string): void {
    const item = this.#open.get(at);
    if (!item) throw new Error(`${type} outside of its item`);
    item.pieces += delta;
  }

  #finish(at: number, item: unknown): void {
    const open = this.#open.get(at);
    if (!open) throw new Error(`item ${at} ends without a beginning`);
    this.#open.delete(at);
    this.#done[at] = item;
    const whole = wordsOf(item);
    if (whole !== null && whole !== open.pieces) throw new Error(`the pieces ${open.pieces} are not ${whole}`);
  }
}

/** Returns the text that the pieces of an item must make up; null for an item of an unknown kind. */
function wordsOf(item: unknown): string | null {
  if (!isObject(item)) return null;
  const words = (list: unknown): string =>
    listOf(list)
      .map((part) => (isObject(part) ? textOf(part.text) || textOf(part.refusal) : ''))
      .join('');
  switch (item.type) {
    case 'message':
      return words(item.content);
    case 'reasoning':
      return words(item.summary) + words(item.content);
    case 'function_call':
      return textOf(item.arguments);
    case 'custom_tool_call':
      return textOf(item.input);
    default:
      return null;
  }
}

/** A `fetch` for clients that checks every body and stream of Responses that passes through it. */
export async function checkedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (!response.ok || !new URL(response.url).pathname.endsWith('/responses')) return response;
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    checkResponse(await response.clone().json());
    return response;
  }
  const [seen, passed] = response.body!.tee();
  const text = new Response(seen).text();
  // A stream that its reader abandons has no end to check.
  streams.push(text.catch(() => null));
  return new Response(passed, response);
}

/** The texts of the streams since the last check; null for a stream that its reader abandoned. */
const streams: Promise<string | null>[] = [];

/** Checks the streams that passed through `checkedFetch`. Tests call this function after each test. */
export async function checkStreams(): Promise<void> {
  for (const text of await Promise.all(streams.splice(0))) if (text !== null) checkStream(text);
}
