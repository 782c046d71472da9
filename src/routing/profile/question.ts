import { canonicalLanguage, isCodeLanguage } from '../../core/request/languages.ts';
import { languageOfLine, mayBeCode } from './code.ts';
import { type Inner, innerOf } from './frame.ts';
import file from './lexicon/blocks.json' with { type: 'json' };
import { expressionsOf } from './lexicon/data.ts';
import type { TextRange } from './text-range.ts';
import type { TextTables } from './text-tables.ts';
import { PLACE, type WordRows } from './word-rows.ts';

/** A message, split into the lines that ask and the material that it shows. */
export type QuestionText = ReturnType<typeof unreadQuestion>;

const noRanges = (): TextRange[] => [];

const unreadQuestion = (text: string, size: number) => ({
  /** The text of the message, or its head and tail if the message is long. */
  text,
  /** The lines that ask, in order. */
  lines: noRanges(),
  /** The lines of code. Lines of code count as lines that ask if the message has no other lines. */
  code: noRanges(),
  /** The number of UTF-16 code units in the lines that ask. */
  length: 0,
  /** The number of UTF-16 code units in the whole message. */
  size,
  /** In a long text, only the first paragraph (up to `head`) and the last paragraph (from `tail`) count as asking. */
  head: text.length,
  tail: text.length,
  /** The number of code lines outside of fences. */
  codeLines: 0,
  /** The number of fences with code. */
  codeFences: 0,
  /** The number of fences and blocks without code: logs, tables, documents. */
  documents: 0,
  /** The number of blocks with code. */
  codeDocuments: 0,
  /** The programming languages that fences name. */
  fenced: NO_FENCES,
  /** The programming languages of code lines, with counts. */
  languages: NO_LANGUAGES,
  /** The frame around the question, which orders no task. */
  frame: noRanges(),
  /** The words of the lines that ask, and of the material, as rows of the table of words. */
  words: noRows(),
  material: noRows(),
});
const NO_ROWS: Int32Array = new Int32Array(0);
const noRows = (): Int32Array => NO_ROWS;

/** The number of characters read of a message's head and tail. */
const HEAD = 1_200;
const TAIL = 800;
/**
 * The number of characters read at each end of a long question. A question of several lines is long if it has at least this many
 * characters.
 */
const EDGE = 320;
const LONG = 450;

/**
 * Line breaks before and after the text of a question. Without this padding, reading a neighbouring character could leave the string, which
 * is slow.
 */
const PAD = '\n\n\n';

const { asking: ASKING, harness: HARNESS, markup: MARKUP } = expressionsOf(file);
const OPENING = /<([a-z][\w:.-]{0,40})(?:\s[^<>\n]{0,200})?>/iy;
const FENCE = '```';

/** Most messages contain no code, so they share this empty map. */
const NO_LANGUAGES: ReadonlyMap<string, number> = new Map();
const NO_FENCES: readonly string[] = [];

/** A message of a user; a message that consists only of blocks, which then contain the question; or a system prompt, which has no frame. */
export type MessageForm = 'message' | 'blocks' | 'system prompt';

