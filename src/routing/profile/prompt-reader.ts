import { ReadingTables } from './reading-tables.ts';
import { type SystemPrompt, systemPromptOf } from './system-prompt.ts';
import { TextMemory } from './text-memory.ts';
import { argumentsOf, type ToolArguments } from './tool-call.ts';
import { ToolResult } from './tool-result.ts';
import { type OfferedNames, offeredNames } from './tools.ts';
import { UserMessage } from './user-message.ts';
import { PLACE } from './word-rows.ts';
import { Words } from './word-sums.ts';

/**
 * Reads the texts of requests, and remembers the readings of texts that occur again. A reading depends on its text alone, so it makes no
 * difference to a decision which reader is used. State: prompt readings.
 */
export class PromptReader {
  readonly tables = new ReadingTables();
  /** The sizes of the memories are the sizes of each of their two generations, in UTF-16 code units. */
  readonly #messages = new TextMemory<UserMessage>(2 ** 21);
  readonly #prompts = new TextMemory<SystemPrompt>(2 ** 20);
  readonly #answers = new TextMemory<Words>(2 ** 19);
  /** An agent offers the same functions in every request. */
  readonly #tools = new TextMemory<OfferedNames>(2 ** 21);
  readonly #arguments = new TextMemory<ToolArguments>(2 ** 21);
  readonly #results = new TextMemory<ToolResult>(2 ** 21);

  readonly #readMessage = (text: string): UserMessage => new UserMessage(text, this.tables);
  readonly #readPrompt = (text: string): SystemPrompt => systemPromptOf(text, this.tables);
  readonly #readAnswer = (text: string): Words => Words.of(text, PLACE.answer, 0.25, this.tables.rows);

  /** Returns the reading of a user's message. */
  message(text: string): UserMessage {
    return this.#messages.of(text, this.#readMessage);
  }

  /** Returns the reading of a message that consists only of blocks, which then contain the question. */
  unwrapped(text: string): UserMessage {
    return new UserMessage(text, this.tables, true);
  }

  systemPrompt(text: string): SystemPrompt {
    return this.#prompts.of(text, this.#readPrompt);
  }

  /** Returns the words at the end of an answer of the model. */
  answer(text: string): Words {
    return this.#answers.of(text, this.#readAnswer);
  }

  /** Returns the names of offered functions, ready for a comparison. @param names one per line */
  readonly offeredNames = (names: string): OfferedNames => this.#tools.of(names, offeredNames);

  /** Returns the reading of the arguments of a tool call. @param text JSON, as the model wrote it */
  toolArguments(text: string): ToolArguments {
    return this.#arguments.of(text, argumentsOf);
  }

  toolResult(text: string): ToolResult {
    return this.#results.of(text, readResult);
  }

  /** Forgets the readings of messages and prompts. Only a fit needs this, because it changes the figures that readings depend on. */
  forget(): void {
    this.#messages.forget();
    this.#prompts.forget();
  }
}

const readResult = (text: string): ToolResult => new ToolResult(text);
