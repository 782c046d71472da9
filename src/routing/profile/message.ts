import { canonicalLanguage, isCodeLanguage } from '../../core/request/languages.ts';

/** A message, split into what asks and the material that it shows. */
export interface MessageText {
  /** The text that asks. Of a long text, its beginning and its end. */
  readonly question: string;
  /** The beginning of the text that does not ask: code, documents, the middle of a long text. */
  readonly material: string;
  /** The UTF-16 code units of the whole message without blocks of the caller's software. */
  readonly size: number;
  /** The number of fences and blocks. */
  readonly shown: number;
  /** The programming languages that fences name. */
  readonly fenced: readonly string[];
}

/** The characters that are read at the beginning and at the end of a message. */
const HEAD = 1_200;
const TAIL = 800;
/** The characters of material that are read. */
const MATERIAL = 600;
/** A longer question asks in its first and its last paragraph, of which at most so many characters are read. */
const LONG = 640;
const EDGE = 320;
/** The longest tag. */
const TAG = 44;

const OPENING = /<([a-z][\w:.-]{0,40})(?:\s[^<>\n]{0,200})?>/iy;
/** Blocks with the question itself, blocks of the caller's software, and markup, which is text. */
const ASKING = /(?:query|question|task|request|prompt)$/i;
const HARNESS = /reminder|environment|context|system|memory|tool|instruction/i;
const MARKUP =
  /^(?:!doctype|html|head|body|div|span|p|a|ul|ol|li|h[1-6]|table|t[rdh]|form|input|button|script|style|img|section|nav|main|svg|template|label|select)$/i;
const FENCE = '```';

/**
 * Splits a message. If it has nothing but blocks, the blocks contain the question.
 * @param long a longer question asks only in its first and its last paragraph
 */
export function splitMessage(message: string, long = LONG): MessageText {
  const outer = withoutOuterBlocks(message);
  const reader = new MessageReader(outer.shown);
  const { from, to } = outer;
  if (to - from <= HEAD + TAIL) reader.read(message.slice(from, to), true);
  else {
    reader.read(message.slice(from, from + HEAD), false);
    reader.read(message.slice(to - TAIL, to), true);
  }
  const all = reader.result(to - from, long);
  if (all.question !== '' || all.material === '') return all;
  const text = withoutReminders(message);
  const unwrapped = text.length > HEAD + TAIL ? `${text.slice(0, HEAD)}\n${text.slice(-TAIL)}` : text;
  return { ...all, ...edges(unwrapped.trim(), long), size: text.length };
}

/** Returns a message without the blocks that the caller's software adds. */
export function withoutHarness(message: string): string {
  const { from, to, shown } = withoutOuterBlocks(message);
  return [...shown, message.slice(from, to)].join('\n');
}

/** Returns what is within the blocks of a message, without reminders. */
function withoutReminders(message: string): string {
  const { shown } = withoutOuterBlocks(message, /reminder/i);
  return shown
    .join('\n')
    .slice(0, 2 * (HEAD + TAIL))
    .replace(/<\/?[a-z][\w:.-]{0,40}>/gi, '');
}

/** Returns the range of a message between the blocks at its start and its end, however long they are, and the texts of these blocks. */
function withoutOuterBlocks(message: string, left = HARNESS) {
  let from = 0;
  let to = message.length;
  const shown: string[] = [];
  for (;;) {
    while (from < to && message.charCodeAt(from) <= 0x20) from++;
    const name = blockAt(message, from);
    if (name === null) break;
    const end = message.indexOf(`</${name}>`, from);
    if (end < 0) break;
    if (!left.test(name)) shown.push(message.slice(message.indexOf('>', from) + 1, end));
    from = end + name.length + 3;
  }
  for (;;) {
    while (to > from && message.charCodeAt(to - 1) <= 0x20) to--;
    if (to <= from || message.charCodeAt(to - 1) !== 0x3e) break;
    const slash = message.lastIndexOf('</', to);
    if (slash < from || to - slash > TAG) break;
    const name = message.slice(slash + 2, to - 1);
    const start = message.lastIndexOf(`<${name}`, slash);
    if (
      start < from ||
      blockAt(message, start) !== name ||
      !/(?:^|\n)[ \t]*$/.test(message.slice(Math.max(from, start - 9), start))
    )
      break;
    if (!left.test(name)) shown.push(message.slice(message.indexOf('>', start) + 1, slash));
    to = start;
  }
  return { from, to: Math.max(from, to), shown };
}

