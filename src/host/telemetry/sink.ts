import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Starts writing a range of bytes; `done` receives the number of bytes written. */
export type WriteCall = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  done: (error: WriteError, count: number) => void,
) => void;

type WriteError = { readonly code?: string } | null;

export interface SinkOptions {
  /** The most bytes that may wait in the sink. */
  readonly bytesMax?: number;
  /** Defaults to the write call of the system. */
  readonly write?: WriteCall;
}

/** The buffer has room for several seconds of a busy server's lines, so that readers may stall briefly. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The pause before the next attempt to write to a full disk, ms; the pause doubles each time. */
const PAUSE_MIN_MS = 10;
const PAUSE_MAX_MS = 1_000;
/** The error codes of a descriptor that can never be written again: the reader is gone, or the descriptor is closed. */
const FINAL: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET', 'EBADF']);
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

export const systemWrite: WriteCall = (fd, bytes, offset, length, done) => write(fd, bytes, offset, length, null, done);

/** The destination of log lines. A sink never blocks its caller, and never throws. */
export type Sink = Pick<DescriptorSink, 'lost' | 'onResume' | 'write' | 'drain' | 'flushNow'>;

/** Opens a sink for a descriptor, such as 1 for standard output. */
export const openSink = (fd: number, options: SinkOptions = {}): Sink => new DescriptorSink(fd, options);

/**
 * Makes one asynchronous write at a time, so that a stalled reader blocks a thread and not the event loop. Lines wait in the buffer during
 * a write. When the buffer is full, the sink drops lines until half of the buffer is free, so that there are few gaps. State: log.
 */
class DescriptorSink {
  /** The number of lines that were dropped. */
  lost = 0;
  readonly #fd: number;
  readonly #bytesMax: number;
  readonly #start: WriteCall;
  /** The unwritten rest of the buffer that is being written. */
  #rest: Buffer = NOTHING;
  #waiting: Buffer[] = [];
  /** The bytes of `#rest` and `#waiting`. */
  #bytes = 0;
  /** Pending from the first line until all lines are written; null if no line waits. */
  #writing: Promise<void> | null = null;
  /** Whether a write is in progress. */
  #isWriting = false;
  #isFull = false;
  #isOver = false;
  #lostBefore = 0;
  #onResume: (lines: number) => void = () => {};

  constructor(fd: number, { bytesMax = BYTES_MAX, write: start = systemWrite }: SinkOptions) {
    this.#fd = fd;
    this.#bytesMax = bytesMax;
    this.#start = start;
  }

  /** Sets a listener that the sink calls at the end of each gap, with the number of lines that it dropped in the gap. */
  onResume(listener: (lines: number) => void): void {
    this.#onResume = listener;
  }

  /** Writes whole lines, or drops all of the given lines. */
  write(lines: string): void {
    const bytes = Buffer.from(lines);
    if (!this.#isOver && this.#bytes + bytes.length > this.#bytesMax) this.#isFull = true;
    if (this.#isOver || this.#isFull) {
      this.lost += countLines(bytes);
    } else {
      this.#waiting.push(bytes);
      this.#bytes += bytes.length;
    }
    if (!this.#isOver) this.#writing ??= this.#writeAll();
  }

  /** Resolves once everything is written or dropped, after `patienceMs` at the latest. */
  async drain(patienceMs: number): Promise<void> {
    if (this.#writing) await Promise.race([this.#writing, Bun.sleep(patienceMs)]);
  }

  /** Writes as many lines as possible without blocking, when the process exits. */
  flushNow(): void {
    // The progress of a write in progress is unknown, so later lines could end up inside its lines.
    if (this.#isWriting || this.#isOver || this.#bytes === 0) return;
    const all = this.#takeAll();
    this.lost += countLines(all.subarray(writeNonBlocking(this.#fd, all)));
  }

  async #writeAll(): Promise<void> {
    // If the process exits in this turn of the event loop, all lines are still in the buffer. The wait for the next turn also lets several
    // lines share one write.
    await Promise.resolve();
    let pauseMs = PAUSE_MIN_MS;
    for (;;) {
      this.#checkRoom();
      if (this.#rest.length === 0) this.#rest = Buffer.concat(this.#waiting.splice(0));
      if (this.#rest.length === 0) break;
      const { error, count } = await this.#writeRest();
      if (error && FINAL.has(error.code)) {
        this.#isOver = true;
        this.lost += countLines(this.#takeAll());
      } else if (error || count === 0) {
        await new Promise((done) => setTimeout(done, pauseMs).unref());
        pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
      } else {
        // A pipe may accept any number of bytes, even half a character.
        this.#rest = this.#rest.subarray(count);
        this.#bytes -= count;
        pauseMs = PAUSE_MIN_MS;
      }
    }
    this.#writing = null;
  }

  #writeRest(): Promise<{ error: WriteError; count: number }> {
    this.#isWriting = true;
    return new Promise((done) =>
      this.#start(this.#fd, this.#rest, 0, this.#rest.length, (error, count) => {
        this.#isWriting = false;
        done({ error, count });
      }),
    );
  }

  #checkRoom(): void {
    if (!this.#isFull || this.#bytes > this.#bytesMax / 2) return;
    this.#isFull = false;
    const lines = this.lost - this.#lostBefore;
    this.#lostBefore = this.lost;
    this.#onResume(lines);
  }

  #takeAll(): Buffer {
    const all = Buffer.concat([this.#rest, ...this.#waiting]);
    this.#rest = NOTHING;
    this.#waiting = [];
    this.#bytes = 0;
    return all;
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/**
 * Writes line by line, because a pipe accepts a write of up to 4 KiB completely or not at all.
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
    // The pipe is full or closed, and no time is left to try the write again.
  }
  return written;
}

/** Returns the same pipe in non-blocking mode, or the descriptor itself if that fails. */
function nonBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return fd;
  }
}
