import type { Block } from './cache.ts';
import { asReminder } from './reminder.ts';
import { isThought } from './state.ts';

export interface MessageTurn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

/**
 * Builds the turns for the API: user and assistant alternate, and tool results come first. A system message is only allowed between a
 * user's turn and an answer, if the API accepts it there (pydantic/pydantic-ai#6765). A later answer never changes earlier turns, because
 * the API caches and checks by prefix.
 */
export class MessagesBuilder {
  readonly #inline: boolean;
  readonly #turns: MessageTurn[] = [];
  /** The content of the assistant's current turn. */
  #answer: Block[] | null = null;
  readonly #system: Block[] = [];
  /** The tool results of the user's current turn. */
  readonly #results: Block[] = [];
  readonly #userBlocks: Block[] = [];
  /** The instructions before and after the user's turn, which go after that turn for a model that accepts system messages. */
  readonly #instructions: Block[] = [];
  /** The calls of the last answer that wait for results, with the path of each call's message. */
  readonly #open = new Map<unknown, string>();
  #unanswered: string | null = null;

  /** @param inline whether the model accepts system messages within a conversation */
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

  /** Returns whether this call waits for its result. */
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
    // The model wrote this answer to instructions that were sent as a user's turn. The thinking of this answer is only valid if the adapter
    // sends the instructions in the same way again.
    if (this.#turns.length === 0 && this.#system.length > 0 && content.some(isThought)) this.#endInstructions();
    for (const { type, id } of content) if (type === 'tool_use') this.#open.set(id, path);
    if (!this.#answer) {
      this.#answer = [];
      this.#turns.push({ role: 'assistant', content: this.#answer });
    }
    for (const block of content) this.#answer.push(block);
  }

  /** Returns the prompt, and the first message with a call that has no result, which the API rejects. */
  end() {
    this.#endUser();
    this.#endCalls();
    if (this.#turns.length === 0) this.#endInstructions();
    return { system: this.#system, turns: this.#turns, unanswered: this.#unanswered };
  }

  /** Converts a conversation that consists only of instructions to a user's turn. */
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
