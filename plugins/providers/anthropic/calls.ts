import type { Turn } from 'signalbox/plugin';
import { argumentsOf, callsIn, UniqueIds } from '../calls.ts';
import type { Block } from './cache.ts';

/** The maximum number of characters of an ID that are read. IDs of providers are shorter, but a caller's ID could have megabytes. */
const READ_MAX = 256;

/**
 * The calls of a conversation, with IDs that the API accepts. IDs of other providers have other forms and can repeat. The IDs are
 * deterministic.
 */
export class ToolUses {
  readonly #names = new Set<string>();
  readonly #ids = new UniqueIds();
  /** For each ID of the caller, the calls of the latest message with this ID that wait for their result. */
  readonly #waiting = new Map<string, string[]>();

  /** The names of the called tools. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** Returns the calls of an assistant's turn. */
  madeBy(turn: Turn): Block[] {
    const calls = callsIn(turn);
    for (const { id } of calls) this.#waiting.set(id, []);
    return calls.map(({ id, name, arguments: text }) => {
      this.#names.add(name);
      const own = this.#ids.next(plain(id.slice(0, READ_MAX)));
      this.#waiting.get(id)?.push(own);
      return { type: 'tool_use', id: own, name, input: argumentsOf(text) };
    });
  }

  /**
   * Returns the call that a turn answers, or undefined if no call waits for a result. Calls with the same ID get their results in order.
   */
  answeredBy({ toolCallId: id }: Turn): string | undefined {
    return id === undefined ? undefined : this.#waiting.get(id)?.shift();
  }
}

/** Returns the ID with only letters, digits, underscores and hyphens. */
const plain = (id: string): string =>
  id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`) || 'call';