/** Splits a message into the lines that ask and the material that it shows. */
export function readQuestion(message: string, tables: TextTables, form: MessageForm = 'message'): QuestionText {
  const unwrapped = form === 'blocks';
  const { from, to, shown } = unwrapped ? { from: 0, to: message.length, shown: [] } : withoutOuterBlocks(message);
  const isCut = to - from > HEAD + TAIL;
  const text = isCut
    ? `${PAD}${message.slice(from, from + HEAD)}\n${message.slice(to - TAIL, to)}${PAD}`
    : `${PAD}${message.slice(from, to)}${PAD}`;
  const start = PAD.length;
  const end = text.length - PAD.length;
  const question = unreadQuestion(text, message.length);
  const tail = unwrapped ? UNWRAPPED : TAIL_WINDOW;
  for (const { from: inside, to: close } of shown) addDocument(question, message, inside, close);
  if (isCut) {
    addWindow(question, start, start + HEAD, unwrapped ? UNWRAPPED : HEAD_WINDOW);
    addWindow(question, start + HEAD + 1, end, tail);
  } else addWindow(question, start, end, tail);
  question.material = materialOf(question, message, shown, tables.rows);
  const asks = question.lines.length > 0;
  if (!asks) question.lines.push(...question.code);
  const inner = innerOf(text, question.lines, tables);
  // If the message has nothing but a frame outside of its blocks, the blocks contain the question.
  if (inner.isFrame && asks && form === 'message' && question.documents > 0)
    return readQuestion(message, tables, 'blocks');
  const { spans } = tables;
  if (form === 'system prompt') question.words = spans.distinct(0, spans.size);
  else {
    if (asks) keep(question, inner);
    question.words = spans.distinct(inner.spans[inner.first]?.begin ?? 0, inner.spans[inner.last]?.end ?? 0);
  }
  if (question.length > (question.lines.length > 2 ? LONG : 2 * EDGE + 100)) {
    question.head = edge(question.lines, 1);
    question.tail = Math.max(question.head, edge(question.lines, -1));
  }
  return question;
}

/** Keeps only the lines of the question itself. */
function keep(question: QuestionText, { spans, first, last }: Inner): void {
  if (first === 0 && last === spans.length - 1) return;
  const { from, line } = spans[first]!;
  const { to, line: end } = spans[last]!;
  const all = question.lines;
  const lines = all.slice(line, end + 1);
  question.frame = [
    ...all.slice(0, line),
    { from: all[line]!.from, to: from },
    { from: to, to: all[end]!.to },
    ...all.slice(end + 1),
  ].filter((one) => one.to > one.from);
  lines[0] = { from, to: lines[0]!.to };
  lines[lines.length - 1] = { from: lines.at(-1)!.from, to };
  question.lines = lines;
  question.length = lines.reduce((sum, one) => sum + one.to - one.from, 0);
}

/** The number of characters of material that are read. */
const MATERIAL = 600;

/** Reads the beginning of the text that does not ask. */
function materialOf(
  { text, lines }: QuestionText,
  message: string,
  shown: readonly TextRange[],
  rows: WordRows,
): Int32Array {
  rows.clear();
  let left = MATERIAL;
  const add = (of: string, from: number, to: number): void => {
    const end = Math.min(to, from + left);
    if (end - from < 2) return;
    rows.add(of, from, end, PLACE.material);
    left -= end - from;
  };
  for (const { from, to } of shown) add(message, from, to);
  let at = PAD.length;
  for (const { from, to } of lines) {
    if (from - at > 4) add(text, at, from);
    at = to;
  }
  if (text.length - PAD.length - at > 4) add(text, at, text.length - PAD.length);
  return rows.distinct(0, rows.size);
}

/**
 * Returns the end of the first paragraph (step 1) or the start of the last paragraph (step -1), at most `EDGE` characters from the end of
 * the text.
 */
function edge(lines: readonly TextRange[], step: 1 | -1): number {
  let at = step > 0 ? 0 : lines.length - 1;
  const first = step > 0 ? lines[at]!.from : lines[at]!.to;
  for (; lines[at + step]; at += step) {
    const { from, to } = lines[at]!;
    const next = lines[at + step]!;
    // A blank line separates the two lines.
    if (step > 0 ? next.from - to > 1 : from - next.to > 1) break;
    if (Math.abs((step > 0 ? to : from) - first) > EDGE) break;
  }
  const end = step > 0 ? lines[at]!.to : lines[at]!.from;
  return Math.abs(end - first) > EDGE ? first + step * EDGE : end;
}

