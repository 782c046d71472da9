import { DIGIT, FOLDED, isUnspaced, MARK } from './letters.ts';
import { type QuestionText, skipBlanks } from './question.ts';

type AskingLines = Pick<QuestionText, 'text' | 'lines' | 'length'>;

/** The form of a question without its words: counts of characters and items in its head and tail. */
export type QuestionShape = ReturnType<typeof shapeBefore>;

const shapeBefore = ({ lines, length }: AskingLines) => ({
  commas: 0,
  /** The number of commas that follow another comma within a few words: "sport, culture, business". */
  listed: 0,
  /** The number of slashes and bars between words: "high / low". */
  slashes: 0,
  /** The number of sentence ends. */
  sentences: 0,
  /** The number of capitalized words within sentences. */
  capitals: 0,
  lines: Math.max(0, lines.length - 1),
  paragraphs: 0,
  /** The number of lines that begin with a bullet or a number. */
  items: 0,
  /** The number of multiple-choice options, lettered in order: "A. … B. …", "(a) … (b) …". */
  choices: 0,
  /** The number of `@` characters, which occur in addresses and account names. */
  ats: 0,
  /** The number of UTF-16 code units in the lines that ask. */
  length,
});

/** The number of characters read at the beginning and at the end. */
const HEAD = 400;
const TAIL = 300;
/** The maximum length of an item in a list of options, in characters. */
const ITEM = 30;

/** Reads the form of a question. The reading of the form is pure, and its time is bounded. */
export function shapeOf(asking: AskingLines): QuestionShape {
  const { text, lines, length } = asking;
  const shape = shapeBefore(asking);
  let passed = 0;
  let behind = Number.POSITIVE_INFINITY;
  for (const { from, to } of lines) {
    // A gap of 2 to 4 characters between lines is a blank line; a larger gap is a block that was skipped.
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

/** The kinds of characters that are counted or that end a counted item. Most characters have kind 0, which is not counted. */
const CAPITAL = 1;
const COMMA = 2;
const END = 3;
const CLOSE = 4;
const SLASH = 5;
const AT = 6;
const KINDS = new Uint8Array(0x10000);
// Some of the letters that folding changes are lower-case letters with accents, which `isCapital` excludes later.
for (let code = 0; code < KINDS.length; code++) if (isLetter(code) && FOLDED[code] !== code) KINDS[code] = CAPITAL;
for (const [kind, signs] of Object.entries({
  [COMMA]: ',;،，、；',
  [END]: '.!?。！？؟।',
  [CLOSE]: '):',
  [SLASH]: '/|',
  [AT]: '@',
}))
  for (const sign of signs) KINDS[sign.charCodeAt(0)] = Number(kind);
const BULLETS: ReadonlySet<number> = new Set([...'-*•–'].map((sign) => sign.charCodeAt(0)));

/**
 * Reads a line, or a part of a line. `look` looks back from the few characters that count instead of going from word to word: the processor
 * cannot predict where words end, so a loop over words takes twice as long.
 */
function look(shape: QuestionShape, text: string, from: number, to: number): void {
  const first = skipBlanks(text, from, to);
  if (isItem(text, first, to)) shape.items++;
  let comma = first - ITEM - 1;
  for (let at = first; at < to; at++) {
    const kind = KINDS[text.charCodeAt(at)]!;
    if (kind === 0) continue;
    if (kind === CAPITAL) {
      if (at > first && isCapital(text.charCodeAt(at)) && isWithinSentence(text, at)) shape.capitals++;
    } else if (kind === COMMA) {
      shape.commas++;
      if (at - comma <= ITEM) shape.listed++;
      comma = at;
    } else if (kind === SLASH) {
      if (at > first && isWordUnit(lastBefore(text, at))) shape.slashes++;
    } else if (kind === AT) shape.ats++;
    else {
      if (at > first && isChoice(text, first, at, shape.choices)) shape.choices++;
      if (kind === END && isEnd(text, at, to)) shape.sentences++;
    }
  }
}

/** Returns the last non-blank character before a position. The line must have a non-blank character before the position. */
function lastBefore(text: string, at: number): number {
  let before = at - 1;
  while (text.charCodeAt(before) === BLANK) before--;
  return text.charCodeAt(before);
}

const BLANK = 0x20;
function isLetter(code: number): boolean {
  return FOLDED[code]! > DIGIT;
}
const isWordUnit = (code: number): boolean => FOLDED[code]! > MARK;

const isCapital = (code: number): boolean => {
  if (code < 0x80) return code > 0x40 && code < 0x5b;
  return !isUnspaced(code) && String.fromCharCode(code).toLowerCase() !== String.fromCharCode(code);
};

/** Returns whether a word begins at a position but does not begin a sentence. */
const isWithinSentence = (text: string, at: number): boolean =>
  !isWordUnit(text.charCodeAt(at - 1)) && KINDS[lastBefore(text, at)] !== END;

/** Returns whether a line begins with a bullet, `1.` or `2)`. */
function isItem(text: string, at: number, to: number): boolean {
  if (at >= to) return false;
  const code = text.charCodeAt(at);
  if (BULLETS.has(code)) return true;
  if (code < 0x30 || code > 0x39 || at + 1 >= to) return false;
  const next = text.charCodeAt(at + 1);
  return next === 0x2e || next === 0x29;
}

/** Returns whether an option such as `A.`, `b)` or `C:` ends at a position: a single letter that is next in order. */
function isChoice(text: string, from: number, at: number, turn: number): boolean {
  const close = text.charCodeAt(at);
  if (close !== 0x2e && close !== 0x29 && close !== 0x3a) return false;
  const letter = text.charCodeAt(at - 1);
  const code = letter - turn;
  if ((code !== 0x41 && code !== 0x61 && code !== 0x0410 && code !== 0x0430) || !isWordUnit(letter)) return false;
  return at - 1 === from || !isWordUnit(text.charCodeAt(at - 2));
}

/** Returns whether a point ends a sentence. A point within a number or a name does not end a sentence. */
function isEnd(text: string, at: number, to: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x80 || at + 1 >= to || text.charCodeAt(at + 1) <= 0x20;
}
