import type { Block } from './cache.ts';
import { asReminder } from './reminder.ts';
import { isThought } from './state.ts';

export interface MessageTurn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

/**
 * Builds the API's turns: alternating user and assistant, tool results first, and a system message only between a user's
 * turn and an answer, where the API takes one (pydantic/pydantic-ai#6765). A later answer never changes earlier turns: the API
 * caches and checks by prefix.
 */
export class MessagesBuilder {
  readonly #inline: boolean;
  readonly #turns: MessageTurn[] = [];
  /** The content of the assistant's current turn. */
  #answer: Block[] | null = null;
  readonly #system: Block[] = [];
  /** The content of the user's current turn. */
  readonly #results: Block[] = [];
  readonly #userBlocks: Block[] = [];
  /** Instructions around it, which stand behind it, for a model that accepts system messages. */
  readonly #instructions: Block[] = [];
  /** Calls of the last answer that await results, and the path of the message of each. */
  readonly #open = new Map<unknown, string>();
  #unanswered: string | null = null;

  /** @param inline the model accepts system messages within a conversation */
  constructor(inline: boolean) {
    this.#inline = inline;
  }

  instruct(blocks: readonly Block[]): void {
    const isFirst = this.#turns.length === 0 && this.#results.length === 0 && this.#userBlocks.length === 0;
    if (isFirst) this.#system.push(...blocks);
    else if (this.#inline) this.#instructions.push(...blocks);
    else this.#userBlocks.push(...blocks.map(asReminder));
  }

  say(blocks: readonly Block[]): void {
    this.#userBlocks.push(...blocks);
  }

  /** Whether this call awaits its result. */
  awaits(call: string | undefined): boolean {
    return this.#open.has(call);
  }

  result(block: Block): void {
    this.#open.delete(block.tool_use_id);
    this.#results.push(block);
  }

  /** @param path the message's path */
  answer(content: readonly Block[], path: string): void {
    if (content.length === 0) return;
    this.#endUser();
    // An answer with thoughts to instructions alone got them as a user's turn, and must get them so again.
    if (this.#turns.length === 0 && this.#system.length > 0 && content.some(isThought)) this.#endInstructions();
    for (const { type, id } of content) if (type === 'tool_use') this.#open.set(id, path);
    if (!this.#answer) {
      this.#answer = [];
      this.#turns.push({ role: 'assistant', content: this.#answer });
    }
    for (const block of content) this.#answer.push(block);
  }

  /** Returns the prompt, and the first message with a call without a result, which the API refuses. */
  end() {
    this.#endUser();
    this.#endCalls();
    if (this.#turns.length === 0) this.#endInstructions();
    return { system: this.#system, turns: this.#turns, unanswered: this.#unanswered };
  }

  /** Turns a conversation of instructions alone into a user's turn. */
  #endInstructions(): void {
    this.#turns.push({ role: 'user', content: this.#system.splice(0) });
  }

  #endCalls(): void {
    const [path = null] = this.#open.values();
    this.#unanswered ??= path;
    this.#open.clear();
  }

  #endUser(): void {
    const content = [...this.#results.splice(0), ...this.#userBlocks.splice(0)];
    const instructions = this.#instructions.splice(0);
    if (content.length + instructions.length > 0) {
      this.#endCalls();
      this.#answer = null;
    }
    const isAlone = content.length === 0;
    if (!isAlone) this.#turns.push({ role: 'user', content });
    if (instructions.length === 0) return;
    if (isAlone) this.#turns.push({ role: 'user', content: instructions.map(asReminder) });
    else this.#turns.push({ role: 'system', content: instructions });
  }
}