/** Returns the message without the blocks at its start and end, regardless of their length. */
function withoutOuterBlocks(message: string): TextRange & { readonly shown: readonly TextRange[] } {
  let from = 0;
  let to = message.length;
  const shown: TextRange[] = [];
  for (;;) {
    from = skipBlanks(message, from, to);
    const name = blockAt(message, from);
    if (name === null) break;
    const end = message.indexOf(`</${name}>`, from);
    if (end < 0) break;
    if (!HARNESS.test(name)) shown.push({ from, to: end });
    from = end + name.length + 3;
  }
  for (;;) {
    while (to > from && message.charCodeAt(to - 1) <= 0x20) to--;
    if (to <= from || message.charCodeAt(to - 1) !== 0x3e) break;
    const slash = message.lastIndexOf('</', to);
    const start =
      slash < from || to - slash > 44 ? -1 : message.lastIndexOf(`<${message.slice(slash + 2, to - 1)}`, slash);
    if (start < from || !beginsLine(message, start)) break;
    const name = blockAt(message, start);
    if (name === null || slash + name.length + 3 !== to) break;
    if (!HARNESS.test(name)) shown.push({ from: start, to: slash });
    to = start;
  }
  return { from, to: Math.max(from, to), shown };
}

/** Returns a message without the blocks that the caller's software adds. */
export function withoutHarness(message: string): string {
  const { from, to, shown } = withoutOuterBlocks(message);
  return [...shown, { from, to }].map((part) => message.slice(part.from, part.to)).join('\n');
}

/**
 * Returns the name of the block that opens at `at`. `blockAt` returns null if no block opens at `at`, if the block asks, or if the block is
 * markup.
 */
function blockAt(message: string, at: number): string | null {
  if (at >= message.length || message.charCodeAt(at) !== 0x3c) return null;
  OPENING.lastIndex = at;
  const name = OPENING.exec(message)?.[1];
  return name === undefined || ASKING.test(name) || MARKUP.test(name) ? null : name;
}

function beginsLine(text: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && (text.charCodeAt(before) === 0x20 || text.charCodeAt(before) === 0x09)) before--;
  return before < 0 || text.charCodeAt(before) === 0x0a;
}

function lineEnd(text: string, from: number, to: number): number {
  const newline = text.indexOf('\n', from);
  return newline < 0 || newline > to ? to : newline;
}

/** Returns the position of the first character that is neither a blank nor a control character. */
export function skipBlanks(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

interface Window {
  /** Whether the message ends with this window. */
  readonly isTail: boolean;
  readonly unwrapped: boolean;
}

const HEAD_WINDOW: Window = { isTail: false, unwrapped: false };
const TAIL_WINDOW: Window = { isTail: true, unwrapped: false };
const UNWRAPPED: Window = { isTail: true, unwrapped: true };

/** Reads a window of the message line by line. */
function addWindow(question: QuestionText, from: number, to: number, window: Window): void {
  const { text } = question;
  const before = question.lines.length;
  let isCode = false;
  let fence = text.indexOf(FENCE, from);
  for (let at = from; at < to; ) {
    const end = lineEnd(text, at, to);
    if (fence >= 0 && fence < end) {
      addAskingLine(question, at, fence);
      at = addFence(question, fence, to);
      fence = text.indexOf(FENCE, at);
      continue;
    }
    const first = skipBlanks(text, at, end);
    if (first < end && text.charCodeAt(first) === 0x3c) {
      const after = addBlock(question, first, before, to, window);
      if (after > first) {
        at = after;
        if (fence >= 0 && fence < at) fence = text.indexOf(FENCE, at);
        continue;
      }
    }
    isCode = addLine(question, at, first, end, isCode);
    at = end + 1;
  }
}

/** The number of code lines that are enough to determine the language. After enough code lines, a cheaper test for code is used. */
const ENOUGH = 3;

/** Adds a line and returns whether it is code. */
function addLine(question: QuestionText, from: number, first: number, end: number, afterCode: boolean): boolean {
  if (first >= end) return afterCode;
  const { text } = question;
  const language =
    question.codeLines < ENOUGH ? languageOfLine(text, first, end) : mayBeCode(text, first, end) ? '' : null;
  const continues =
    afterCode && (first - from >= 2 || text.charCodeAt(first) === 0x09 || CLOSING.has(text.charCodeAt(first)));
  if (language === null && !continues) {
    addAskingLine(question, first, end);
    return false;
  }
  question.codeLines++;
  question.code.push({ from: first, to: end });
  if (language) countLanguage(question, language);
  return true;
}

/** The characters `}`, `)` and `]`, which continue code. */
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x29, 0x5d]);

