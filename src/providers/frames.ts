import type { Frame, TextForm } from '../contract/provider.ts';
import { TextRun } from '../contract/text-run.ts';

/** The maximum number of characters of one frame. */
const FRAME_MAX = 1_048_576;

export function frameParser(kind: 'sse' | 'ndjson', frameMax = FRAME_MAX): FrameParser {
  return kind === 'sse' ? new SseParser(frameMax) : new NdjsonParser(frameMax);
}

/**
 * Turns the text of a stream into frames. Lines end with LF, CR or CRLF. The result does not depend on where the text is split into
 * pieces.
 */
export abstract class FrameParser {
  /** The last piece of text, and where the part of it that was not read yet begins. */
  protected text = '';
  protected at = 0;
  /** The next LF and CR in the text from about `at` on; -1 for none. */
  #lf = -1;
  #cr = -1;
  /** The start of an unfinished line. */
  #rest = '';
  #started = false;
  /** Whether the last piece ended with CR: a leading LF of the next piece then belongs to that CR. */
  #afterCr = false;
  protected readonly frameMax: number;
  /** Whether a frame of the stream was too large. After a frame that is too large, the parser ignores the rest of the stream. */
  overflowed = false;

  constructor(frameMax: number) {
    this.frameMax = frameMax;
  }

  /** Adds a piece of text and returns all of its frames. */
  push(text: string): readonly Frame[] {
    const frames: Frame[] = [];
    this.add(text);
    for (let next = this.next(); next !== null; next = this.next()) if ('data' in next) frames.push(next);
    return frames;
  }

