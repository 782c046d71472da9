import type { Turn } from 'signalbox/plugin';
import { argumentsOf, callsIn, UniqueIds } from '../calls.ts';
import type { Block } from './cache.ts';

/** The most characters of an ID that are read: no provider's is longer, and a caller's may be megabytes. */
const READ_MAX = 256;

/** The calls of a conversation, with IDs that the API accepts: other providers' differ and repeat. Deterministic. */
export class ToolUses {
  readonly #names = new Set<string>();
  readonly #ids = new UniqueIds();
  /** By the caller's ID: calls of the latest message with this ID that await their result. */
  readonly #waiting = new Map<string, string[]>();

  /** The names of the called tools. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** The calls of an assistant's turn. */
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

  /** The call that a turn answers, in order where several share an ID; undefined if none awaits a result. */
  answeredBy({ toolCallId: id }: Turn): string | undefined {
    return id === undefined ? undefined : this.#waiting.get(id)?.shift();
  }
}

/** The ID in letters, digits, underscores and hyphens. */
const plain = (id: string): string =>
  id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`) || 'call';
