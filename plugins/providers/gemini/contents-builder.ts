import type { ToolCallPart } from 'signalbox/plugin';
import { argumentsOf, UniqueIds } from '../calls.ts';
import type { Json } from '../json.ts';
import type { Notes } from '../notes.ts';
import { UNSIGNED } from './signature.ts';

export interface GeminiPrompt {
  /** Parts of the system instruction. */
  readonly system: readonly Json[];
  readonly contents: readonly Content[];
}

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly Json[];
}

export interface SignedCall extends ToolCallPart {
  /** Empty for none. */
  readonly signature: string;
}

/** A call of the model's last turn and its result. */
interface PendingCall {
  /** Identifies the call for Google: its tool, and an ID where the model has them. */
  readonly identity: Json;
  /** The path of its message. */
  readonly path: string;
  /** Undefined before the result. */
  output?: string;
}

/**
 * Builds the API's contents: merges consecutive messages of a role and separates leading system messages. Tool results
 * directly follow their calls, in the same order, which alone distinguishes two calls of a tool before Gemini 3.
 */
export class ContentsBuilder {
  readonly #strict: boolean;
  readonly #notes: Notes;
  /** The caller's name of the turns. */
  readonly #field: string;
  readonly #system: Json[] = [];
  readonly #contents: Content[] = [];
  /** User content since the model's last turn. */
  #userParts: Json[] = [];
  /** The model's current turn. */
  #answer: Json[] | null = null;
  #pending: PendingCall[] = [];
  /** Calls that await results, by the caller's ID. */
  readonly #waiting = new Map<string | undefined, PendingCall[]>();
  #hasResults = false;
  readonly #ids = new UniqueIds();

  /** @param strict calls have IDs, and the first one of a turn needs a signature */
  constructor(strict: boolean, notes: Notes, field: string) {
    this.#strict = strict;
    this.#field = field;
    this.#notes = notes;
  }

  instruct(parts: readonly Json[]): void {
    const isFirst = this.#contents.length + this.#userParts.length === 0;
    if (isFirst) for (const part of parts) this.#system.push(part);
    else if (parts.length > 0) this.say(asSystemText(parts));
  }

  say(parts: readonly Json[]): void {
    for (const part of parts) this.#userParts.push(part);
  }

  /** Whether this call awaits its result. */
  awaits(id: string | undefined): boolean {
    return this.#waiting.has(id);
  }

  /** Adds a result. Calls that share an ID get their results in order. */
  result(id: string | undefined, output: string): void {
    const waiting = this.#waiting.get(id);
    const pending = waiting?.shift();
    if (pending) pending.output = output;
    this.#hasResults = true;
    if (waiting?.length === 0) this.#waiting.delete(id);
  }

  /** @param path the message's path */
  answer(texts: readonly Json[], calls: readonly SignedCall[], path: string): void {
    if (texts.length + calls.length === 0) return;
    this.#endUser();
    if (!this.#answer) {
      this.#answer = [];
      this.#contents.push({ role: 'model', parts: this.#answer });
    }
    for (const text of texts) this.#answer.push(text);
    for (const call of calls) this.#answer.push(this.#call(call, path));
  }

  end(): GeminiPrompt {
    this.#endUser();
    this.#endCalls();
    const [first] = this.#contents;
    const isEmpty = first === undefined && this.#system.length === 0;
    if (isEmpty) this.#notes.refuse(this.#field, 'must not all be empty');
    // The API needs a user's turn first: the instructions, or a blank before a conversation that starts with a call.
    if (!first || (first.role === 'model' && first.parts.some(({ functionCall }) => functionCall))) {
      const parts = this.#system.splice(0);
      this.#contents.unshift({ role: 'user', parts: parts.length > 0 ? parts : [{ text: ' ' }] });
    }
    return { system: this.#system, contents: this.#contents };
  }

  #call({ id, name, arguments: text, signature }: SignedCall, path: string): Json {
    if (name === '') this.#notes.refuse(path, 'calls a tool without a name');
    const pending: PendingCall = { identity: { ...(this.#strict && { id: this.#ids.next(id) }), name }, path };
    const thoughtSignature = signature || (this.#strict && this.#pending.length === 0 ? UNSIGNED : '');
    this.#pending.push(pending);
    this.#waiting.getOrInsert(id, []).push(pending);
    return {
      functionCall: { ...pending.identity, args: argumentsOf(text) },
      ...(thoughtSignature && { thoughtSignature }),
    };
  }

  #endUser(): void {
    const userParts = this.#userParts;
    if (userParts.length === 0 && !this.#hasResults) return;
    const results = this.#pending.flatMap(({ identity, output }) =>
      // As a string in `output`, so that the text stays unchanged.
      output === undefined ? [] : [{ functionResponse: { ...identity, response: { output } } }],
    );
    this.#endCalls();
    this.#answer = null;
    if (results.length > 0) this.#contents.push({ role: 'user', parts: results });
    if (userParts.length > 0) this.#contents.push({ role: 'user', parts: userParts });
    this.#userParts = [];
  }

  /** Refuses calls without a result, as the API does. */
  #endCalls(): void {
    const open = this.#pending.find(({ output }) => output === undefined);
    if (open) this.#notes.refuse(open.path, 'calls a tool, and no later message has its result');
    this.#pending = [];
    this.#waiting.clear();
    this.#hasResults = false;
  }
}

/**
 * Marks system messages within a conversation, which keep their position: moving them to the start would change their
 * meaning and invalidate the provider's cache.
 */
const asSystemText = (parts: readonly Json[]): Json[] => [{ text: '<system>' }, ...parts, { text: '</system>' }];
