import { argumentsOf, type MadeCall, OwnIds } from '../calls.ts';
import type { Json } from '../json.ts';
import type { Notes } from '../notes.ts';
import { UNSIGNED } from './signature.ts';

export interface Conversation {
  /** Parts of the system instruction. */
  readonly system: readonly Json[];
  readonly contents: readonly Content[];
}

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly Json[];
}

export interface SignedCall extends MadeCall {
  /** Empty for none. */
  readonly signature: string;
}

/** A call of the model's last turn. */
interface Asked {
  /** What tells it from others, in Google's terms: its tool, and an ID where the model has them. */
  readonly told: Json;
  /** Of the message that made it. */
  readonly path: string;
  /** Undefined until it is there. */
  output?: string;
}

/**
 * Builds the API's contents: neighbours of one speaker in one, the system's words before them apart. The results of tools
 * stand by themselves right behind their calls, and in their order: before Gemini 3 nothing else tells two calls of one
 * tool apart.
 */
export class Turns {
  readonly #strict: boolean;
  readonly #notes: Notes;
  readonly #system: Json[] = [];
  readonly #contents: Content[] = [];
  /** What the user says since the model's last turn. */
  #said: Json[] = [];
  /** The model's turn that is being built. */
  #answer: Json[] | null = null;
  #asked: Asked[] = [];
  /** Those that wait for their results, by the caller's ID. */
  readonly #waiting = new Map<string | undefined, Asked[]>();
  #hasResults = false;
  readonly #ids = new OwnIds();

  /** `strict`: the model's calls have IDs, and the first one of a turn is signed. */
  constructor(strict: boolean, notes: Notes) {
    this.#strict = strict;
    this.#notes = notes;
  }

  instruct(parts: readonly Json[]): void {
    const isFirst = this.#contents.length + this.#said.length === 0;
    if (isFirst) for (const part of parts) this.#system.push(part);
    else if (parts.length > 0) this.say(marked(parts));
  }

  say(parts: readonly Json[]): void {
    for (const part of parts) this.#said.push(part);
  }

  /** Whether the result of this call may come now. */
  awaits(id: string | undefined): boolean {
    return this.#waiting.has(id);
  }

  /** Of calls that share an ID the first one gets the first result. */
  result(id: string | undefined, output: string): void {
    const waiting = this.#waiting.get(id);
    const asked = waiting?.shift();
    if (asked) asked.output = output;
    this.#hasResults = true;
    if (waiting?.length === 0) this.#waiting.delete(id);
  }

  /** `path` is that of the message. */
  answer(texts: readonly Json[], calls: readonly SignedCall[], path: string): void {
    if (texts.length + calls.length === 0) return;
    this.#endUser();
    if (!this.#answer) {
      this.#answer = [];
      this.#contents.push({ role: 'model', parts: this.#answer });
    }
    for (const text of texts) this.#answer.push(text);
    for (const call of calls) this.#answer.push(this.#ask(call, path));
  }

  end(): Conversation {
    this.#endUser();
    this.#endAsked();
    const [first] = this.#contents;
    const isEmpty = first === undefined && this.#system.length === 0;
    if (isEmpty) this.#notes.refuse('messages', 'must say something: all are empty');
    // There must be something to answer. Whoever has nothing but instructions wants an answer to them; and before a call
    // that came of nothing a blank stands for it.
    if (!first || (first.role === 'model' && first.parts.some(({ functionCall }) => functionCall))) {
      const parts = this.#system.splice(0);
      this.#contents.unshift({ role: 'user', parts: parts.length > 0 ? parts : [{ text: ' ' }] });
    }
    return { system: this.#system, contents: this.#contents };
  }

  #ask({ id, name, arguments: text, signature }: SignedCall, path: string): Json {
    if (name === '') this.#notes.refuse(path, 'makes a call of a tool without a name');
    const asked: Asked = { told: { ...(this.#strict && { id: this.#ids.next(id) }), name }, path };
    const thoughtSignature = signature || (this.#strict && this.#asked.length === 0 ? UNSIGNED : '');
    this.#asked.push(asked);
    const waiting = this.#waiting.get(id);
    if (waiting) waiting.push(asked);
    else this.#waiting.set(id, [asked]);
    return { functionCall: { ...asked.told, args: argumentsOf(text) }, ...(thoughtSignature && { thoughtSignature }) };
  }

  #endUser(): void {
    const said = this.#said;
    if (said.length === 0 && !this.#hasResults) return;
    const results = this.#asked.flatMap(({ told, output }) =>
      // In `output`, so that not a digit of it is written anew.
      output === undefined ? [] : [{ functionResponse: { ...told, response: { output } } }],
    );
    this.#endAsked();
    this.#answer = null;
    if (results.length > 0) this.#contents.push({ role: 'user', parts: results });
    if (said.length > 0) this.#contents.push({ role: 'user', parts: said });
    this.#said = [];
  }

  /** The API refuses calls that have no result. */
  #endAsked(): void {
    const open = this.#asked.find(({ output }) => output === undefined);
    if (open) this.#notes.refuse(open.path, 'makes a call of a tool that no message after it answers');
    this.#asked = [];
    this.#waiting.clear();
    this.#hasResults = false;
  }
}

/**
 * System messages amid a conversation keep their place: moved to its head they would say something else, and undo what
 * the provider has cached of it. The mark tells them from the user's words.
 */
const marked = (parts: readonly Json[]): Json[] => [{ text: '<system>' }, ...parts, { text: '</system>' }];
