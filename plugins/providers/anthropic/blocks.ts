import type { EventPlace, OriginalPath, StreamPart } from 'signalbox/plugin';
import { isObject, type Json, textOf } from '../json.ts';
import { malformed } from '../parts.ts';
import { detailOf, type Thought } from './state.ts';

/** The maximum number of open blocks in an answer. Normally the blocks of an answer are sequential. */
const OPEN_MAX = 64;
/** The maximum number of calls in one answer, as in OpenAI's dialect. */
const CALLS_MAX = 512;
/**
 * The maximum number of characters of a thinking block and its signature, which are kept until the block ends. Answers have at most a
 * million tokens.
 */
const THOUGHT_MAX = 8_388_608;

interface OpenThought {
  readonly type: 'thought';
  text: string;
  signature: string;
  readonly chars: number;
  readonly calls: number;
}
type OpenBlock = { readonly type: 'call'; readonly index: number; readonly isWhole: boolean } | OpenThought;

/** The locations of pieces in their events. Most events have one piece of text. */
const PIECES = {
  text: { at: ['delta', 'text'] },
  thinking: { at: ['delta', 'thinking'] },
  partial_json: { at: ['delta', 'partial_json'] },
} as const satisfies Readonly<Record<string, EventPlace>>;
const NOWHERE: Partial<typeof PIECES> = {};
const BLOCK: OriginalPath = ['content_block'];

/** Reads the content blocks of one answer. An unstreamed block is a start followed by a stop. */
export class BlockReader {
  readonly #places: Partial<typeof PIECES>;
  readonly #open = new Map<unknown, OpenBlock>();
  #chars = 0;
  #calls = 0;
  #thoughts = 0;

  /** @param passes whether the answer is also passed on unchanged; the parts then state their locations in the passed event */
  constructor(passes: boolean) {
    this.#places = passes ? PIECES : NOWHERE;
  }

  /**
   * @param at the block's index in the answer
   * @param place of the block in its event
   */
  start(at: unknown, block: unknown, parts: StreamPart[], place = BLOCK): void {
    if (!isObject(block)) return;
    if (block.type === 'text') this.#text(block.text, this.placeIn(place, 'text'), parts);
    else if (block.type === 'redacted_thinking') this.#redacted(textOf(block.data), parts);
    else if (block.type !== 'thinking' && block.type !== 'tool_use') return;
    else if (this.#open.size >= OPEN_MAX) parts.push(malformed('the answer has too many open blocks'));
    else if (block.type === 'tool_use') this.#call(at, block, this.placeIn(place, 'input'), parts);
    else {
      const thought: OpenThought = { type: 'thought', text: '', signature: '', chars: this.#chars, calls: this.#calls };
      this.#open.set(at, thought);
      this.#think(thought, block, this.placeIn(place, 'thinking'), parts);
    }
  }

  delta(at: unknown, delta: unknown, parts: StreamPart[]): void {
    if (!isObject(delta)) return;
    const open = this.#open.get(at);
    const places = this.#places;
    if (delta.type === 'text_delta') this.#text(delta.text, places.text, parts);
    else if (open?.type === 'thought') this.#think(open, delta, places.thinking, parts);
    else if (open?.type === 'call' && !open.isWhole && delta.type === 'input_json_delta')
      feed(open.index, textOf(delta.partial_json), places.partial_json, parts);
  }

  stop(at: unknown, parts: StreamPart[]): void {
    const open = this.#open.get(at);
    this.#open.delete(at);
    if (open?.type === 'thought') this.#signed(open, parts);
  }

  /** Ends the blocks that the upstream left open. */
  end(parts: StreamPart[]): void {
    for (const at of [...this.#open.keys()]) this.stop(at, parts);
  }

  /** Returns the location of a text in its event; undefined if the event is not passed on. */
  placeIn(owner: OriginalPath, member: string): EventPlace | undefined {
    return this.#places === NOWHERE ? undefined : { at: [...owner, member] };
  }

  #text(value: unknown, place: EventPlace | undefined, parts: StreamPart[]): void {
    const text = textOf(value);
    this.#chars += text.length;
    if (text !== '') parts.push({ type: 'text', choice: 0, text, place });
  }

  #call(at: unknown, block: Json, place: EventPlace | undefined, parts: StreamPart[]): void {
    const name = textOf(block.name);
    const index = this.#calls++;
    // Some servers send the whole input of a tool call at the start of the block.
    const isWhole = hasMembers(block.input);
    this.#open.set(at, { type: 'call', index, isWhole });
    if (name === '') parts.push(malformed('a tool call has no name'));
    else if (index >= CALLS_MAX) parts.push(malformed('the answer has too many tool calls'));
    else
      parts.push({
        type: 'tool-call',
        choice: 0,
        index,
        id: textOf(block.id) || `call_0_${index}`,
        name,
        arguments: '',
      });
    if (isWhole) feed(index, JSON.stringify(block.input), place, parts);
  }

  #think(thought: OpenThought, piece: Json, place: EventPlace | undefined, parts: StreamPart[]): void {
    const text = textOf(piece.thinking);
    thought.text += text;
    thought.signature += textOf(piece.signature);
    if (thought.text.length + thought.signature.length > THOUGHT_MAX)
      parts.push(malformed('a thinking block is too long'));
    else if (text !== '') parts.push({ type: 'reasoning', choice: 0, text, place });
  }

  #signed({ text, signature, chars, calls }: OpenThought, parts: StreamPart[]): void {
    if (signature === '') return;
    this.#state({ block: { type: 'thinking', thinking: text, signature }, chars, calls }, parts);
  }

  #redacted(data: string, parts: StreamPart[]): void {
    if (data === '') return;
    this.#state({ block: { type: 'redacted_thinking', data }, chars: this.#chars, calls: this.#calls }, parts);
  }

  #state(thought: Thought, parts: StreamPart[]): void {
    parts.push({ type: 'state', choice: 0, details: [detailOf(thought, this.#thoughts++)] });
  }
}

function feed(index: number, text: string, place: EventPlace | undefined, parts: StreamPart[]): void {
  if (text !== '') parts.push({ type: 'tool-call', choice: 0, index, arguments: text, place });
}

const hasMembers = (value: unknown): boolean => isObject(value) && Object.keys(value).length > 0;
