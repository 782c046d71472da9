import { SharedValues } from '../../core/json/shared-values.ts';
import type { ToolDefinition } from '../../core/request/conversation.ts';
import type { Facts } from '../../core/request/facts.ts';
import { difficultyOf, hardShareOf } from './difficulty.ts';
import { type QuestionText, readQuestion } from './question.ts';
import { type QuestionShape, shapeOf } from './question-shape.ts';
import type { QuestionView } from './question-view.ts';
import { QuestionReading } from './reading.ts';
import type { ReadingTables } from './reading-tables.ts';
import { likelihoods, sharesOf } from './shares.ts';
import { oddsOf, taskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';
import { namesTool, type OfferedNames } from './tools.ts';
import { PLACE, type WordRows } from './word-rows.ts';
import { Words } from './word-sums.ts';

/** The task of a message in its context. */
export interface TaskGuess extends Pick<Facts, 'task' | 'mix' | 'difficulty'> {
  /** How likely the message is hard, 0..1. */
  readonly hard: number;
}

/** A guess about a message, and the view that it is based on. */
interface ViewGuess {
  readonly view: QuestionView;
  readonly guess: TaskGuess;
}

/**
 * The words of a user's message, read once, with the last guesses about it. Every later request of the conversation contains a user's
 * message again.
 */
export class UserMessage {
  readonly question: QuestionText;
  readonly reading: QuestionReading;
  readonly shape: QuestionShape;
  /** The words of the question and of its material. */
  readonly words: readonly Words[];
  readonly #tables: ReadingTables;
  #before: Words | null = null;
  /** The last two guesses about the message: an agent's question is read with and without the calls that follow it. */
  #guesses: readonly ViewGuess[] = [];
  /** The last likelihoods of the message, and the view that they are based on. */
  #likelihoods: Float64Array | null = null;
  #likelihoodsView: QuestionView | null = null;
  #tools: { readonly names: string; readonly areNamed: boolean } | null = null;

  /** @param isUnwrapped true for a message that consists only of blocks, which then contain the question */
  constructor(text: string, tables: ReadingTables, isUnwrapped = false) {
    this.#tables = tables;
    this.question = readQuestion(text, tables, isUnwrapped ? 'blocks' : 'message');
    this.reading = new QuestionReading(this.question, tables);
    this.shape = shapeOf(this.question);
    this.words = wordsOf(this.question, tables.rows);
  }

  /** The words of this message as the question before another one. */
  get asBefore(): Words {
    this.#before ??= Words.of(this.question.text.slice(-BEFORE), PLACE.before, 0.375, this.#tables.rows);
    return this.#before;
  }

  /** Returns whether the message contains a word of a tool's name. @param offeredNames prepares the names, which are one per line */
  namesTool(tools: readonly ToolDefinition[], offeredNames: (names: string) => OfferedNames): boolean {
    const names = knownNames.get(tools) ?? knownNames.set(tools, tools.map(({ name }) => oneLine(name)).join('\n'));
    if (this.#tools?.names !== names)
      this.#tools = { names, areNamed: namesTool(offeredNames(names), this.question, this.reading) };
    return this.#tools.areNamed;
  }

  /** Returns the probability of each task. @param view the message in its context */
  likelihoods(view: QuestionView): Float64Array {
    if (this.#likelihoods === null || !isSameContext(this.#likelihoodsView, view)) {
      this.#likelihoods = likelihoods(taskLogits(view, this.#tables));
      this.#likelihoodsView = view;
    }
    return this.#likelihoods;
  }

  /** Returns the task and the difficulty of the message. @param view the message in its context */
  guess(view: QuestionView): TaskGuess {
    const known = this.#guesses.find((one) => isSameContext(one.view, view));
    if (known) return known.guess;
    const odds = oddsOf(view, this.#tables);
    const { task, mix } = sharesOf(odds.subarray(0, TASKS.length), this.#tables.tasks);
    const guess = { task, mix, difficulty: difficultyOf(odds), hard: hardShareOf(odds) };
    this.#guesses = [{ view, guess }, ...this.#guesses.slice(0, 1)];
    return guess;
  }
}

/** The number of characters read of the first line and of the last line. */
const LINE = 200;

/** Returns the words of a question, of its first and last line, and of its material. */
function wordsOf({ text, lines, words, material }: QuestionText, rows: WordRows): Words[] {
  const all = [new Words(words, 1)];
  if (lines.length > 1) {
    const [first, last] = [lines[0]!, lines.at(-1)!];
    all.push(
      Words.of(text.slice(first.from, Math.min(first.to, first.from + LINE)), PLACE.first, 0.5, rows),
      Words.of(text.slice(Math.max(last.from, last.to - LINE), last.to), PLACE.last, 0.5, rows),
    );
  }
  if (material.length > 0) all.push(new Words(material, 0.25));
  return all;
}

/** The number of characters read at the end of an earlier message. */
const BEFORE = 300;

/** The names in lists of tools that several requests share. */
const knownNames = new SharedValues<readonly ToolDefinition[], string>();

/** Names are compared one per line. A line end within a name separates words as a space does. */
const oneLine = (name: string): string => (name.includes('\n') ? name.replaceAll('\n', ' ') : name);

/** Whether two contexts of a message lead to the same task. Equal instructions and likelihoods are the same objects. */
const isSameContext = (one: QuestionView | null, other: QuestionView): boolean =>
  one !== null &&
  one.system === other.system &&
  one.before === other.before &&
  isSameWords(one.words, other.words) &&
  one.tools?.named === other.tools?.named &&
  one.tools?.amid === other.tools?.amid;

const isSameWords = (one: readonly Words[], other: readonly Words[]): boolean =>
  one.length === other.length && one.every((words, at) => words === other[at]);
