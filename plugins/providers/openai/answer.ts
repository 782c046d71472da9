import type { Frame, StreamPart, StreamReader } from 'signalbox/plugin';
import { indexOf, isObject, type Json, listOf, objectOf, parseJson, statedText, textOf } from '../json.ts';
import { ChunkReader, readCompletion } from '../openai-compatible/answer.ts';
import { addUsage, passedEvent, unreadParts } from '../parts.ts';
import { statedCost } from '../stated-cost.ts';
import { failureOf, readEnding, readUsage, usageStatedIn } from './ending.ts';
import { ItemReader } from './items.ts';
import type { ReasoningFormat } from './reasoning.ts';
import { UnreadOfStream, unreadOfItems } from './unread.ts';

/** Reads an unstreamed answer of either endpoint of OpenAI. */
export function readReply(body: string, format: ReasoningFormat, passthrough = false): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply) || reply.object !== 'response') return readCompletion(reply);
  const items = new ItemReader(format, passthrough);
  const output = listOf(reply.output);
  const unread = unreadOfItems(output);
  const parts: StreamPart[] = passthrough
    ? [passedEvent(reply, '', { unread, usage: usageStatedIn(reply) })]
    : [...unreadParts(unread)];
  for (let at = 0; at < output.length; at++) items.end(at, output[at], parts, ['output', at]);
  if (parts.some(({ type }) => type === 'failure'))
    addUsage(
      readUsage(reply.usage, items.searches),
      parts,
      statedCost(objectOf(reply.usage)),
      statedText(reply.service_tier),
    );
  else readEnding(textOf(reply.status), reply, items, parts);
  return parts;
}

/** Recognizes Responses events and errors without an event name. */
const OF_RESPONSE = /"type"\s*:\s*"(?:response\.|error")/;

/** Events that contain a visible piece of an answer. */
const PIECE = /\.delta$|^response\.(?:completed|incomplete)$/;
/** The maximum number of events before the first content. */
const HELD_MAX = 64;

const isContentPart = ({ type }: StreamPart): boolean => type !== 'usage' && type !== 'failure';

/** Reads one stream of either endpoint of OpenAI. */
export class OpenAiReader implements StreamReader {
  readonly #chunks = new ChunkReader();
  readonly #items: ItemReader;
  readonly #unread = new UnreadOfStream();
  /** Whether the events are passed on unchanged. */
  readonly #passes: boolean;
  /**
   * Events to pass on that arrived before the first content. The reader holds events before the first content back, because another model
   * may still answer. `#held` is null after the first content.
   */
  #held: StreamPart[] | null;

  constructor(format: ReasoningFormat, passthrough = false) {
    this.#items = new ItemReader(format, passthrough);
    this.#passes = passthrough;
    this.#held = passthrough ? [] : null;
  }

  read(frame: Frame): readonly StreamPart[] {
    const { event: name, data } = frame;
    const isEvent = name === '' ? OF_RESPONSE.test(data) : name === 'error' || name.startsWith('response.');
    const event = isEvent ? parseJson(data) : null;
    // A frame that is no object is read as a chunk, possibly an invalid chunk.
    if (!isObject(event)) return this.#chunks.read(frame);
    const type = textOf(event.type) || name;
    if (type === '') return this.#chunks.read(frame);
    const parts: StreamPart[] = [];
    this.#event(type, event, parts);
    const unread = this.#unread.of(type, event, parts);
    if (!this.#passes) return unread ? [...unreadParts(unread), ...parts] : parts;
    const notes = { unread, usage: usageStatedIn(objectOf(event.response)) };
    const passed = event.type === type ? passedEvent(event, data, notes) : passedEvent({ ...event, type }, '', notes);
    return this.#held === null ? [passed, ...parts] : this.#begun(this.#held, type, passed, parts);
  }

  /** Holds an event back until the first content arrives. */
  #begun(held: StreamPart[], type: string, event: StreamPart, parts: readonly StreamPart[]): readonly StreamPart[] {
    held.push(event);
    const isBegun = PIECE.test(type) || parts.some(isContentPart);
    if (!isBegun && held.length < HELD_MAX) return parts;
    this.#held = null;
    return [...held, ...parts];
  }

  /** Reads an event of the Responses API. `#event` ignores unknown events, because the API may add events. */
  #event(type: string, event: Json, parts: StreamPart[]): void {
    const items = this.#items;
    const at = typeof event.output_index === 'number' ? event.output_index : 0;
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        addUsage(null, parts, undefined, statedText(objectOf(event.response).service_tier));
        break;
      case 'response.output_item.added':
        items.begin(at, event.item, parts);
        break;
      case 'response.output_text.delta':
        items.say('text', at, 0, event.delta, parts);
        break;
      case 'response.refusal.delta':
        items.say('refusal', at, 0, event.delta, parts);
        break;
      case 'response.reasoning_summary_text.delta':
        items.say('reasoning', at, indexOf(event.summary_index), event.delta, parts);
        break;
      case 'response.function_call_arguments.delta':
        items.feed(at, event.delta, parts);
        break;
      case 'response.custom_tool_call_input.delta':
        items.feedInput(at, event.delta, parts);
        break;
      case 'response.output_item.done':
        items.end(at, event.item, parts);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        readEnding(type.slice('response.'.length), objectOf(event.response), items, parts);
        break;
      case 'error':
        parts.push({ type: 'failure', failure: failureOf(isObject(event.error) ? event.error : event) });
    }
  }
}
