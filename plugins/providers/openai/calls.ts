import type { ChatMessage, Members } from 'signalbox/plugin';
import { answeredId, callsIn, OwnIds } from '../calls.ts';
import type { Notes } from '../notes.ts';
import { nineLetters } from '../openai-compatible/call-ids.ts';

/** The API takes 64 characters (openclaw/openclaw#137489, decolua/9router#393); some are left for a number behind. */
const ID_MAX = 56;
/** What names of tools are made of. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

interface Made {
  readonly callId: string;
  /** Of the message that made it. */
  readonly path: string;
}

/**
 * The calls of a conversation, each with its own result: other servers' IDs repeat, in one answer and from answer to
 * answer, and may be too long. The same conversation always gets the same ones.
 */
export class Calls {
  readonly #notes: Notes;
  readonly #ids = new OwnIds();
  /** Those that wait for their results, by the caller's ID. */
  readonly #waiting = new Map<string, Made[]>();

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** The calls that an assistant's message makes, as items. */
  madeBy(message: ChatMessage, path: string): readonly Members[] {
    return callsIn(message).map(({ id, name, arguments: text }) => {
      if (!NAME.test(name)) this.#notes.refuse(path, 'calls a tool by a name that the API does not take');
      const made = { callId: this.#ids.next(fitting(id)), path };
      const waiting = this.#waiting.get(id);
      if (waiting) waiting.push(made);
      else this.#waiting.set(id, [made]);
      return { type: 'function_call', call_id: made.callId, name, arguments: text };
    });
  }

  /** Which call a message answers, in their order where several share an ID; undefined for none that waits. */
  answeredBy(message: ChatMessage): string | undefined {
    return this.#waiting.get(answeredId(message) ?? '')?.shift()?.callId;
  }

  /** The API refuses calls that have no result. */
  end(): void {
    for (const [open] of this.#waiting.values()) {
      if (open) this.#notes.refuse(open.path, 'makes a call of a tool that no message after it answers');
    }
  }
}

const fitting = (id: string): string => (id.length <= ID_MAX ? id : `${id.slice(0, 40)}_${nineLetters(id)}`);

export const isToolName = (name: string): boolean => NAME.test(name);
