import type { Frame, StreamPart, StreamReader } from 'signalbox/plugin';
import { isObject, type Json, parseJson, textOf } from '../json.ts';
import { malformed } from '../parts.ts';
import { BlockReader } from './blocks.ts';
import { failureOfError } from './failure.ts';
import { finishOf } from './finish.ts';
import { readUsage } from './usage.ts';

/** The usage members that are kept. Copying arbitrary members for every event would be too slow. */
const FIGURES = [
  'input_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'output_tokens',
  'output_tokens_details',
] as const;

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
    return parts;
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
    const total = readUsage(this.#usage);
    if (total) parts.push({ type: 'usage', usage: total });
  }
}
