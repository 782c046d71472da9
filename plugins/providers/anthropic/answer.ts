import type { EventPlace, FinishReason, Frame, StreamPart, StreamReader, Usage } from 'signalbox/plugin';
import { isObject, type Json, objectOf, parseJson, textOf } from '../json.ts';
import { meaningsOf } from '../meanings.ts';
import { addUsage, malformed, passedEvent, unreadParts } from '../parts.ts';
import { statedUsage } from '../stated-usage.ts';
import { OutputFound } from '../unread.ts';
import { BlockReader } from './blocks.ts';
import { failureOfError } from './failure.ts';
import { addUnreadOfBlock, unreadOf } from './unread.ts';
import { FIGURES, readUsage, tierIn, usageOf } from './usage.ts';

/**
 * Reads an unstreamed answer into the same parts that a stream would produce.
 * @param passthrough whether the unchanged answer is also a part
 */
export function readReply(body: string, passthrough = false): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  if (reply.error) return [{ type: 'failure', failure: failureOfError(reply.error) }];
  if (!Array.isArray(reply.content)) return [malformed('the answer has no content')];
  const parts: StreamPart[] = [];
  const blocks = new BlockReader(passthrough);
  const found = new OutputFound();
  for (const [at, block] of reply.content.entries()) {
    const before = parts.length;
    blocks.start(at, block, parts, ['content', at]);
    blocks.stop(at, parts);
    addUnreadOfBlock(found, block, parts.slice(before));
  }
  parts.push(...finishOf(reply, blocks.placeIn(['stop_details'], 'explanation')));
  const { usage } = reply;
  // A message without content or end counts as a failure, so that another endpoint may answer.
  const unread = found.last();
  if (!passthrough) parts.unshift(...unreadParts(unread));
  else if (parts.length > 0) {
    const notes = { unread, usage: statedUsage(usage, usageOf(objectOf(usage)), OF_MESSAGE) };
    parts.unshift(passedEvent({ ...reply, type: 'message' }, '', notes));
  }
  if (isObject(usage)) addUsage(readUsage(usage), parts, undefined, tierIn(usage));
  return parts;
}

/** The maximum number of Anthropic's own tools that an answer may have used. */
const TOOLS_MAX = 64;

/** Reads the events of one stream. `EventReader` ignores unknown events, because the API may add events. */
export class EventReader implements StreamReader {
  readonly #blocks: BlockReader;
  /** The token usage so far. Each event reports the running total of some members of the usage. */
  protected readonly usage: Record<string, unknown> = {};
  /** The service tier that an event has stated. */
  #tier: string | undefined;
  #isOver = false;

  constructor(passes = false) {
    this.#blocks = new BlockReader(passes);
  }

  read(frame: Frame): readonly StreamPart[] {
    if (this.#isOver || frame.data === '') return [];
    const event = parseJson(frame.data);
    if (!isObject(event)) return [malformed('an event is not a JSON object')];
    const parts: StreamPart[] = [];
    // Intermediaries may send an error without a type.
    const type = textOf(event.type) || frame.event || (event.error ? 'error' : '');
    this.#event(type, event, parts);
    return this.partsOf(type, event, frame.data, parts);
  }

  /**
   * Returns the parts of the answer that an event contains. `read` contains the parts that were read from the event. @param _text the event
   * as it arrived
   */
  protected partsOf(type: string, event: Json, _text: string, read: readonly StreamPart[]): readonly StreamPart[] {
    const unread = unreadOf(type, event, read);
    return unread ? [...unreadParts(unread), ...read] : read;
  }

  #event(type: string, event: Json, parts: StreamPart[]): void {
    switch (type) {
      case 'message_start':
        this.#count(isObject(event.message) ? event.message.usage : null, parts);
        break;
      case 'content_block_start':
        this.#blocks.start(event.index, event.content_block, parts);
        break;
      case 'content_block_delta':
        this.#blocks.delta(event.index, event.delta, parts);
        break;
      case 'content_block_stop':
        this.#blocks.stop(event.index, parts);
        break;
      case 'message_delta':
        this.#end(event, parts);
        break;
      case 'message_stop':
        this.#isOver = true;
        break;
      case 'error':
        parts.push({ type: 'failure', failure: failureOfError(event.error) });
    }
  }

