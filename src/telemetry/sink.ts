import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Where lines go. It never makes its caller wait, and never throws. */
export interface Sink {
  /** Takes whole lines, or loses all of them. */
  write(lines: string): void;
  /** Resolves once everything is written, or nothing can be any more; at the latest after so many ms. */
  drain(patienceMs: number): Promise<void>;
  /** For the exit of the process: writes what waits, as far as that is possible without waiting. */
  flushNow(): void;
  /** Lines that were lost, since it was opened. */
  readonly lost: number;
  /** Sets who is told, with their number, when lines are taken again after some were lost. */
  onRoom(tell: (lines: number) => void): void;
}

/** Begins to write a part of some bytes, and tells how many of it were written. */
export type Write = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  done: (error: { readonly code?: string } | null, count: number) => void,
) => void;

export interface SinkOptions {
  /** Bytes that may wait. */
  readonly bytesMax?: number;
  /** Left out, the system's. */
  readonly write?: Write;
}

/** Some seconds of a busy server's lines: readers that stall for a moment lose nothing. */
const BYTES_MAX = 4 * 1024 * 1024;
/** A full disk is tried again after such a pause; it doubles. */
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 1_000;
/** What does not pass: the reader is gone, or the descriptor is closed. */
const FINAL: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET', 'EBADF']);
const NEWLINE = 10;

export const systemWrite: Write = (fd, bytes, offset, length, done) => write(fd, bytes, offset, length, null, done);

/** Writes to a descriptor, such as 1 for standard output. */
export const openSink = (fd: number, options: SinkOptions = {}): Sink => new DescriptorSink(fd, options);

/**
 * One asynchronous write at a time, so that a reader who stalls holds up a thread and not the event loop. What comes
 * meanwhile waits. Once there is no room more lines are lost until half of it is free, so that losses are few gaps.
 */
class DescriptorSink implements Sink {
  readonly #fd: number;
  readonly #bytesMax: number;
  readonly #start: Write;
  /** What is being written, and from where on it was not yet. */
  #current: Buffer | null = null;
  #offset = 0;
  #waiting: Buffer[] = [];
  /** Of both. */
  #bytes = 0;
  /** From the first line until there is none. */
  #isBusy = false;
  /** The system has a write, and has not said what came of it. */
  #isOut = false;
  #isFull = false;
  #isOver = false;
  #lost = 0;
  #lostBefore = 0;
  #pauseMs = PAUSE_MIN_MS;
  #tell: (lines: number) => void = () => {};
  #onIdle: (() => void)[] = [];

  constructor(fd: number, { bytesMax = BYTES_MAX, write: start = systemWrite }: SinkOptions) {
    this.#fd = fd;
    this.#bytesMax = bytesMax;
    this.#start = start;
  }

  get lost(): number {
    return this.#lost;
  }

  onRoom(tell: (lines: number) => void): void {
    this.#tell = tell;
  }

  write(lines: string): void {
    const bytes = Buffer.from(lines);
    if (!this.#isOver && this.#bytes + bytes.length > this.#bytesMax) this.#isFull = true;
    if (this.#isOver || this.#isFull) {
      this.#lost += newlinesOf(bytes);
    } else {
      this.#waiting.push(bytes);
      this.#bytes += bytes.length;
    }
    if (this.#isBusy || this.#isOver) return;
    this.#isBusy = true;
    // Not at once: an exit in this very turn still finds all of it here, and several lines go together.
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
    // Nobody knows how far a write has come that is out: what follows it could stand amid its lines.
    if (this.#isOut || this.#isOver || this.#bytes === 0) return;
    const rest = this.#current ? [this.#current.subarray(this.#offset)] : [];
    const all = Buffer.concat([...rest, ...this.#waiting]);
    this.#current = null;
    this.#waiting = [];
    this.#bytes = 0;
    const written = writeWithoutWaiting(this.#fd, all);
    this.#lost += newlinesOf(all.subarray(written));
  }

  #next(): void {
    this.#look();
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
    this.#isOut = true;
    this.#start(this.#fd, this.#current, this.#offset, length - this.#offset, (error, count) => {
      this.#isOut = false;
      if (error && FINAL.has(error.code)) this.#end();
      else if (error || count === 0) this.#pause();
      else this.#wrote(count);
    });
  }

  /** A pipe takes what it has room for: even half a character. */
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

  #look(): void {
    if (!this.#isFull || this.#bytes > this.#bytesMax / 2) return;
    this.#isFull = false;
    const lines = this.#lost - this.#lostBefore;
    this.#lostBefore = this.#lost;
    this.#tell(lines);
  }

  #end(): void {
    this.#isOver = true;
    if (this.#current) this.#lost += newlinesOf(this.#current.subarray(this.#offset));
    for (const bytes of this.#waiting) this.#lost += newlinesOf(bytes);
    this.#current = null;
    this.#waiting = [];
    this.#bytes = 0;
    this.#idle();
  }

  #idle(): void {
    this.#isBusy = false;
    const told = this.#onIdle;
    this.#onIdle = [];
    for (const done of told) done();
  }
}

function newlinesOf(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Writes line by line, which a pipe takes whole or not at all up to 4 KiB. Returns how many bytes it took. */
function writeWithoutWaiting(fd: number, bytes: Buffer): number {
  const impatient = impatientOf(fd);
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

/** The same pipe, opened so that a write fails rather than wait. The descriptor itself where that cannot be had. */
function impatientOf(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return fd;
  }
}
