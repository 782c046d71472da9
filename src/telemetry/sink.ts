import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** The destination of lines. Never blocks its caller, and never throws. */
export interface Sink {
  /** Writes whole lines, or drops all of them. */
  write(lines: string): void;
  /** Resolves once everything is written or dropped; after `patienceMs` at the latest. */
  drain(patienceMs: number): Promise<void>;
  /** For the exit of the process: writes what it can without blocking. */
  flushNow(): void;
  /** The number of lines dropped. */
  readonly lost: number;
  /** Sets a listener for the end of each gap, with the number of lines dropped in it. */
  onResume(listener: (lines: number) => void): void;
}

/** Starts writing a range of bytes; `done` gets the number written. */
export type WriteCall = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  done: (error: { readonly code?: string } | null, count: number) => void,
) => void;

export interface SinkOptions {
  /** The maximum number of waiting bytes. */
  readonly bytesMax?: number;
  /** Defaults to the system's. */
  readonly write?: WriteCall;
}

/** Several seconds of a busy server's lines, for readers that stall briefly. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The pause before the next attempt on a full disk; it doubles. */
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 1_000;
/** Permanent errors: the reader is gone, or the descriptor is closed. */
const FINAL: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET', 'EBADF']);
const NEWLINE = 10;

export const systemWrite: WriteCall = (fd, bytes, offset, length, done) => write(fd, bytes, offset, length, null, done);

/** Opens a sink for a descriptor, such as 1 for standard output. */
export const openSink = (fd: number, options: SinkOptions = {}): Sink => new DescriptorSink(fd, options);

/**
 * Makes one asynchronous write at a time, so that a stalled reader blocks a thread and not the event loop. Other lines
 * wait. At the limit it drops lines until half of the buffer is free, to make few gaps.
 */
class DescriptorSink implements Sink {
  readonly #fd: number;
  readonly #bytesMax: number;
  readonly #start: WriteCall;
  /** The buffer being written, and the offset of its unwritten rest. */
  #current: Buffer | null = null;
  #offset = 0;
  #waiting: Buffer[] = [];
  /** Of `#current` and `#waiting`. */
  #bytes = 0;
  /** From the first line until all are written. */
  #isBusy = false;
  /** Whether a write is in progress. */
  #isWriting = false;
  #isFull = false;
  #isOver = false;
  #lost = 0;
  #lostBefore = 0;
  #pauseMs = PAUSE_MIN_MS;
  #onResume: (lines: number) => void = () => {};
  #onIdle: (() => void)[] = [];

  constructor(fd: number, { bytesMax = BYTES_MAX, write: start = systemWrite }: SinkOptions) {
    this.#fd = fd;
    this.#bytesMax = bytesMax;
    this.#start = start;
  }

  get lost(): number {
    return this.#lost;
  }

  onResume(listener: (lines: number) => void): void {
    this.#onResume = listener;
  }

  write(lines: string): void {
    const bytes = Buffer.from(lines);
    if (!this.#isOver && this.#bytes + bytes.length > this.#bytesMax) this.#isFull = true;
    if (this.#isOver || this.#isFull) {
      this.#lost += countLines(bytes);
    } else {
      this.#waiting.push(bytes);
      this.#bytes += bytes.length;
    }
    if (this.#isBusy || this.#isOver) return;
    this.#isBusy = true;
    // Deferred: an exit in this turn still finds all lines here, and several lines share a write.
    queueMicrotask(() => this.#next());
  }

  drain(patienceMs: number): Promise<void> {
    if (!this.#isBusy) return Promise.resolve();
    return new Promise((done) => {
      const timer = setTimeout(done, patienceMs);
      this.#onIdle.push(() => {
        clearTimeout(timer);
        done();
      });
    });
  }

  flushNow(): void {
    // The progress of a write under way is unknown, and later lines could end up inside its lines.
    if (this.#isWriting || this.#isOver || this.#bytes === 0) return;
    const rest = this.#current ? [this.#current.subarray(this.#offset)] : [];
    const all = Buffer.concat([...rest, ...this.#waiting]);
    this.#current = null;
    this.#waiting = [];
    this.#bytes = 0;
    const written = writeNonBlocking(this.#fd, all);
    this.#lost += countLines(all.subarray(written));
  }

  #next(): void {
    this.#checkRoom();
    if (this.#current === null) {
      if (this.#waiting.length === 0) {
        this.#idle();
        return;
      }
      this.#current = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting);
      this.#offset = 0;
      this.#waiting = [];
    }
    const { length } = this.#current;
    this.#isWriting = true;
    this.#start(this.#fd, this.#current, this.#offset, length - this.#offset, (error, count) => {
      this.#isWriting = false;
      if (error && FINAL.has(error.code)) this.#end();
      else if (error || count === 0) this.#pause();
      else this.#wrote(count);
    });
  }

  /** A pipe may take any number of bytes, even half a character. */
  #wrote(count: number): void {
    this.#pauseMs = PAUSE_MIN_MS;
    this.#offset += count;
    this.#bytes -= count;
    if (this.#current && this.#offset >= this.#current.length) this.#current = null;
    this.#next();
  }

  #pause(): void {
    setTimeout(() => this.#next(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MAX_MS);
  }

  #checkRoom(): void {
    if (!this.#isFull || this.#bytes > this.#bytesMax / 2) return;
    this.#isFull = false;
    const lines = this.#lost - this.#lostBefore;
    this.#lostBefore = this.#lost;
    this.#onResume(lines);
  }

  #end(): void {
    this.#isOver = true;
    if (this.#current) this.#lost += countLines(this.#current.subarray(this.#offset));
    for (const bytes of this.#waiting) this.#lost += countLines(bytes);
    this.#current = null;
    this.#waiting = [];
    this.#bytes = 0;
    this.#idle();
  }

  #idle(): void {
    this.#isBusy = false;
    const waiters = this.#onIdle;
    this.#onIdle = [];
    for (const done of waiters) done();
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/**
 * Writes line by line, because a pipe takes up to 4 KiB whole or not at all.
 * @returns the number of bytes written
 */
function writeNonBlocking(fd: number, bytes: Buffer): number {
  const impatient = nonBlocking(fd);
  let written = 0;
  try {
    while (written < bytes.length) {
      const end = bytes.indexOf(NEWLINE, written) + 1 || bytes.length;
      written += writeSync(impatient, bytes, written, end - written);
    }
  } catch {
    // Full or gone, and there is no time left.
  }
  return written;
}

/** The same pipe in non-blocking mode, or the descriptor itself if that fails. */
function nonBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return fd;
  }
}