  #end(event: Json, parts: StreamPart[]): void {
    const place = this.#blocks.placeIn(['delta', 'stop_details'], 'explanation');
    const finish = isObject(event.delta) ? finishOf(event.delta, place) : [];
    if (finish.length > 0) this.#blocks.end(parts);
    parts.push(...finish);
    if (isObject(event.usage)) this.#count(event.usage, parts);
  }

  #count(usage: unknown, parts: StreamPart[]): void {
    if (!isObject(usage)) return;
    // Each event repeats the uses of all tools, so thousands of tools would be read thousands of times.
    if (Object.keys(objectOf(usage.server_tool_use)).length > TOOLS_MAX) {
      parts.push(malformed('the answer used too many tools'));
      return;
    }
    for (const figure of FIGURES) this.usage[figure] = usage[figure] ?? this.usage[figure];
    this.#tier ??= tierIn(usage);
    addUsage(readUsage(this.usage), parts, undefined, this.#tier);
  }
}

/** Clients read the cache figures of a usage without checking them: some clients crash if a figure is missing, and add null as 0. */
const CACHE = ['cache_creation_input_tokens', 'cache_read_input_tokens'];
const OF_MESSAGE = { required: ['input_tokens', 'output_tokens'], optional: CACHE };
const OF_DELTA = { required: ['output_tokens'], optional: ['input_tokens', ...CACHE] };

/**
 * Events that begin an answer or only count its tokens. The reader holds such events back until the first content, so that another endpoint
 * can still answer.
 */
const OPENING: ReadonlySet<string> = new Set(['message_start', 'content_block_start', 'ping', 'message_delta']);

/**
 * Reads the events of an answer that is passed on unchanged. Each passed event is a part, which comes before the parts that are read from
 * the same event.
 */
export class PassedEventReader extends EventReader {
  #opening: StreamPart[] | null = [];

  constructor() {
    super(true);
  }

  protected override partsOf(
    type: string,
    event: Json,
    text: string,
    read: readonly StreamPart[],
  ): readonly StreamPart[] {
    // Signalbox writes the last event and errors itself.
    if (type === 'error' || type === 'message_stop') return read;
    const notes = { unread: unreadOf(type, event, read), usage: this.#stated(type, event) };
    const passed = event.type === type ? passedEvent(event, text, notes) : passedEvent({ ...event, type }, '', notes);
    if (this.#opening === null) return [passed, ...read];
    if (OPENING.has(type) && read.every((part) => part.type === 'usage')) {
      if (type !== 'ping') this.#opening.push(passed);
      return read;
    }
    const opening = this.#opening;
    this.#opening = null;
    return [...opening, passed, ...read];
  }

  /** Returns the usage so far if the event states a part of the usage or must state it. */
  #stated(type: string, event: Json): Usage | undefined {
    const soFar = usageOf(this.usage);
    if (type === 'message_start') return statedUsage(objectOf(event.message).usage, soFar, OF_MESSAGE);
    const isEnd = type === 'message_delta' && objectOf(event.delta).stop_reason != null;
    return isEnd || event.usage !== undefined ? statedUsage(event.usage, soFar, OF_DELTA) : undefined;
  }
}

const REASONS = meaningsOf<FinishReason>([
  ['stop', ['end_turn', 'stop_sequence', 'pause_turn']],
  ['tool_calls', ['tool_use']],
  ['length', ['max_tokens', 'model_context_window_exceeded']],
  ['content_filter', ['refusal']],
]);

/**
 * Returns the finish of a message and the reason of a refusal; returns nothing before the end of the message. An unknown finish reason
 * counts as a normal stop.
 * @param place of the reason of a refusal
 */
function finishOf(message: Json, place: EventPlace | undefined): StreamPart[] {
  const raw = textOf(message.stop_reason);
  if (raw === '') return [];
  const stop = raw === 'stop_sequence' ? textOf(message.stop_sequence) || undefined : undefined;
  const finish: StreamPart = { type: 'finish', choice: 0, reason: REASONS.get(raw) ?? 'stop', raw, stop };
  const text = textOf(objectOf(message.stop_details).explanation);
  return raw === 'refusal' && text !== '' ? [{ type: 'refusal', choice: 0, text, place }, finish] : [finish];
}
