import type { Block } from './cache.ts';
import { isThought } from './state.ts';

export interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

/**
 * Builds the API's turns: a user's and an assistant's in alternation, results of tools first, and a system message only
 * behind a user's turn. A turn once sent stays as it is when the conversation goes on: the API caches, and checks, by
 * what stood before.
 */
export class Turns {
  readonly #inline: boolean;
  readonly #turns: Turn[] = [];
  /** The content of the assistant's turn that is being built. */
  #answer: Block[] | null = null;
  readonly #system: Block[] = [];
  /** Of the user's turn that is being built. */
  #results: Block[] = [];
  #said: Block[] = [];
  #instructions: Block[] = [];
  /** Calls of the last answer that wait for their results, and the path of the message that made each. */
  readonly #open = new Map<unknown, string>();
  #unanswered: string | null = null;

  /** `inline`: the model takes system messages amid a conversation. */
  constructor(inline: boolean) {
    this.#inline = inline;
  }

  instruct(blocks: readonly Block[]): void {
    const isFirst = this.#turns.length === 0 && this.#results.length === 0 && this.#said.length === 0;
    (isFirst ? this.#system : this.#instructions).push(...blocks);
  }

  say(blocks: readonly Block[]): void {
    this.#said.push(...blocks);
  }

  /** Whether the result of this call may come now. */
  awaits(call: string | undefined): boolean {
    return this.#open.has(call);
  }

  result(block: Block): void {
    this.#open.delete(block.tool_use_id);
    this.#results.push(block);
  }

  /** `path` is that of the message. */
  answer(content: readonly Block[], path: string): void {
    if (content.length === 0) return;
    this.#endUser();
    // Who thought at the very start was told the instructions as a user's, and is told them so again.
    if (this.#turns.length === 0 && this.#system.length > 0 && content.some(isThought)) this.#endInstructions();
    for (const { type, id } of content) if (type === 'tool_use') this.#open.set(id, path);
    if (!this.#answer) {
      this.#answer = [];
      this.#turns.push({ role: 'assistant', content: this.#answer });
    }
    for (const block of content) this.#answer.push(block);
  }

  /** All of it, and the first message that made a call which has no result: the API refuses such. */
  end(): { readonly system: readonly Block[]; readonly turns: readonly Turn[]; readonly unanswered: string | null } {
    this.#endUser();
    this.#endCalls();
    if (this.#turns.length === 0) this.#endInstructions();
    return { system: this.#system, turns: this.#turns, unanswered: this.#unanswered };
  }

  /** Who has nothing but instructions wants an answer to them. */
  #endInstructions(): void {
    this.#turns.push({ role: 'user', content: this.#system.splice(0) });
  }

  #endCalls(): void {
    const [path = null] = this.#open.values();
    this.#unanswered ??= path;
    this.#open.clear();
  }

  #endUser(): void {
    const content = [...this.#results, ...this.#said];
    const instructions = this.#instructions;
    this.#results = [];
    this.#said = [];
    this.#instructions = [];
    if (content.length + instructions.length > 0) {
      this.#endCalls();
      this.#answer = null;
    }
    if (content.length > 0) this.#turns.push({ role: 'user', content });
    if (instructions.length === 0) return;
    if (content.length === 0) this.#turns.push({ role: 'user', content: instructions });
    else if (this.#inline) this.#turns.push({ role: 'system', content: instructions });
    else this.#system.push(...instructions);
  }
}
