import type { Members, StreamPart } from 'signalbox/plugin';
import { isObject, textOf } from '../json.ts';
import { malformed } from '../parts.ts';

/** Calls of one choice at most. */
const CALLS_MAX = 512;

interface Call {
  /** The upstream's own index; null where it gave none. */
  readonly upstreamIndex: unknown;
  readonly id: string;
  /** Empty until the upstream has said it. */
  name: string;
  /** Arguments that came before the name. */
  early: string;
  /** State that came before the name. */
  extra?: Members;
}

interface Delta {
  readonly upstreamIndex: unknown;
  readonly id: string;
  readonly name: string;
  /** The next piece of the arguments. */
  readonly text: string;
  readonly extra?: Members;
}

/**
 * The tool calls of one choice. Servers of the dialect leave out the index, repeat id and name, or
 * give every call the index 0; this gives each call one index, and its id and name once.
 */
export class ToolCalls {
  readonly #choice: number;
  readonly #calls: Call[] = [];

  constructor(choice: number) {
    this.#choice = choice;
  }

  /** Reads one element of `tool_calls`. Null for nothing to say yet. */
  read(delta: unknown): StreamPart | null {
    if (!isObject(delta)) return null;
    const fn = isObject(delta.function) ? delta.function : {};
    return this.#add({
      upstreamIndex: delta.index ?? null,
      id: textOf(delta.id),
      name: textOf(fn.name),
      text: argumentsOf(fn.arguments),
      extra: isObject(delta.extra_content) ? delta.extra_content : undefined,
    });
  }

  /** Reads the older `function_call`: the only call of its choice. */
  readFunctionCall(fn: unknown): StreamPart | null {
    if (!isObject(fn)) return null;
    return this.#add({ upstreamIndex: 0, id: '', name: textOf(fn.name), text: argumentsOf(fn.arguments) });
  }

  /** True where a call never got its name: nobody could answer it. */
  get nameless(): boolean {
    return this.#calls.some((call) => call.name === '');
  }

  #add({ upstreamIndex, id, name, text, extra }: Delta): StreamPart | null {
    const { choice, index } = { choice: this.#choice, index: this.#indexOf(upstreamIndex, id, name) };
    const known = this.#calls[index];
    if (known && known.name !== '') {
      return text === '' && !extra
        ? null
        : { type: 'tool-call', choice, index, arguments: text, ...(extra && { extra }) };
    }
    if (!known && index >= CALLS_MAX) return malformed('the answer has too many tool calls');
    const call: Call = known ?? { upstreamIndex, id: id || `call_${choice}_${index}`, name: '', early: '' };
    this.#calls[index] = call;
    call.name = name;
    call.early += text;
    call.extra = extra ?? call.extra;
    if (name === '') return null;
    const state = call.extra && { extra: call.extra };
    return { type: 'tool-call', choice, index, id: call.id, name, arguments: call.early, ...state };
  }

  /** Which call a delta belongs to; the number of calls for a new one. */
  #indexOf(upstreamIndex: unknown, id: string, name: string): number {
    const calls = this.#calls;
    const last = calls.length - 1;
    if (id !== '') {
      const same = calls.findLastIndex((call) => call.id === id);
      if (same >= 0) return same;
    }
    const placed = upstreamIndex === null ? last : calls.findLastIndex((call) => call.upstreamIndex === upstreamIndex);
    if (placed < 0) return calls.length;
    // A known place with another id and a name is another call; the same with no name is a continuation.
    const isNew = name !== '' && calls[placed]?.name !== '' && (id !== '' || upstreamIndex === null);
    return isNew ? calls.length : placed;
  }
}

/** Arguments are a JSON text; some servers send the object itself. */
function argumentsOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : textOf(value);
}
