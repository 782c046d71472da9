import type { ChatMessage } from 'signalbox/plugin';
import { answeredId, argumentsOf, callsIn, OwnIds } from '../calls.ts';
import type { Block } from './cache.ts';

/** Characters of an ID that are looked at: no provider's is longer, and a caller's may be megabytes. */
const READ_MAX = 256;

/**
 * The calls of a conversation, under IDs that the API takes: other providers' have other letters, and repeat. The same
 * conversation always gets the same ones.
 */
export class Calls {
  readonly #names = new Set<string>();
  readonly #ids = new OwnIds();
  /** By the caller's ID, those of its latest message's calls that wait for their result. */
  readonly #waiting = new Map<string, string[]>();

  /** The tools called, each once. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** The calls that an assistant's message makes. */
  madeBy(message: ChatMessage): Block[] {
    const calls = callsIn(message);
    for (const { id } of calls) this.#waiting.set(id, []);
    return calls.map(({ id, name, arguments: text }) => {
      this.#names.add(name);
      const own = this.#ids.next(plain(id.slice(0, READ_MAX)));
      this.#waiting.get(id)?.push(own);
      return { type: 'tool_use', id: own, name, input: argumentsOf(text) };
    });
  }

  /** Which call a message answers, in the order of the calls where several share an ID; undefined for none that waits. */
  answeredBy(message: ChatMessage): string | undefined {
    const id = answeredId(message);
    return id === undefined ? undefined : this.#waiting.get(id)?.shift();
  }
}

/** An ID of letters, digits, underscores and hyphens. */
const plain = (id: string): string =>
  id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`) || 'call';
