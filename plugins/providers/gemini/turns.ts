import { argumentsOf, type MadeCall } from '../calls.ts';
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
export interface Asked {
  /** The caller's ID of it. */
  readonly id: string;
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
  #asked: Asked[] = [];

  /** `strict`: the model's calls have IDs, and the first one of a turn is signed. */
  constructor(strict: boolean, notes: Notes) {
    this.#strict = strict;
    this.#notes = notes;
  }

  instruct(parts: readonly Json[]): void {
    if (this.#contents.length + this.#said.length === 0) this.#system.push(...parts);
    else if (parts.length > 0) this.#said.push(...marked(parts));
  }

  say(parts: readonly Json[]): void {
    this.#said.push(...parts);
  }

  /** The first call of this ID that has no result yet: only now may it have one. */
  awaiting(id: string | undefined): Asked | undefined {
    return this.#asked.find((asked) => asked.id === id && asked.output === undefined);
  }

  /** `path` is that of the message. */
  answer(texts: readonly Json[], calls: readonly SignedCall[], path: string): void {
    if (texts.length + calls.length === 0) return;
    this.#endUser();
    const parts = [...texts, ...calls.map((call) => this.#ask(call, path))];
    const last = this.#contents.at(-1);
    if (last?.role === 'model') this.#contents.pop();
    this.#contents.push({ role: 'model', parts: last?.role === 'model' ? [...last.parts, ...parts] : parts });
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
    const ids = new Set(this.#asked.map(({ told }) => told.id));
    let own = id;
    for (let count = 2; ids.has(own); count++) own = `${id}_${count}`;
    const told = { ...(this.#strict && { id: own }), name };
    const thoughtSignature = signature || (this.#strict && this.#asked.length === 0 ? UNSIGNED : '');
    this.#asked.push({ id, told, path });
    return { functionCall: { ...told, args: argumentsOf(text) }, ...(thoughtSignature && { thoughtSignature }) };
  }

  #endUser(): void {
    const results = this.#asked.flatMap(({ told, output }) =>
      // In `output`, so that not a digit of it is written anew.
      output === undefined ? [] : [{ functionResponse: { ...told, response: { output } } }],
    );
    const said = this.#said;
    if (results.length + said.length === 0) return;
    this.#endAsked();
    if (results.length > 0) this.#contents.push({ role: 'user', parts: results });
    if (said.length > 0) this.#contents.push({ role: 'user', parts: said });
    this.#said = [];
  }

  /** The API refuses calls that have no result. */
  #endAsked(): void {
    const open = this.#asked.find(({ output }) => output === undefined);
    if (open) this.#notes.refuse(open.path, 'makes a call of a tool that no message after it answers');
    this.#asked = [];
  }
}

/**
 * System messages amid a conversation keep their place: moved to its head they would say something else, and undo what
 * the provider has cached of it. The mark tells them from the user's words.
 */
const marked = (parts: readonly Json[]): Json[] => [{ text: '<system>' }, ...parts, { text: '</system>' }];
