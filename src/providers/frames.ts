import type { Frame } from '../contract/provider.ts';

/** The maximum number of characters of one frame. */
const FRAME_MAX = 1_048_576;

export function frameParser(kind: 'sse' | 'ndjson', frameMax = FRAME_MAX): FrameParser {
  return kind === 'sse' ? new SseParser(frameMax) : new NdjsonParser(frameMax);
}

/**
 * A push parser that turns the text of a stream into frames. Lines end with LF, CR or CRLF. The result does not depend on where the text is
 * split into pushes.
 */
export abstract class FrameParser {
  #rest = '';
  #started = false;
  /** Whether the last push ended with CR: a leading LF of the next push then belongs to that CR. */
  #afterCr = false;
  protected readonly frameMax: number;
  /** Whether a frame of the stream was too large. After a frame that is too large, the parser ignores the rest of the stream. */
  overflowed = false;

  constructor(frameMax: number) {
    this.frameMax = frameMax;
  }

  push(text: string): readonly Frame[] {
    const frames: Frame[] = [];
    if (text === '' || this.overflowed) return frames;
    let from = 0;
    if (!this.#started) {
      this.#started = true;
      if (text.charCodeAt(0) === 0xfeff) from = 1;
    }
    if (this.#afterCr && text.charCodeAt(from) === 0x0a) from++;
    this.#afterCr = false;
    if (this.#rest === '') from = this.usual(text, from, frames);
    if (from === text.length) return frames;
    from = this.#lines(text, from, frames);
    // Only new text is searched for line ends, so that a long line in small pieces takes linear time.
    if (from < text.length && !this.overflowed) this.#rest = joined(this.#rest, text.slice(from));
    if (this.#rest.length + this.pending() > this.frameMax) this.#overflow();
    return frames;
  }

  /** Ends the text and returns the frames of an unfinished last line. */
  end(): readonly Frame[] {
    const frames: Frame[] = [];
    if (!this.overflowed) this.last(this.#rest, frames);
    this.#rest = '';
    return frames;
  }

  /** Reads complete frames of the usual form. Returns the start of the first other frame, which is then read line by line. */
  protected abstract usual(text: string, start: number, frames: Frame[]): number;
  /** Reads a complete line, without its line end. */
  protected abstract line(line: string, frames: Frame[]): void;
  /** Reads the text after the last line end. */
  protected abstract last(rest: string, frames: Frame[]): void;
  /** Returns the number of buffered characters of an unfinished frame. */
  protected abstract pending(): number;

  /** Reads complete lines and returns the start of the unfinished one. */
  #lines(text: string, start: number, frames: Frame[]): number {
    let from = start;
    let lf = text.indexOf('\n', from);
    let cr = text.indexOf('\r', from);
    while (lf >= 0 || cr >= 0) {
      const at = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
      const line = this.#rest === '' ? text.slice(from, at) : this.#rest + text.slice(from, at);
      this.#rest = '';
      if (line.length + this.pending() > this.frameMax) {
        this.#overflow();
        return text.length;
      }
      this.line(line, frames);
      from = at + 1;
      if (at === cr) {
        if (from === text.length) this.#afterCr = true;
        else if (lf === from) from++;
        cr = text.indexOf('\r', from);
      }
      if (lf >= 0 && lf < from) lf = text.indexOf('\n', from);
    }
    return from;
  }

  #overflow(): void {
    this.overflowed = true;
    this.#rest = '';
  }
}

/** Parses server-sent events as specified by the WHATWG, without `id` and `retry`. */
class SseParser extends FrameParser {
  #event = '';
  /** The data of the current event; null before its first `data` line, because an event without data is not dispatched. */
  #data: string | null = null;

  /** Most events are one line of data, some with a line before it that names the event. */
  protected usual(text: string, start: number, frames: Frame[]): number {
    let from = start;
    if (this.#data !== null || this.#event !== '' || text.includes('\r')) return from;
    for (;;) {
      const isNamed = text.startsWith('event: ', from);
      const at = isNamed ? text.indexOf('\n', from) + 1 : from;
      if (at < from || !text.startsWith('data: ', at)) return from;
      const end = text.indexOf('\n', at);
      if (end < 0 || text.charCodeAt(end + 1) !== 0x0a || end - from > this.frameMax) return from;
      frames.push({ event: isNamed ? text.slice(from + 7, at - 1) : '', data: text.slice(at + 6, end) });
      from = end + 2;
    }
  }

  protected line(line: string, frames: Frame[]): void {
    if (line === '') {
      if (this.#data !== null) frames.push({ event: this.#event, data: this.#data });
      this.#data = null;
      this.#event = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== 'data' && field !== 'event') return;
    const value = colon < 0 ? '' : line.slice(line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1);
    if (field === 'event') this.#event = value;
    else this.#add(value);
  }

  #add(value: string): void {
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }

  /** An event that no blank line ends is incomplete, so the parser does not dispatch it. */
  protected last(): void {
    this.#data = null;
  }

  protected pending(): number {
    return this.#data?.length ?? 0;
  }
}

/** Parses one JSON text per line. The line end after the last JSON text is optional. */
class NdjsonParser extends FrameParser {
  protected usual(_: string, start: number): number {
    return start;
  }

  protected line(line: string, frames: Frame[]): void {
    if (line.trim() !== '') frames.push({ event: '', data: line });
  }

  protected last(rest: string, frames: Frame[]): void {
    this.line(rest, frames);
  }

  protected pending(): number {
    return 0;
  }
}

/** Appends the start of a line. `joined` copies the text, because a slice would keep the whole read in memory. */
const joined = (rest: string, slice: string): string =>
  rest === '' ? String(JSON.parse(JSON.stringify(slice))) : rest + slice;
