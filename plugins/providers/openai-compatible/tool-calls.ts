import type { Members, StreamPart } from 'signalbox/plugin';
import { madeCallId } from '../call-ids.ts';
import { isObject, objectOf, textOf } from '../json.ts';
import { malformed } from '../parts.ts';

/** The maximum number of calls in one choice. */
const CALLS_MAX = 512;

/** A piece of a call, or the part of a call that arrived before its name. */
interface CallPiece {
  /** The upstream's index of the call, or null. */
  readonly upstreamIndex: unknown;
  readonly id: string;
  /** Whether the call uses the older `function_call`. */
  readonly isOlder: boolean;
  /** The name; empty until the upstream sends it. */
  name: string;
  /** The next piece of the arguments, or all the arguments that arrived before the name. */
  text: string;
  extra?: Members;
}

/**
 * The tool calls of one choice. Some servers omit the index of a tool call, repeat its ID and name, or give every call the index 0.
 * `ToolCalls` gives each call one index, and returns its ID and name once.
 */
export class ToolCalls {
  readonly #choice: number;
  readonly #answerId: string;
  readonly #calls: CallPiece[] = [];

  /** @param answerId used to create IDs for calls that have no ID; may be empty */
  constructor(choice: number, answerId: string) {
    this.#choice = choice;
    this.#answerId = answerId;
  }

  /** Reads one element of `tool_calls`. Returns null if the element contains nothing new. */
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
   * Reads the older `function_call`, which is the only call of its choice. Some servers, such as llama-cpp-python's, send the same call as
   * `tool_calls` and as `function_call`; the field that arrives first counts.
   */
  readFunctionCall(fn: unknown): StreamPart | null {
    if (!isObject(fn) || this.#calls[0]?.isOlder === false) return null;
    const [name, text] = [textOf(fn.name), argumentsOf(fn.arguments)];
    return this.#add({ upstreamIndex: 0, id: '', isOlder: true, name, text });
  }

  /** Whether a tool call never got a name. */
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

  /** Returns the index of a delta's call; for a new call, the number of calls. */
  #indexOf(upstreamIndex: unknown, id: string, name: string): number {
    const calls = this.#calls;
    const last = calls.length - 1;
    if (id !== '') {
      const same = calls.findLastIndex((call) => call.id === id);
      if (same >= 0) return same;
    }
    const placed = upstreamIndex === null ? last : calls.findLastIndex((call) => call.upstreamIndex === upstreamIndex);
    if (placed < 0) return calls.length;
    // A delta with a name and another ID is a new call even if its index is known. A delta without a name continues the call with its
    // index.
    const { name: placedName, isOlder } = calls[placed]!;
    const isNamed = name !== '' && placedName !== '' && !(isOlder && name === placedName);
    const isNew = isNamed && (id !== '' || upstreamIndex === null);
    return isNew ? calls.length : placed;
  }
}

/** Returns the arguments as JSON text; some servers send an object instead. */
function argumentsOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}
