import type { Members, Turn } from 'signalbox/plugin';
import { nineLetters } from '../call-ids.ts';
import { callsIn, UniqueIds } from '../calls.ts';
import type { Notes } from '../notes.ts';

/**
 * OpenAI's API accepts call IDs of 64 characters (openclaw/openclaw#137489, decolua/9router#393). The characters beyond `ID_MAX` are for a
 * suffix.
 */
const ID_MAX = 56;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Matches the calls of a conversation with their results, with unique IDs. Call IDs of other servers can repeat, within and across answers,
 * and may be too long. The IDs are deterministic.
 */
export class FunctionCalls {
  readonly #notes: Notes;
  readonly #ids = new UniqueIds();
  /** For each ID of the caller, the calls that wait for results, with the paths of their messages. */
  readonly #waiting = new Map<string, { readonly callId: string; readonly path: string }[]>();

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** Returns the calls of an assistant's turn, as items. */
  madeBy(turn: Turn, path: string): readonly Members[] {
    return callsIn(turn).map(({ id, name, arguments: text }) => {
      if (!NAME.test(name)) this.#notes.refuse(path, 'calls a tool whose name this provider does not accept');
      const made = { callId: this.#ids.next(shortened(id)), path };
      this.#waiting.getOrInsert(id, []).push(made);
      return { type: 'function_call', call_id: made.callId, name, arguments: text };
    });
  }

  /**
   * Returns the call that a turn answers, or undefined if no call waits for a result. Calls with the same ID get their results in order.
   */
  answeredBy({ toolCallId }: Turn): string | undefined {
    return this.#waiting.get(toolCallId ?? '')?.shift()?.callId;
  }

  /** Rejects calls without a result, as the API does. */
  end(): void {
    for (const [open] of this.#waiting.values()) {
      if (open) this.#notes.refuse(open.path, 'calls a tool, but no later message has its result');
    }
  }
}

const shortened = (id: string): string => (id.length <= ID_MAX ? id : `${id.slice(0, 40)}_${nineLetters(id)}`);

export const isToolName = (name: string): boolean => NAME.test(name);
