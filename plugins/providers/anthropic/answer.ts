import {
  type AddOns,
  canonicalUsage,
  type FinishReason,
  type Frame,
  type StreamPart,
  type StreamReader,
  type Usage,
} from 'signalbox/plugin';
import { isObject, type Json, numberOf, objectOf, parseJson, textOf } from '../json.ts';
import { addUsage, malformed, passedEvent } from '../parts.ts';
import { BlockReader } from './blocks.ts';
import { failureOfError } from './failure.ts';

/**
 * Reads an unstreamed answer into the parts that a stream of it would give.
 * @param passthrough whether the answer as it came is a part, too
 */
export function readReply(body: string, passthrough = false): readonly StreamPart[] {
  const reply = parseJson(body);
  if (!isObject(reply)) return [malformed('the answer is not a JSON object')];
  if (reply.error) return [{ type: 'failure', failure: failureOfError(reply.error) }];
  if (!Array.isArray(reply.content)) return [malformed('the answer has no content')];
  const parts: StreamPart[] = [];
  const blocks = new BlockReader();
  for (const [at, block] of reply.content.entries()) {
    blocks.start(at, block, parts);
    blocks.stop(at, parts);
  }
  parts.push(...finishOf(reply));
  // A message without content or end is no answer: another endpoint may give one.
  if (passthrough && parts.length > 0) {
    parts.unshift({ type: 'passthrough', choice: 0, event: { ...reply, type: 'message' } });
  }
  addUsage(isObject(reply.usage) ? readUsage(reply.usage) : null, parts);
  return parts;
}

/** The usage members that are kept. Copying arbitrary members for every event would be too slow. */
const FIGURES = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
  'output_tokens_details',
  'cache_creation',
  'server_tool_use',
] as const;

/** The most tools of the service that an answer may have used. */
const TOOLS_MAX = 64;

/** Reads the events of one stream. Ignores unknown events: the API may add some. */
export class EventReader implements StreamReader {
  readonly #blocks = new BlockReader();
  /** Usage so far: each event reports the running sum of some members. */
  readonly #usage: Record<string, unknown> = {};
  #isOver = false;

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

  /** Returns the parts of an event, of which these were read. @param _text the event as it came */
  protected partsOf(_type: string, _event: Json, _text: string, read: readonly StreamPart[]): readonly StreamPart[] {
    return read;
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
    const finish = isObject(event.delta) ? finishOf(event.delta) : [];
    if (finish.length > 0) this.#blocks.end(parts);
    parts.push(...finish);
    if (isObject(event.usage)) this.#count(event.usage, parts);
  }

  #count(usage: unknown, parts: StreamPart[]): void {
    if (!isObject(usage)) return;
    for (const figure of FIGURES) this.#usage[figure] = usage[figure] ?? this.#usage[figure];
    // Each event reports the uses again: those of thousands of tools would be read as many times.
    if (Object.keys(objectOf(usage.server_tool_use)).length > TOOLS_MAX)
      parts.push(malformed('the answer has used too many tools'));
    const total = readUsage(this.#usage);
    if (total) parts.push({ type: 'usage', usage: total });
  }
}

/** Events that open an answer, or only count its tokens: they wait for the first content, so that another endpoint may still answer. */
const OPENING: ReadonlySet<string> = new Set(['message_start', 'content_block_start', 'ping', 'message_delta']);

/** Reads the events of an answer that goes out as it comes: each is a part, before the parts that are read from it. */
export class PassedEventReader extends EventReader {
  #opening: StreamPart[] | null = [];

  protected override partsOf(
    type: string,
    event: Json,
    text: string,
    read: readonly StreamPart[],
  ): readonly StreamPart[] {
    // The gateway writes the last event, and its own errors.
    if (type === 'error' || type === 'message_stop') return read;
    const passed = event.type === type ? passedEvent(event, text) : passedEvent({ ...event, type });
    if (this.#opening === null) return [passed, ...read];
    if (OPENING.has(type) && read.every((part) => part.type === 'usage')) {
      if (type !== 'ping') this.#opening.push(passed);
      return read;
    }
    const opening = this.#opening;
    this.#opening = null;
    return [...opening, passed, ...read];
  }
}

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/** The finish of a message and the reason of a refusal; empty before its end. An unknown reason is a normal stop. */
function finishOf(message: Json): StreamPart[] {
  const raw = textOf(message.stop_reason);
  if (raw === '') return [];
  const finish: StreamPart = { type: 'finish', choice: 0, reason: REASONS.get(raw) ?? 'stop', raw };
  const text = textOf(objectOf(message.stop_details).explanation);
  return raw === 'refusal' && text !== '' ? [{ type: 'refusal', choice: 0, text }, finish] : [finish];
}

/** Reads a `usage` object; null without token counts. The host checks their plausibility. */
function readUsage(usage: Json): Usage | null {
  const input = numberOf(usage.input_tokens);
  const output = numberOf(usage.output_tokens);
  if (input === undefined || output === undefined) return null;
  return canonicalUsage(
    {
      input,
      cachedInput: numberOf(usage.cache_read_input_tokens),
      cacheWrite: numberOf(usage.cache_creation_input_tokens),
      output,
      reasoning: numberOf(objectOf(usage.output_tokens_details).thinking_tokens),
      addOns: addOnsOf(usage),
    },
    { cached: false, cacheWrite: false, reasoning: true },
  );
}

/** The bill beside tokens; undefined for nothing. Uses are named without their unit: `web_search_requests`. */
function addOnsOf({ cache_creation: written, server_tool_use: tools }: Json): AddOns | undefined {
  const hourCacheTokens = numberOf(objectOf(written).ephemeral_1h_input_tokens) ?? 0;
  const toolUses: Record<string, number> = {};
  for (const [name, uses] of Object.entries(objectOf(tools))) {
    if (numberOf(uses)) toolUses[name.replace(/_requests$/, '')] = numberOf(uses)!;
  }
  const hasUses = Object.keys(toolUses).length > 0;
  if (hourCacheTokens === 0 && !hasUses) return undefined;
  return { ...(hourCacheTokens !== 0 && { hourCacheTokens }), ...(hasUses && { toolUses }) };
}
