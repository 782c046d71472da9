import { type StatedLength, statedLengthOf } from './answer-length.ts';
import { Features, PLACE, type Place } from './features.ts';
import { languageOfCode, naturalLanguageOf, type ProgrammingNames, programmingNamesOf } from './languages.ts';
import { type MessageText, splitMessage } from './message.ts';
import { COLUMNS, CONTEXT_COLUMNS, type LinearTable } from './table.ts';
import { Words } from './words.ts';

/** How much the words of each place count, relative to a question. */
export const WEIGHT = { edge: 0.5, material: 0.25, system: 1.5, before: 0.75, answer: 0.25, tools: 0.5 } as const;
/** The characters that are read of the first and of the last line of a question, and at the end of an earlier message. */
const LINE = 200;
export const BEFORE = 300;
/** The characters that are read at each end of a system prompt: roles are at its beginning, orders for the answer at its end. */
const HEAD = 900;
const TAIL = 500;

/** The numbers of facts about a message, and about its context. */
const FACT = { words: 0, size: 1, shown: 2, lines: 3, signs: 4, digits: 5, asks: 6, fenced: 7 } as const;
export const CONTEXT_FACT = { named: 10, amid: 11, tools: 12, system: 20, before: 21 } as const;

/** Reads texts: the arrays that a reading needs, and the table. Another table is used only while it is fitted. */
export class TextReader {
  readonly words = new Words();
  readonly features = new Features();
  readonly table: Pick<LinearTable, 'add'>;

  constructor(table: Pick<LinearTable, 'add'>) {
    this.table = table;
  }

  /** Returns the sums of the features that were added since the last sums. */
  sums(columns = CONTEXT_COLUMNS): Float64Array {
    const sums = this.table.add(this.features, columns, new Float64Array(COLUMNS));
    this.features.clear();
    return sums;
  }

  /** Returns the sums of the words of a text. */
  textSums(text: string, place: Place, weight: number): Float64Array {
    this.words.read(text);
    this.features.addWords(this.words, 0, this.words.size, place, weight);
    return this.sums();
  }
}

/** Returns the half-octave of a number, at most 24. */
export const sizeClass = (size: number): number => Math.min(24, Math.floor(2 * Math.log2(size + 1)));

/** Whether an ASCII character is a sign of code, by its code. */
const SIGNS = new Uint8Array(0x80);
for (const sign of '{}();=<>[]') SIGNS[sign.charCodeAt(0)] = 1;
const ASKS = /[?？؟]/;
const ASKS_LAST = /[?？؟]\s*$/;

/**
 * Adds what is known of a message: the words of its question, of the first and the last line, of its material, and its form. The reader has
 * read the words of the question.
 */
function addMessage({ question, material, size, shown, fenced }: MessageText, { words, features }: TextReader): void {
  features.addWords(words, 0, words.size, PLACE.question, 1);
  const first = question.indexOf('\n');
  if (first >= 0) {
    const last = Math.max(question.lastIndexOf('\n'), question.length - LINE);
    let end = 0;
    while (end < words.size && words.from[end]! < Math.min(first, LINE)) end++;
    let start = words.size;
    while (start > 0 && words.from[start - 1]! > last) start--;
    features.addWords(words, 0, end, PLACE.first, WEIGHT.edge);
    features.addWords(words, start, words.size, PLACE.last, WEIGHT.edge);
  }
  let [signs, digits, lines] = [0, 0, 0];
  for (let at = 0; at < question.length; at++) {
    const code = question.charCodeAt(at);
    if (code === 0x0a) lines++;
    else if (code >= 0x30 && code < 0x3a) digits++;
    else if (code < 0x80 && SIGNS[code] === 1) signs++;
  }
  const { length } = question;
  features.addFact(FACT.words, sizeClass(words.size));
  features.addFact(FACT.size, sizeClass(size / 4));
  features.addFact(FACT.shown, Math.min(3, shown));
  features.addFact(FACT.lines, sizeClass(lines));
  features.addFact(FACT.signs, length === 0 ? 11 : Math.min(10, Math.round((40 * signs) / length)));
  features.addFact(FACT.digits, length === 0 ? 11 : Math.min(10, Math.round((20 * digits) / length)));
  features.addFact(FACT.asks, ASKS_LAST.test(question) ? 2 : ASKS.test(question) ? 1 : 0);
  features.addFact(FACT.fenced, fenced.length > 0 ? 1 : 0);
  if (material === '') return;
  words.read(material);
  features.addWords(words, 0, words.size, PLACE.material, WEIGHT.material);
}

/** The reading of a user's message. All later requests of the conversation contain the message again. */
export class MessageReading {
  readonly text: MessageText;
  /** The number of words of the question. */
  readonly words: number;
  /** The figures that the message adds to each column. */
  readonly sums: Float64Array;
  readonly naturalLanguage: string | null;
  readonly programming: ProgrammingNames;
  readonly stated: StatedLength;
  readonly #reader: TextReader;
  #asBefore: Float64Array | null = null;
  #withTools: Float64Array | null = null;
  #shownLanguage: string | null | undefined;

  constructor(message: string, reader: TextReader) {
    this.#reader = reader;
    this.text = splitMessage(message);
    const { question } = this.text;
    const words = reader.words.read(question);
    this.words = words.size;
    this.programming = programmingNamesOf(question, words);
    this.stated = statedLengthOf(question, words);
    this.naturalLanguage = naturalLanguageOf(question, words);
    addMessage(this.text, reader);
    this.sums = reader.sums(COLUMNS);
  }

  /** The sums that the message adds as the question before another one. */
  get asBefore(): Float64Array {
    this.#asBefore ??= this.#reader.textSums(this.text.question.slice(-BEFORE), PLACE.before, WEIGHT.before);
    return this.#asBefore;
  }

  /** The sums that the question adds if the request offers tools. */
  get withTools(): Float64Array {
    this.#withTools ??= this.#reader.textSums(this.text.question, PLACE.tools, WEIGHT.tools);
    return this.#withTools;
  }

  /** The programming language of the code that the message shows; null for none. */
  get shownLanguage(): string | null {
    const { material, question } = this.text;
    if (this.#shownLanguage === undefined) this.#shownLanguage = languageOfCode(material) ?? languageOfCode(question);
    return this.#shownLanguage;
  }
}

/** The reading of a system prompt. */
export class SystemReading {
  readonly length: number;
  readonly sums: Float64Array;
  readonly programming: ProgrammingNames;
  readonly stated: StatedLength;

  constructor(prompt: string, reader: TextReader) {
    const text = systemText(prompt);
    this.length = text.length;
    const words = reader.words.read(text);
    this.programming = programmingNamesOf(text, words);
    this.stated = statedLengthOf(text, words);
    this.sums = reader.textSums(text, PLACE.system, WEIGHT.system);
  }
}

/** Returns the part of a system prompt that is read, without the material that it shows. */
export function systemText(prompt: string): string {
  const cut = prompt.length <= HEAD + TAIL ? prompt : `${prompt.slice(0, HEAD)}\n${prompt.slice(-TAIL)}`;
  return splitMessage(cut, cut.length).question;
}

/** Returns what an answer of the model adds to the message after it. */
export const answerSums = (answer: string, reader: TextReader): Float64Array =>
  reader.textSums(answer.slice(-BEFORE), PLACE.answer, WEIGHT.answer);
