import type { ChatMessage } from 'signalbox/plugin';
import { answeredId, argumentsOf, callsIn, type MadeCall } from '../calls.ts';
import type { Block } from './cache.ts';

/** Characters of an ID that are looked at: no provider's is longer, and a caller's may be megabytes. */
const READ_MAX = 256;

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

  /** The calls that an assistant's message makes. */
  madeBy(message: ChatMessage): Block[] {
    return callsIn(message).map((call) => this.#made(call));
  }

  /** Which call a message answers; undefined for none that was made. */
  answeredBy(message: ChatMessage): string | undefined {
    const id = answeredId(message);
    return id === undefined ? undefined : this.#latest.get(id);
  }

  #made({ id, name, arguments: text }: MadeCall): Block {
    this.#names.add(name);
    const base = plain(id.slice(0, READ_MAX));
    let wire: string;
    do {
      const count = (this.#counts.get(base) ?? 0) + 1;
      this.#counts.set(base, count);
      wire = count === 1 ? base : `${base}_${count}`;
    } while (this.#taken.has(wire));
    this.#taken.add(wire);
    this.#latest.set(id, wire);
    return { type: 'tool_use', id: wire, name, input: argumentsOf(text) };
  }
}

/** An ID of letters, digits, underscores and hyphens. */
const plain = (id: string): string =>
  id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`) || 'call';
