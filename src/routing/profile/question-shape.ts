import { FOLDED, isUnspaced, MARK } from './letters.ts';
import type { QuestionText } from './question.ts';

/** The form of a question without its words: counts in its head and tail. */
export interface QuestionShape {
  commas: number;
  /** Commas a few words behind another: "sport, culture, business". */
  listed: number;
  /** Slashes and bars between words: "high / low". */
  slashes: number;
  /** Ends of sentences. */
  sentences: number;
  /** Words within sentences that begin with a capital. */
  capitals: number;
  lines: number;
  paragraphs: number;
  /** Lines that begin with a bullet or a number. */
  items: number;
  /** Multiple choice, lettered in order: "A. … B. …", "(a) … (b) …". */
  choices: number;
  /** Signs of addresses and accounts. */
  ats: number;
  /** UTF-16 code units of the lines that ask. */
  length: number;
}

/** Characters read of the beginning and of the end. */
const HEAD = 400;
const TAIL = 300;
/** Most characters of an item in a list of choices. */
const ITEM = 30;

/** Reads the form of a question. Pure; the time is bounded. */
export function shapeOf({ text, lines, length }: Pick<QuestionText, 'text' | 'lines' | 'length'>): QuestionShape {
  const shape: QuestionShape = {
    commas: 0,
    listed: 0,
    slashes: 0,
    sentences: 0,
    capitals: 0,
    lines: Math.max(0, lines.length - 1),
    paragraphs: 0,
    items: 0,
    choices: 0,
    ats: 0,
    length,
  };
  let passed = 0;
  let behind = Number.POSITIVE_INFINITY;
  for (const { from, to } of lines) {
    // A blank line, not a block that was skipped.
    if (from - behind > 1 && from - behind <= 4) shape.paragraphs++;
    behind = to;
    const head = Math.min(to, from + Math.max(0, HEAD - passed));
    const tail = Math.max(head, to - Math.max(0, TAIL - (length - passed - (to - from))));
    if (head > from) look(shape, text, from, head);
    if (tail < to) look(shape, text, tail, to);
    passed += to - from;
  }
  return shape;
}

/** Kinds of characters. All others are of kind 0. */
const WORD = 1;
const COMMA = 2;
const END = 3;
const SLASH = 4;
const BULLET = 5;
const AT = 6;
const BLANK = 7;
/** By UTF-16 code unit, its kind. */
const KINDS = new Uint8Array(0x10000);
for (let code = 0; code < KINDS.length; code++) if (FOLDED[code]! > MARK) KINDS[code] = WORD;
for (const [kind, signs] of Object.entries({
  [COMMA]: ',;،，、；',
  [END]: '.!?。！？؟।',
  [SLASH]: '/|',
  [BULLET]: '-*•–',
  [AT]: '@',
  [BLANK]: ' ',
}))
  for (const sign of signs) KINDS[sign.charCodeAt(0)] = Number(kind);

/** Reads a line, or a part of one. */
function look(shape: QuestionShape, text: string, from: number, to: number): void {
  let comma = from - ITEM - 1;
  /** The last character that is no blank. */
  let before = 0x0a;
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at);
    const kind = KINDS[code]!;
    if (kind === BLANK) continue;
    const last = before;
    const isFirst = last === 0x0a;
    before = code;
    if (kind === WORD) {
      if (!isFirst && isCapital(code) && KINDS[last] !== END) shape.capitals++;
      if (isFirst && isItem(text, at, to)) shape.items++;
      if (isChoice(text, at, to, shape.choices)) shape.choices++;
      // Only the first letter of a word counts.
      while (at + 1 < to && KINDS[text.charCodeAt(at + 1)] === WORD) at++;
      before = text.charCodeAt(at);
    } else if (kind === COMMA) {
      shape.commas++;
      if (at - comma <= ITEM) shape.listed++;
      comma = at;
    } else if (kind === END) {
      if (isEnd(text, at, to)) shape.sentences++;
    } else if (kind === SLASH) {
      if (KINDS[last] === WORD) shape.slashes++;
    } else if (kind === AT) shape.ats++;
    else if (isFirst && kind === BULLET) shape.items++;
  }
}

const isCapital = (code: number): boolean => {
  if (code < 0x80) return code > 0x40 && code < 0x5b;
  return !isUnspaced(code) && String.fromCharCode(code).toLowerCase() !== String.fromCharCode(code);
};

/** `1.`, `2)` */
function isItem(text: string, at: number, to: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 0x30 || code > 0x39 || at + 1 >= to) return false;
  const next = text.charCodeAt(at + 1);
  return next === 0x2e || next === 0x29;
}

/** `A.`, `b)`, `C:`: a letter by itself, in its turn. */
function isChoice(text: string, at: number, to: number, turn: number): boolean {
  const code = text.charCodeAt(at) - turn;
  if ((code !== 0x41 && code !== 0x61 && code !== 0x0410 && code !== 0x0430) || at + 1 >= to) return false;
  const next = text.charCodeAt(at + 1);
  return next === 0x2e || next === 0x29 || next === COLON;
}
const COLON = 0x3a;

/** A point within a number or a name ends no sentence. */
function isEnd(text: string, at: number, to: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x80 || at + 1 >= to || text.charCodeAt(at + 1) <= 0x20;
}