function addAskingLine(question: QuestionText, from: number, to: number): void {
  if (to <= from) return;
  question.lines.push({ from, to });
  question.length += to - from;
}

function countLanguage(question: QuestionText, language: string): void {
  const { languages } = question;
  question.languages = new Map(languages).set(language, (languages.get(language) ?? 0) + 1);
}

/** The number of lines of a fence or block that are read to find its language. */
const FENCE_LINES = 6;

/** Yields the languages of the first lines that are code; '' for an unclear language. */
function* languagesOfCode(text: string, from: number, to: number): Generator<string> {
  let line = from;
  for (let left = FENCE_LINES; line < to && left > 0; left--) {
    // Without the slice, the search for the end of a line could read the rest of a long message for each of its blocks.
    const length = text.slice(line, to).indexOf('\n');
    const end = length < 0 ? to : line + length;
    const language = languageOfLine(text, line, end);
    if (language !== null) yield language;
    line = end + 1;
  }
}

/** Reads a fence and returns the offset after it. */
function addFence(question: QuestionText, from: number, to: number): number {
  const { text } = question;
  const close = text.indexOf(FENCE, from + FENCE.length);
  const end = close < 0 || close > to ? to : close;
  let at = from + FENCE.length;
  while (at < end && text.charCodeAt(at) > 0x20 && at - from < 24) at++;
  const tag = text.slice(from + FENCE.length, at);
  if (tag && at < end && isCodeLanguage(tag)) {
    question.codeFences++;
    question.fenced = [...question.fenced, canonicalLanguage(tag)];
  } else if (tag && at < end) question.documents++;
  else {
    const languages = [...languagesOfCode(text, at, end)];
    question.codeLines += languages.length;
    for (const language of languages) if (language) countLanguage(question, language);
    if (languages.length > 0) question.codeFences++;
    else question.documents++;
  }
  return end === to ? to : end + FENCE.length;
}

/** Reads a tag at the start of a line and returns the offset after its block, or `at` if the tag opens no block. */
function addBlock(question: QuestionText, at: number, before: number, to: number, window: Window): number {
  const { text } = question;
  if (text.charCodeAt(at + 1) === 0x2f)
    return closeBlock(question, at, window.unwrapped ? Number.POSITIVE_INFINITY : before, to);
  OPENING.lastIndex = at;
  const opening = OPENING.exec(text);
  const name = opening?.[1];
  if (name === undefined || MARKUP.test(name)) return at;
  const inside = at + opening![0].length;
  if (ASKING.test(name)) {
    forget(question, 0);
    return inside;
  }
  const end = text.indexOf(`</${name}>`, inside);
  if (end >= 0 && end < to) {
    if (window.unwrapped && !/reminder/i.test(name)) return inside;
    if (!HARNESS.test(name)) addDocument(question, text, inside, end);
    return end + name.length + 3;
  }
  if (window.isTail || window.unwrapped) return at;
  addDocument(question, text, inside, to);
  return to;
}

/** Adds a block of material. A block of material counts as code if one of its first lines is code. */
function addDocument(question: QuestionText, text: string, from: number, to: number): void {
  question.documents++;
  if (!languagesOfCode(text, from, to).next().done) question.codeDocuments++;
}

/** Reads an end tag whose start tag is outside of the window: everything before it belongs to the block. */
function closeBlock(question: QuestionText, at: number, before: number, to: number): number {
  const { text } = question;
  const end = text.indexOf('>', at);
  if (end < 0 || end > to || end - at > 44) return at;
  const name = text.slice(at + 2, end);
  if (MARKUP.test(name)) return at;
  if (ASKING.test(name)) return to;
  forget(question, before);
  return end + 1;
}

/** Removes the lines from index `before` on, and all code, because they are material. */
function forget(question: QuestionText, before: number): void {
  while (question.lines.length > before) {
    const { from, to } = question.lines.pop()!;
    question.length -= to - from;
  }
  if (question.codeLines > 0) question.codeDocuments++;
  question.codeLines = 0;
  question.codeFences = 0;
  question.code.length = 0;
}
