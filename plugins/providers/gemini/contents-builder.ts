import type { ToolCallPart } from 'signalbox/plugin';
import { argumentsOf, UniqueIds } from '../calls.ts';
import type { Json } from '../json.ts';
import type { Notes } from '../notes.ts';
import { UNSIGNED } from './signature.ts';

export interface GeminiPrompt {
  /** The parts of the system instruction. */
  readonly system: readonly Json[];
  readonly contents: readonly Content[];
}

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly Json[];
}

export interface SignedCall extends ToolCallPart {
  /** The signature of the part; empty for none. */
  readonly signature: string;
}

/** A call in the model's last turn, and its result. */
interface PendingCall {
  /** The members that identify the call for Google: its tool, and an ID if the model has IDs. */
  readonly identity: Json;
  /** The path of the message that contains the call. */
  readonly path: string;
  /** The result of the call; undefined until it is known. */
  output?: string;
}

/**
 * Builds the contents for the API. `ContentsBuilder` merges consecutive messages of a role and separates leading system messages. Tool
 * results directly follow their calls in the same order. Before Gemini 3, only this order distinguishes two calls of the same tool.
 */
export class ContentsBuilder {
  readonly #strict: boolean;
  readonly #notes: Notes;
  /** The caller's name of the field with the turns. */
  readonly #field: string;
  readonly #system: Json[] = [];
  readonly #contents: Content[] = [];
  /** The user's content since the model's last turn. */
  #userParts: Json[] = [];
  /** The model's current turn. */
  #answer: Json[] | null = null;
  #pending: PendingCall[] = [];
  /** The calls that wait for results, by the caller's ID. */
  readonly #waiting = new Map<string | undefined, PendingCall[]>();
  #hasResults = false;
  readonly #ids = new UniqueIds();

  /** @param strict whether calls have IDs and the first call of a turn needs a signature */
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

  /** Returns whether this call waits for its result. */
  awaits(id: string | undefined): boolean {
    return this.#waiting.has(id);
  }

  /** Adds the result of a call. Calls with the same ID get their results in order. */
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
    // The API requires that the first turn is a user's turn. The added first turn contains the instructions, or a blank if the conversation
    // starts with a call.
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
      // The adapter sends the result as a string in `output`, so that its text stays unchanged.
      output === undefined ? [] : [{ functionResponse: { ...identity, response: { output } } }],
    );
    this.#endCalls();
    this.#answer = null;
    if (results.length > 0) this.#contents.push({ role: 'user', parts: results });
    if (userParts.length > 0) this.#contents.push({ role: 'user', parts: userParts });
    this.#userParts = [];
  }

  /** Rejects calls without a result, as the API does. */
  #endCalls(): void {
    const open = this.#pending.find(({ output }) => output === undefined);
    if (open) this.#notes.refuse(open.path, 'calls a tool, but no later message has its result');
    this.#pending = [];
    this.#waiting.clear();
    this.#hasResults = false;
  }
}

/**
 * Marks system messages within a conversation. System messages within a conversation keep their position, because moving them to the start
 * would change their meaning and invalidate the provider's cache.
 */
const asSystemText = (parts: readonly Json[]): Json[] => [{ text: '<system>' }, ...parts, { text: '</system>' }];
