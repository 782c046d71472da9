import { canonicalLanguage, isCodeLanguage } from '../../core/languages.ts';
import { languageOfLine, mayBeCode } from './code.ts';

/** A stretch of a question's text, in UTF-16 code units. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** A message of the user, parted into what asks and what is only shown. */
export interface QuestionText {
  /** What is read of it: all, or its head and tail. */
  readonly text: string;
  /** Lines that ask or tell, in order. */
  readonly lines: TextRange[];
  /** Lines of code among them: they ask where nothing else does. */
  readonly code: TextRange[];
  /** Characters of these lines. */
  length: number;
  /** UTF-16 code units of the whole message. */
  readonly size: number;
  /** A long text asks in its first paragraph, which ends at `head`, and its last, which begins at `tail`. */
  head: number;
  tail: number;
  /** Lines of code outside of fences, and fences with code in them. */
  codeLines: number;
  codeFences: number;
  /** Fences and blocks with something else: logs, tables, documents; and blocks with code. */
  documents: number;
  codeDocuments: number;
  /** Languages that fences name, and those that lines of code show, by how many do. */
  readonly fenced: string[];
  readonly languages: Map<string, number>;
}

/** Characters read of a message's head and tail. */
const HEAD = 1_200;
const TAIL = 800;
/** Characters at the head and the tail of what asks that are read when it is long: so long, or so long in paragraphs. */
const EDGE = 320;
const LONG = 450;

/** Stands around the text, so that a look at what is next to a character never leaves it: that would be slow. */
const PAD = '\n\n\n';

/** A block that holds the question itself; what stands between other tags is shown, not asked. */
const ASKING = /(?:query|question|task|request|prompt)$/i;
/** A block that the caller's software adds, which is not even a document. */
const HARNESS = /reminder|environment|context|system|memory|tool|instruction/i;
/** Blocks of markup are code. */
const MARKUP =
  /^(?:!doctype|html|head|body|div|span|p|a|ul|ol|li|h[1-6]|table|t[rdh]|form|input|button|script|style|img|section|nav|main|svg|template|label|select)$/i;
const OPENING = /<([a-z][\w:.-]{0,40})(?:\s[^<>\n]{0,200})?>/iy;
const FENCE = '```';

/** Parts a message. `unwrapped`: for one that is nothing but blocks, so that what is in them asks. */
export function readQuestion(message: string, unwrapped = false): QuestionText {
  const { from, to, shown } = unwrapped ? { from: 0, to: message.length, shown: [] } : withoutOuterBlocks(message);
  const isCut = to - from > HEAD + TAIL;
  const text = isCut
    ? `${PAD}${message.slice(from, from + HEAD)}\n${message.slice(to - TAIL, to)}${PAD}`
    : `${PAD}${message.slice(from, to)}${PAD}`;
  const start = PAD.length;
  const end = text.length - PAD.length;
  const question: QuestionText = {
    text,
    lines: [],
    code: [],
    length: 0,
    size: message.length,
    head: text.length,
    tail: text.length,
    codeLines: 0,
    codeFences: 0,
    documents: 0,
    codeDocuments: 0,
    fenced: [],
    languages: new Map(),
  };
  for (const { from: inside, to: close } of shown) addDocument(question, message, inside, close);
  if (isCut) {
    part(question, { from: start, to: start + HEAD }, { isTail: false, unwrapped });
    part(question, { from: start + HEAD + 1, to: end }, { isTail: true, unwrapped });
  } else part(question, { from: start, to: end }, { isTail: true, unwrapped });
  if (question.lines.length === 0) question.lines.push(...question.code);
  if (question.length > (question.lines.length > 2 ? LONG : 2 * EDGE + 100)) {
    question.head = edge(question.lines, 1);
    question.tail = Math.max(question.head, edge(question.lines, -1));
  }
  return question;
}

/** Where the first paragraph ends (1) or the last one begins (-1); at most `EDGE` characters of it. */
function edge(lines: readonly TextRange[], step: 1 | -1): number {
  let at = step > 0 ? 0 : lines.length - 1;
  const first = step > 0 ? lines[at]!.from : lines[at]!.to;
  for (; lines[at + step]; at += step) {
    const { from, to } = lines[at]!;
    const next = lines[at + step]!;
    // A blank line lies between.
    if (step > 0 ? next.from - to > 1 : from - next.to > 1) break;
    if (Math.abs((step > 0 ? to : from) - first) > EDGE) break;
  }
  const end = step > 0 ? lines[at]!.to : lines[at]!.from;
  return Math.abs(end - first) > EDGE ? first + step * EDGE : end;
}

/** The message without the blocks that it begins and ends with, however long they are. */
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

/** A message without what the caller's software adds around it: what asks, and the documents in tags. */
export function withoutHarness(message: string): string {
  const { from, to, shown } = withoutOuterBlocks(message);
  return [...shown, { from, to }].map((part) => message.slice(part.from, part.to)).join('\n');
}

