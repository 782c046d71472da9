import { ReplyHead } from './reply-head.ts';

/** The maximum number of bytes of a head, including the 1xx heads before it. */
const HEAD_MAX = 65_536;
/** The maximum number of bytes of a head that is read at once. */
const WHOLE_HEAD_MAX = 4_096;
/** The maximum number of bytes of a chunk's size line. */
const SIZE_MAX = 1_024;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/;
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i;
const CLOSE = /\bclose\b/i;
const LENGTH = /^\d{1,15}$/;
const CR = 0x0d;
const LF = 0x0a;

/** The number of digits of a chunk's size that are read at once, which is enough for any usual chunk. */
const SIZE_DIGITS = 6;
/** The value of a hexadecimal digit by its code; -1 for any other byte. */
const HEX = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  for (const code of [digit.toString(16), digit.toString(16).toUpperCase()]) HEX[code.charCodeAt(0)] = digit;
}

/** An answer that violates HTTP. */
export class BadReply extends Error {
  readonly code = 'BadReply';
}

type State = 'status' | 'headers' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'length' | 'close' | 'done';

/**
 * Parses one HTTP/1.1 answer to a POST from bytes that may be split anywhere. The parser skips interim answers (1xx) and rejects ambiguous
 * answers.
 */
export class ReplyParser {
  /** The head; null until it is complete. */
  head: ReplyHead | null = null;
  /** Whether the connection may carry another request; valid at the end of the answer. */
  keepAlive = true;
  #state: State = 'status';
  /** The start of an unfinished line. */
  #line = '';
  #headBytes = 0;
  /** The head while it is incomplete. */
  #unfinished = new ReplyHead();
  /** The number of bytes of the body or chunk that are still to come. */
  #left = 0;

  /** Whether the answer is complete. */
  get ended(): boolean {
    return this.#state === 'done';
  }

  /**
   * Parses the next bytes.
   * @param bytes the parser may move them within the buffer
   * @returns the bytes of the body as a view of `bytes`; null for none
   * @throws BadReply, after which the parser is unusable
   */
  push(bytes: Buffer): Buffer | null {
    const at = this.head ? 0 : this.#pushHead(bytes);
    if (at === bytes.length) return null;
    if (this.#state === 'close') return bytes.subarray(at);
    if (this.#state === 'length') return this.#pushBody(bytes, at);
    if (this.#state !== 'done') return this.#pushChunks(bytes, at);
    // No request is open for these bytes, so the next answer on this connection could not be trusted.
    this.keepAlive = false;
    return null;
  }

  /** Reads the part of the head that has arrived. Returns where the head ends in the bytes. */
  #pushHead(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.head) {
      const next = this.#skipHead(bytes, at);
      at = next > at ? next : this.#pushLine(bytes, at);
    }
    return at;
  }

  #pushBody(bytes: Buffer, at: number): Buffer {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = 'done';
    if (end < bytes.length) this.keepAlive = false;
    return bytes.subarray(at, end);
  }

