/** The most bytes of a head, including the 1xx heads before it. */
const HEAD_MAX = 65_536;
/** The most bytes of a chunk's size line. */
const SIZE_MAX = 1_024;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i;
const LF = 0x0a;

/** An answer that violates HTTP. */
export class BadReply extends Error {
  readonly code = 'BadReply';
}

export interface ReplyHead {
  readonly status: number;
  readonly headers: Headers;
}

type State = 'status' | 'headers' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'length' | 'close' | 'done';

/**
 * Parses one HTTP/1.1 answer to a POST from bytes split anywhere. Skips interim answers (1xx) and refuses ambiguous
 * ones.
 */
export class ReplyParser {
  /** Null until it is complete. */
  head: ReplyHead | null = null;
  /** Whether the connection may carry another request; valid at the end. */
  keepAlive = true;
  #state: State = 'status';
  /** The start of an unfinished line. */
  #line = '';
  #headBytes = 0;
  #status = 0;
  #headers = new Headers();
  /** Bytes of the body or chunk still to come. */
  #left = 0;

  /** Whether the answer is complete. */
  get ended(): boolean {
    return this.#state === 'done';
  }

  /** Returns the pieces of the body, as views of `bytes`. @throws BadReply, after which the parser is unusable */
  push(bytes: Buffer): Buffer[] {
    const pieces: Buffer[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'done') {
        // With unsolicited bytes, the next answer on this connection could not be trusted.
        this.keepAlive = false;
        break;
      }
      if (this.#state === 'chunk' || this.#state === 'length' || this.#state === 'close') {
        const end = this.#state === 'close' ? bytes.length : Math.min(bytes.length, at + this.#left);
        pieces.push(bytes.subarray(at, end));
        this.#left -= end - at;
        at = end;
        if (this.#left === 0 && this.#state !== 'close') this.#state = this.#state === 'chunk' ? 'chunk-end' : 'done';
        continue;
      }
      const end = bytes.indexOf(LF, at);
      this.#line += bytes.toString('latin1', at, end < 0 ? bytes.length : end);
      this.#limit((end < 0 ? bytes.length : end) - at);
      if (end < 0) break;
      at = end + 1;
      const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
      this.#line = '';
      this.#read(line);
    }
    return pieces;
  }

  /** Handles the end of the connection. It ends an answer without a length. Returns whether the answer is complete. */
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
    this.#status = Number(found[2]);
    if (found[1] === '0') this.keepAlive = false;
    this.#state = 'headers';
  }

  #readHeader(line: string): void {
    const colon = line.indexOf(':');
    try {
      // Refuses a name that is empty, folded or followed by a space.
      this.#headers.append(line.slice(0, Math.max(0, colon)), line.slice(colon + 1).trim());
    } catch {
      throw new BadReply('a header is malformed');
    }
  }

  #endHead(): void {
    if (this.#status < 200) {
      if (this.#status === 101) throw new BadReply('another protocol');
      this.#headers = new Headers();
      this.#state = 'status';
      return;
    }
    const headers = this.#headers;
    this.head = { status: this.#status, headers };
    if (/\bclose\b/i.test(headers.get('connection') ?? '')) this.keepAlive = false;
    const coding = headers.get('transfer-encoding');
    const length = headers.get('content-length');
    if (this.#status === 204 || this.#status === 304) this.#state = 'done';
    else if (coding !== null) {
      if (coding.trim().toLowerCase() !== 'chunked') throw new BadReply('the transfer coding is unknown');
      // An intermediary may have used the other of the two lengths.
      if (length !== null) this.keepAlive = false;
      this.#state = 'size';
    } else if (length !== null) {
      this.#left = lengthOf(length);
      this.#state = this.#left === 0 ? 'done' : 'length';
    } else this.#state = 'close';
  }
}

/** Accepts a repeated length if all values agree. */
function lengthOf(text: string): number {
  const [first, ...others] = text.split(',').map((each) => each.trim());
  const isSound = /^\d{1,15}$/.test(first!) && others.every((other) => other === first);
  if (!isSound) throw new BadReply('no length');
  return Number(first);
}
