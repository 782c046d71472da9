import type { Members, StreamPart } from 'signalbox/plugin';
import { madeCallId } from '../call-ids.ts';
import { isObject, objectOf, textOf } from '../json.ts';
import { malformed } from '../parts.ts';

/** The most calls of one choice. */
const CALLS_MAX = 512;

/** A piece of a call, or what is known of a call before its name. */
interface CallPiece {
  /** The upstream's index, or null. */
  readonly upstreamIndex: unknown;
  readonly id: string;
  /** Whether it comes in the older `function_call`. */
  readonly isOlder: boolean;
  /** Empty until the upstream sends it. */
  name: string;
  /** The next piece of the arguments, or all before the name. */
  text: string;
  extra?: Members;
}

/**
 * The tool calls of one choice. Servers omit the index, repeat ID and name, or give every call the index 0; this class
 * gives each call one index, and its ID and name once.
 */
export class ToolCalls {
  readonly #choice: number;
  readonly #answerId: string;
  readonly #calls: CallPiece[] = [];

  /** @param answerId makes IDs for calls without one; may be empty */
  constructor(choice: number, answerId: string) {
    this.#choice = choice;
    this.#answerId = answerId;
  }

  /** Reads one element of `tool_calls`. Returns null without a new part. */
  read(delta: unknown): StreamPart | null {
    if (!isObject(delta)) return null;
    const fn = objectOf(delta.function);
    return this.#add({
      upstreamIndex: delta.index ?? null,
      id: textOf(delta.id),
      isOlder: false,
      name: textOf(fn.name),
      text: argumentsOf(fn.arguments),
      extra: isObject(delta.extra_content) ? delta.extra_content : undefined,
    });
  }

  /**
   * Reads the older `function_call`: the only call of its choice. Some servers, such as llama-cpp-python's, send the same call
   * in both fields: then the field that comes first counts.
   */
  readFunctionCall(fn: unknown): StreamPart | null {
    if (!isObject(fn) || this.#calls[0]?.isOlder === false) return null;
    const [name, text] = [textOf(fn.name), argumentsOf(fn.arguments)];
    return this.#add({ upstreamIndex: 0, id: '', isOlder: true, name, text });
  }

  /** True if a call never got a name. */
  get nameless(): boolean {
    return this.#calls.some((call) => call.name === '');
  }

  #add({ upstreamIndex, id, isOlder, name, text, extra }: CallPiece): StreamPart | null {
    const { choice, index } = { choice: this.#choice, index: this.#indexOf(upstreamIndex, id, name) };
    const known = this.#calls[index];
    if (known?.isOlder && !isOlder) return null;
    if (known && known.name !== '') {
      return text === '' && !extra
        ? null
        : { type: 'tool-call', choice, index, arguments: text, ...(extra && { extra }) };
    }
    if (!known && index >= CALLS_MAX) return malformed('the answer has too many tool calls');
    const ownId = id || madeCallId(this.#answerId, choice, index);
    const call: CallPiece = known ?? { upstreamIndex, id: ownId, isOlder, name: '', text: '' };
    this.#calls[index] = call;
    call.name = name;
    call.text += text;
    call.extra = extra ?? call.extra;
    if (name === '') return null;
    const state = call.extra && { extra: call.extra };
    return { type: 'tool-call', choice, index, id: call.id, name, arguments: call.text, ...state };
  }

  /** The index of a delta's call; the number of calls for a new one. */
  #indexOf(upstreamIndex: unknown, id: string, name: string): number {
    const calls = this.#calls;
    const last = calls.length - 1;
    if (id !== '') {
      const same = calls.findLastIndex((call) => call.id === id);
      if (same >= 0) return same;
    }
    const placed = upstreamIndex === null ? last : calls.findLastIndex((call) => call.upstreamIndex === upstreamIndex);
    if (placed < 0) return calls.length;
    // With a name and another ID, a known index is a new call; without a name it is a continuation.
    const { name: placedName, isOlder } = calls[placed]!;
    const isNamed = name !== '' && placedName !== '' && !(isOlder && name === placedName);
    const isNew = isNamed && (id !== '' || upstreamIndex === null);
    return isNew ? calls.length : placed;
  }
}

/** Arguments are JSON text; some servers send an object. */
function argumentsOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}
