import { answerSums, MessageReading, SystemReading, TextReader } from './reading.ts';
import { type LinearTable, TABLE } from './table.ts';
import { TextMemory } from './text-memory.ts';
import { argumentsOf, type ToolArguments } from './tool-call.ts';
import { ToolResult } from './tool-result.ts';

/**
 * Reads the texts of requests, and remembers the readings of texts that occur again. A reading depends on its text alone, so it makes no
 * difference to a decision which reader is used. State: prompt readings.
 */
export class PromptReader {
  readonly texts: TextReader;
  /** The sizes of the memories are the sizes of each of their two generations, in UTF-16 code units. */
  readonly #messages = new TextMemory<MessageReading>(2 ** 21);
  readonly #prompts = new TextMemory<SystemReading>(2 ** 20);
  readonly #answers = new TextMemory<Float64Array>(2 ** 19);
  readonly #arguments = new TextMemory<ToolArguments>(2 ** 21);
  readonly #results = new TextMemory<ToolResult>(2 ** 21);

  readonly #readMessage = (text: string): MessageReading => new MessageReading(text, this.texts);
  readonly #readPrompt = (text: string): SystemReading => new SystemReading(text, this.texts);
  readonly #readAnswer = (text: string): Float64Array => answerSums(text, this.texts);

  /** @param table another table than the shipped one, for measurements */
  constructor(table: Pick<LinearTable, 'add'> = TABLE) {
    this.texts = new TextReader(table);
  }

  /** Returns the reading of a user's message. */
  message(text: string): MessageReading {
    return this.#messages.of(text, this.#readMessage);
  }

  systemPrompt(text: string): SystemReading {
    return this.#prompts.of(text, this.#readPrompt);
  }

  /** Returns what an answer of the model adds to each column for the message after it. */
  answer(text: string): Float64Array {
    return this.#answers.of(text, this.#readAnswer);
  }

  /** Returns the reading of the arguments of a tool call. @param text JSON, as the model wrote it */
  toolArguments(text: string): ToolArguments {
    return this.#arguments.of(text, argumentsOf);
  }

  toolResult(text: string): ToolResult {
    return this.#results.of(text, readResult);
  }
}

const readResult = (text: string): ToolResult => new ToolResult(text);