  /** Adds a piece of text, once `next` has returned null for the piece before. */
  add(text: string): void {
    if (text === '' || this.overflowed) return;
    let from = 0;
    if (!this.#started) {
      this.#started = true;
      if (text.charCodeAt(0) === 0xfeff) from = 1;
    }
    if (this.#afterCr && text.charCodeAt(from) === 0x0a) from++;
    this.#afterCr = false;
    this.text = text;
    this.at = from;
    this.#lf = text.indexOf('\n', from);
    this.#cr = text.indexOf('\r', from);
  }

  /**
   * Returns the next frame, or events of this form together; null if the text has no more complete frames.
   * @param form null or undefined to get only frames
   */
  next(form?: TextForm | null): Frame | TextRun | null {
    while (this.at < this.text.length) {
      const next =
        this.#rest === '' && this.#cr < 0 ? (this.usual(form ?? null) ?? this.#nextLine()) : this.#nextLine();
      if (next) return next;
    }
    // The text is as large as a read of the network.
    this.text = '';
    return null;
  }

  /** Ends the text and returns the frames of an unfinished last line. */
  end(): readonly Frame[] {
    const last = this.overflowed ? null : this.last(this.#rest);
    this.#rest = '';
    return last ? [last] : [];
  }

  /** Reads a complete frame of the usual form from the text, which has no CR from `at` on; null for any other frame. */
  protected abstract usual(form: TextForm | null): Frame | TextRun | null;
  /** Reads a complete line, without its line end. */
  protected abstract line(line: string): Frame | null;
  /** Reads the text after the last line end. */
  protected abstract last(rest: string): Frame | null;
  /** Returns the number of buffered characters of an unfinished frame. */
  protected abstract pending(): number;

  /** Reads the next line, or the start of an unfinished one, of which only new text is searched for its end. */
  #nextLine(): Frame | null {
    const { text, at: from } = this;
    if (this.#lf >= 0 && this.#lf < from) this.#lf = text.indexOf('\n', from);
    const isCr = this.#cr >= 0 && (this.#lf < 0 || this.#cr < this.#lf);
    const end = isCr ? this.#cr : this.#lf;
    if (end < 0) {
      this.#rest = joined(this.#rest, text.slice(from));
      this.at = text.length;
      if (this.#rest.length + this.pending() > this.frameMax) this.#overflow();
      return null;
    }
    const line = this.#rest + text.slice(from, end);
    this.#rest = '';
    this.at = end + 1;
    if (isCr) {
      if (this.at === text.length) this.#afterCr = true;
      else if (this.#lf === this.at) this.at++;
      this.#cr = text.indexOf('\r', this.at);
    }
    if (line.length + this.pending() > this.frameMax) {
      this.#overflow();
      return null;
    }
    return this.line(line);
  }

  #overflow(): void {
    this.overflowed = true;
    this.#rest = '';
    this.at = this.text.length;
  }
}

const LINE_BREAK = /[\r\n]/;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The characters that follow a backslash in the escapes that `JSON.stringify` writes, without the escapes of control characters. */
const ESCAPES = new Set(['"', '\\', 'b', 'f', 'n', 'r', 't'].map((letter) => letter.charCodeAt(0)));

/** Parses server-sent events as specified by the WHATWG, without `id` and `retry`. */
class SseParser extends FrameParser {
  #event = '';
  /** The data of the current event; null before its first `data` line, because an event without data is not dispatched. */
  #data: string | null = null;
  #form: TextForm | null = null;
  /** The characters of an event of the form before and after its text, and after its padding; '' for no padding. */
  #before = '';
  #after = '';
  #afterPadding = '';

  /** Most events are one line of data, some with a line before it that names the event. */
  protected usual(form: TextForm | null): Frame | TextRun | null {
    if (this.#data !== null || this.#event !== '') return null;
    const { text, at: from } = this;
    const run = form && this.#run(form);
    if (run) return run;
    const isNamed = text.startsWith('event: ', from);
    const at = isNamed ? text.indexOf('\n', from) + 1 : from;
    if (at < from || !text.startsWith('data: ', at)) return null;
    const end = text.indexOf('\n', at);
    if (end < 0 || text.charCodeAt(end + 1) !== 0x0a || end - from > this.frameMax) return null;
    this.at = end + 2;
    return { event: isNamed ? text.slice(from + 7, at - 1) : '', data: text.slice(at + 6, end) };
  }

  /** Reads all complete events of a form that directly follow each other; null for none. */
  #run(form: TextForm): TextRun | null {
    if (form !== this.#form) this.#setForm(form);
    const { text } = this;
    const { length } = this.#before;
    const encoded: string[] = [];
    const ends: number[] = [];
    let chars = 0;
    for (let { at } = this; text.startsWith(this.#before, at); at = this.at) {
      const from = at + length;
      let end = from;
      let escapes = 0;
      for (let code = text.charCodeAt(end); code !== QUOTE && code >= 0x20; code = text.charCodeAt(++end)) {
        if (code !== BACKSLASH) continue;
        if (!ESCAPES.has(text.charCodeAt(++end))) break;
        escapes++;
      }
      if (end === from || !text.startsWith(this.#after, end)) break;
      const next = this.#eventEnd(end + this.#after.length);
      if (next < 0 || next - 2 - at > this.frameMax) break;
      chars += end - from - escapes;
      encoded.push(text.slice(from, end));
      ends.push(chars);
      this.at = next;
    }
    return ends.length === 0 ? null : new TextRun(form.choice, encoded, ends);
  }

  /** Returns where an event of the form ends that continues at `at` with its padding, if it has one; -1 for any other event. */
  #eventEnd(at: number): number {
    const { text } = this;
    if (this.#afterPadding === '') return at;
    let end = at;
    for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(++end)) {
      if (!(code >= 0x20) || code === BACKSLASH) return -1;
    }
    return text.startsWith(this.#afterPadding, end) ? end + this.#afterPadding.length : -1;
  }

  #setForm(form: TextForm): void {
    const { before, after, afterPadding } = form;
    this.#form = form;
    // Data with a line break has several lines, so no event of its form is one line.
    const start = LINE_BREAK.test(before + after + (afterPadding ?? '')) ? '\n' : 'data: ';
    this.#before = start + before;
    this.#after = afterPadding === undefined ? `${after}\n\n` : after;
    this.#afterPadding = afterPadding === undefined ? '' : `${afterPadding}\n\n`;
  }

  protected line(line: string): Frame | null {
    if (line === '') {
      const frame = this.#data === null ? null : { event: this.#event, data: this.#data };
      this.#data = null;
      this.#event = '';
      return frame;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== 'data' && field !== 'event') return null;
    const value = colon < 0 ? '' : line.slice(line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    if (field === 'event') this.#event = value;
    else this.#add(value);
    return null;
  }

  #add(value: string): void {
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }

  /** An event that no blank line ends is incomplete, so the parser does not dispatch it. */
  protected last(): null {
    this.#data = null;
    return null;
  }

  protected pending(): number {
    return this.#data?.length ?? 0;
  }
}

/** Parses one JSON text per line. The line end after the last JSON text is optional. */
class NdjsonParser extends FrameParser {
  protected usual(): null {
    return null;
  }

  protected line(line: string): Frame | null {
    return line.trim() === '' ? null : { event: '', data: line };
  }

  protected last(rest: string): Frame | null {
    return this.line(rest);
  }

  protected pending(): number {
    return 0;
  }
}

/** Appends the start of a line. `joined` copies the text, because a slice would keep the whole read in memory. */
const joined = (rest: string, slice: string): string =>
  rest === '' ? String(JSON.parse(JSON.stringify(slice))) : rest + slice;