/** Returns the name of the block that opens at a position; null for none, for a block that asks, and for markup. */
function blockAt(message: string, at: number): string | null {
  if (message.charCodeAt(at) !== 0x3c) return null;
  OPENING.lastIndex = at;
  const name = OPENING.exec(message)?.[1];
  return name === undefined || ASKING.test(name) || MARKUP.test(name) ? null : name;
}

/** Reads the two ends of a message line by line. */
class MessageReader {
  #question = '';
  #material = '';
  #shown: number;
  readonly #fenced: string[] = [];

  constructor(shown: readonly string[]) {
    this.#shown = shown.length;
    for (const text of shown) this.#show(text);
  }

  /** @param isEnd whether the message ends with the text */
  read(text: string, isEnd: boolean): void {
    const before = this.#question;
    for (let at = 0; at < text.length; ) {
      const newline = text.indexOf('\n', at);
      const end = newline < 0 ? text.length : newline;
      const fence = text.slice(at, end).indexOf(FENCE);
      if (fence >= 0) {
        this.#ask(text.slice(at, at + fence));
        at = this.#fence(text, at + fence + FENCE.length);
        continue;
      }
      let first = at;
      while (first < end && text.charCodeAt(first) <= 0x20) first++;
      const after = text.charCodeAt(first) === 0x3c ? this.#block(text, first, end, before, isEnd) : first;
      if (after > first) at = after;
      else {
        this.#ask(text.slice(first, end));
        at = end + 1;
      }
    }
  }

  result(size: number, long: number): MessageText {
    const { question, material } = edges(this.#question.trim(), long);
    return {
      question,
      material: `${this.#material}${material}`.slice(0, MATERIAL),
      size,
      shown: this.#shown,
      fenced: this.#fenced,
    };
  }

  #ask(line: string): void {
    this.#question += this.#question ? `\n${line}` : line;
  }

  #show(text: string): void {
    if (this.#material.length < MATERIAL) this.#material += `${text.slice(0, MATERIAL)}\n`;
  }

  /** Reads a fence and returns the position after it. */
  #fence(text: string, from: number): number {
    const close = text.indexOf(FENCE, from);
    const end = close < 0 ? text.length : close;
    const tag = /^[^\s`]{1,24}(?=\n)/.exec(text.slice(from, Math.min(end, from + 25)))?.[0] ?? '';
    if (tag && isCodeLanguage(tag)) this.#fenced.push(canonicalLanguage(tag));
    this.#show(text.slice(from + tag.length, end));
    this.#shown++;
    return close < 0 ? end : close + FENCE.length;
  }

  /** Reads a tag at the start of a line and returns the position after its block, or `at` if it opens and ends none. */
  #block(text: string, at: number, lineEnd: number, before: string, isEnd: boolean): number {
    if (text.charCodeAt(at + 1) === 0x2f) {
      const end = text.slice(at, lineEnd).indexOf('>');
      const name = text.slice(at + 2, at + end);
      if (end < 0 || end > TAG || MARKUP.test(name)) return at;
      if (ASKING.test(name)) return text.length;
      // The block began before the text that is read, so everything before belongs to it.
      this.#show(this.#question.slice(before.length));
      this.#shown++;
      this.#question = before;
      return at + end + 1;
    }
    OPENING.lastIndex = at;
    const [tag = '', name = ''] = OPENING.exec(text) ?? [];
    if (name === '' || MARKUP.test(name)) return at;
    const inside = at + tag.length;
    if (ASKING.test(name)) {
      this.#question = '';
      return inside;
    }
    const end = text.indexOf(`</${name}>`, inside);
    if (end < 0 && isEnd) return at;
    if (end < 0 || !HARNESS.test(name)) {
      this.#show(text.slice(inside, end < 0 ? text.length : end));
      this.#shown++;
    }
    return end < 0 ? text.length : end + name.length + 3;
  }
}

/** Returns the first and the last paragraph of a long text as its question, and the rest as material. */
function edges(text: string, long: number): Pick<MessageText, 'question' | 'material'> {
  if (text.length <= long) return { question: text, material: '' };
  const blank = text.slice(0, EDGE).indexOf('\n\n');
  const head = blank > 0 ? blank : EDGE;
  const last = text.slice(-EDGE).lastIndexOf('\n\n');
  const tail = last < 0 ? text.length - EDGE : text.length - EDGE + last + 2;
  return {
    question: `${text.slice(0, head)}\n${text.slice(tail)}`,
    material: text.slice(head, Math.min(tail, head + MATERIAL)),
  };
}