  #pushChunks(bytes: Buffer, start: number): Buffer | null {
    const body = new BodyBytes(bytes);
    let at = start;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'chunk') {
        const end = Math.min(bytes.length, at + this.#left);
        body.add(at, end);
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = 'chunk-end';
        continue;
      }
      const next = this.#skipFrame(bytes, at);
      at = next > at ? next : this.#pushLine(bytes, at);
    }
    if (at < bytes.length) this.keepAlive = false;
    return body.taken();
  }

  /** Reads the next line, or the part of it that has arrived. Returns where the line ends in the bytes. */
  #pushLine(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    const end = lf < 0 ? bytes.length : lf;
    this.#line += bytes.toString('latin1', at, end);
    this.#limit(end - at);
    if (lf < 0) return end;
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    this.#read(line);
    return end + 1;
  }

  /**
   * Reads a head of the usual form that has arrived completely, and returns where it ends. For any head of another form, `#skipHead`
   * returns `at`, and the parser reads that head line by line.
   */
  #skipHead(bytes: Buffer, at: number): number {
    if (this.#state !== 'status' || this.#line !== '') return at;
    const text = bytes.toString('latin1', at, Math.min(bytes.length, at + WHOLE_HEAD_MAX));
    const end = text.indexOf('\r\n\r\n');
    const statusEnd = text.indexOf('\n') - 1;
    if (end < 0 || !this.#unfinished.add(text.slice(statusEnd, end))) return at;
    this.#limit(end);
    this.#readStatus(text.slice(0, statusEnd));
    this.#endHead();
    return at + end + 4;
  }

  /**
   * Reads the usual bytes between chunks if they have arrived completely, and returns where they end. The parser reads unusual bytes
   * between chunks line by line.
   */
  #skipFrame(bytes: Buffer, at: number): number {
    if (this.#line !== '') return at;
    let start = at;
    if (this.#state === 'chunk-end' && bytes[at] === CR && bytes[at + 1] === LF) {
      this.#state = 'size';
      start += 2;
    }
    if (this.#state !== 'size') return at;
    let size = 0;
    let end = start;
    for (let digit = HEX[bytes[end]!]!; digit >= 0 && end < start + SIZE_DIGITS; digit = HEX[bytes[++end]!] ?? -1)
      size = size * 16 + digit;
    if (size === 0 || bytes[end] !== CR || bytes[end + 1] !== LF) return start;
    this.#left = size;
    this.#state = 'chunk';
    return end + 2;
  }

  /** Handles the end of the connection, which ends an answer without a length. Returns whether the answer is complete. */
  close(): boolean {
    this.keepAlive = false;
    if (this.#state === 'close') this.#state = 'done';
    return this.ended;
  }

  #limit(more: number): void {
    const inHead = this.#state === 'status' || this.#state === 'headers' || this.#state === 'trailers';
    if (inHead) this.#headBytes += more;
    if (this.#headBytes > HEAD_MAX || (!inHead && this.#line.length > SIZE_MAX))
      throw new BadReply('a line is too long');
  }

  #read(line: string): void {
    switch (this.#state) {
      case 'status':
        this.#readStatus(line);
        return;
      case 'headers':
        if (line === '') this.#endHead();
        else this.#readHeader(line);
        return;
      case 'size': {
        const size = CHUNK_SIZE.exec(line)?.[1];
        if (size === undefined) throw new BadReply('the size of a chunk is missing');
        this.#left = Number.parseInt(size, 16);
        this.#state = this.#left === 0 ? 'trailers' : 'chunk';
        return;
      }
      case 'chunk-end':
        if (line !== '') throw new BadReply('a chunk is longer than its size');
        this.#state = 'size';
        return;
      case 'trailers':
        if (line === '') this.#state = 'done';
    }
  }

  #readStatus(line: string): void {
    const found = STATUS_LINE.exec(line);
    if (!found) throw new BadReply('no HTTP');
    this.#unfinished.status = Number(found[2]);
    if (found[1] === '0') this.keepAlive = false;
    this.#state = 'headers';
  }

  #readHeader(line: string): void {
    if (!this.#unfinished.add(`\r\n${line}`)) throw new BadReply('a header is malformed');
  }

  #endHead(): void {
    const head = this.#unfinished;
    if (head.status < 200) {
      if (head.status === 101) throw new BadReply('another protocol');
      this.#unfinished = new ReplyHead();
      this.#state = 'status';
      return;
    }
    this.head = head;
    const connection = head.header('connection');
    if (connection !== null && CLOSE.test(connection)) this.keepAlive = false;
    const coding = head.header('transfer-encoding');
    const length = head.header('content-length');
    if (head.status === 204 || head.status === 304) this.#state = 'done';
    else if (coding !== null) {
      if (coding.trim().toLowerCase() !== 'chunked') throw new BadReply('the transfer coding is unknown');
      // The answer states two lengths, and an intermediary may have used the second length.
      if (length !== null) this.keepAlive = false;
      this.#state = 'size';
    } else if (length !== null) {
      this.#left = lengthOf(length);
      this.#state = this.#left === 0 ? 'done' : 'length';
    } else this.#state = 'close';
  }
}

/**
 * The chunk contents within the bytes of one read. Later chunks are moved directly after the first chunk, which needs no additional view or
 * buffer.
 */
class BodyBytes {
  readonly #bytes: Buffer;
  #from = 0;
  #end = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  add(from: number, end: number): void {
    if (this.#end === 0) {
      this.#from = from;
      this.#end = from;
    } else this.#bytes.copyWithin(this.#end, from, end);
    this.#end += end - from;
  }

  taken(): Buffer | null {
    return this.#end === 0 ? null : this.#bytes.subarray(this.#from, this.#end);
  }
}

const lengthOf = (text: string): number => (LENGTH.test(text) ? Number(text) : repeatedLength(text));

/** Returns the content length if a header repeats it with the same value. */
function repeatedLength(text: string): number {
  const [first, ...others] = text.split(',').map((each) => each.trim());
  if (!LENGTH.test(first!) || others.some((other) => other !== first)) throw new BadReply('no length');
  return Number(first);
}