/** The name of the block that opens at a place; null where none does, or one that asks, or markup. */
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

function skipBlanks(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

interface Window {
  /** Whether the message ends with it. */
  readonly isTail: boolean;
  readonly unwrapped: boolean;
}

/** Goes through a window line by line. */
function part(question: QuestionText, { from, to }: TextRange, window: Window): void {
  const { text } = question;
  const before = question.lines.length;
  let isCode = false;
  let fence = text.indexOf(FENCE, from);
  for (let at = from; at < to; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 || newline > to ? to : newline;
    if (fence >= 0 && fence < end) {
      ask(question, at, fence);
      at = addFence(question, fence, to);
      fence = text.indexOf(FENCE, at);
      continue;
    }
    const first = skipBlanks(text, at, end);
    if (first < end && text.charCodeAt(first) === 0x3c) {
      const after = block(question, first, { from: before, to }, window);
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

/** After so many lines of code the language is known as well as it will be, and what looks like code is. */
const ENOUGH = 3;

/** A line of code or of words; whether it is code. */
function addLine(question: QuestionText, from: number, first: number, end: number, afterCode: boolean): boolean {
  if (first >= end) return afterCode;
  const { text } = question;
  const language =
    question.codeLines < ENOUGH ? languageOfLine(text, first, end) : mayBeCode(text, first, end) ? '' : null;
  const continues =
    afterCode && (first - from >= 2 || text.charCodeAt(first) === 0x09 || CLOSING.has(text.charCodeAt(first)));
  if (language === null && !continues) {
    ask(question, first, end);
    return false;
  }
  question.codeLines++;
  question.code.push({ from: first, to: end });
  if (language) see(question, language);
  return true;
}

/** `}`, `)`, `]`: what goes on with code. */
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x29, 0x5d]);

function ask(question: QuestionText, from: number, to: number): void {
  if (to <= from) return;
  question.lines.push({ from, to });
  question.length += to - from;
}

function see(question: QuestionText, language: string): void {
  question.languages.set(language, (question.languages.get(language) ?? 0) + 1);
}

/** Lines looked at in a fence for the language that they are written in. */
const FENCE_LINES = 6;

/** Reads a fence; gives the place behind it. */
function addFence(question: QuestionText, from: number, to: number): number {
  const { text } = question;
  const close = text.indexOf(FENCE, from + FENCE.length);
  const end = close < 0 || close > to ? to : close;
  let at = from + FENCE.length;
  while (at < end && text.charCodeAt(at) > 0x20 && at - from < 24) at++;
  const tag = text.slice(from + FENCE.length, at);
  if (tag && at < end && isCodeLanguage(tag)) {
    question.codeFences++;
    question.fenced.push(canonicalLanguage(tag));
  } else if (tag && at < end) question.documents++;
  else {
    const lines = question.codeLines;
    let left = FENCE_LINES;
    for (let line = at; line < end && left > 0; left--) {
      const newline = text.indexOf('\n', line);
      const stop = newline < 0 || newline > end ? end : newline;
      const language = languageOfLine(text, line, stop);
      if (language !== null) question.codeLines++;
      if (language) see(question, language);
      line = stop + 1;
    }
    if (question.codeLines > lines) question.codeFences++;
    else question.documents++;
  }
  return end === to ? to : end + FENCE.length;
}

/** Reads a tag that begins a line; gives the place behind it, or where it stands when it is none. */
function block(question: QuestionText, at: number, { from: before, to }: TextRange, window: Window): number {
  const { text } = question;
  if (text.charCodeAt(at + 1) === 0x2f)
    return closing(question, at, window.unwrapped ? Number.POSITIVE_INFINITY : before, to);
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

/** A block with something to look at: code, where a line of its first ones is. */
function addDocument(question: QuestionText, text: string, from: number, to: number): void {
  question.documents++;
  let line = from;
  for (let left = FENCE_LINES; line < to && left > 0; left--) {
    const newline = text.indexOf('\n', line);
    const end = newline < 0 || newline > to ? to : newline;
    const language = languageOfLine(text, line, end);
    if (language !== null) {
      question.codeDocuments++;
      return;
    }
    line = end + 1;
  }
}

/** An end without a beginning in the window: what stands before it there was within the block. */
function closing(question: QuestionText, at: number, before: number, to: number): number {
  const { text } = question;
  const end = text.indexOf('>', at);
  if (end < 0 || end > to || end - at > 44) return at;
  const name = text.slice(at + 2, end);
  if (MARKUP.test(name)) return at;
  if (ASKING.test(name)) return to;
  forget(question, before);
  return end + 1;
}

/** Unreads the lines from the one of that place on, and all code: they were shown, not asked. */
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
