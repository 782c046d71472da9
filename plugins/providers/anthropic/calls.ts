import type { ChatMessage } from 'signalbox/plugin';
import { isObject, parseJson, textOf } from '../json.ts';
import type { Block } from './cache.ts';

/**
 * The calls of a conversation, under IDs that the API takes: other providers' have other letters, and repeat. The same
 * conversation always gets the same ones.
 */
export class Calls {
  readonly #names = new Set<string>();
  readonly #counts = new Map<string, number>();
  readonly #taken = new Set<string>();
  /** By the caller's ID, that of its latest call. */
  readonly #latest = new Map<string, string>();

  /** The tools called, each once. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** The calls that an assistant's message makes, in today's form and in the older one. */
  madeBy(message: ChatMessage): Block[] {
    const calls = (message.tool_calls ?? []).map(({ id, function: fn }) => this.#made(id, fn.name, fn.arguments));
    const { function_call: older }: Readonly<Record<string, unknown>> = message;
    if (!isObject(older)) return calls;
    const name = textOf(older.name);
    return [...calls, this.#made(functionId(name), name, textOf(older.arguments))];
  }

  /** Which call a message answers; undefined for none that was made. */
  answeredBy({ role, name = '', tool_call_id: id }: ChatMessage): string | undefined {
    if (role === 'function') return this.#latest.get(functionId(name));
    return id === undefined ? undefined : this.#latest.get(id);
  }

  #made(id: string, name: string, text: string): Block {
    this.#names.add(name);
    const base = plain(id);
    let wire: string;
    do {
      const count = (this.#counts.get(base) ?? 0) + 1;
      this.#counts.set(base, count);
      wire = count === 1 ? base : `${base}_${count}`;
    } while (this.#taken.has(wire));
    this.#taken.add(wire);
    this.#latest.set(id, wire);
    return { type: 'tool_use', id: wire, name, input: inputOf(text) };
  }
}

const functionId = (name: string): string => `function_${name}`;

/** An ID of letters, digits, underscores and hyphens. */
const plain = (id: string): string =>
  id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`) || 'call';

/** What a model wrote is no object at times. It is kept for the model to see: its history must not end the conversation. */
function inputOf(text: string): unknown {
  if (text.trim() === '') return {};
  const input = parseJson(text);
  return isObject(input) ? input : { arguments: text };
}
