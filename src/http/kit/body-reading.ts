import { setImmediate } from 'node:timers/promises';
import type { GatePlace } from '../../access/limits/gate.ts';
import { SignalboxError } from '../../core/errors.ts';
import { Watch, type WatchedItem } from './late-watch.ts';

/**
 * The time in which a body must arrive, in ms, and how many bytes extend it by one second. For a body that is read at once, all bytes of
 * the body count; for any other body, only the bytes that have arrived count.
 */
const READ_MS = 10_000;
const BYTES_PER_SECOND = 65_536;
/** How many pieces of a body are read in one turn of the event loop. */
const PIECES_PER_TURN = 256;

/** Reads request bodies within limits of size and time. */
export class BodyReader {
  readonly #open: Watch<BodyReading>;

  /** @param clock returns milliseconds that never decrease */
  constructor(clock: () => number) {
    this.#open = new Watch(clock);
  }

  /** How many bodies are being read. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Reads the text of a body, within `bytesMax` bytes and in time. The bytes count against the request's slot at the gate.
   * @param atOnce the size of a body whose memory is reserved and that is read in one piece; 0 if memory is reserved as it arrives
   * @throws SignalboxError 413, 408, 503, or 400 for an incomplete body
   */
  text(request: Request, atOnce: number, bytesMax: number, place: GatePlace | null): Promise<string> | string {
    if (atOnce === 0 && !request.body) return '';
    const reading = new BodyReading(this.#open, atOnce, bytesMax, place);
    return reading.complete(atOnce > 0 ? request.text() : inPieces(request, reading, new PiecedText()));
  }

  /** Reads the bytes of a body. Works like `text`. */
  bytes(request: Request, atOnce: number, bytesMax: number, place: GatePlace | null): Promise<Buffer> {
    const reading = new BodyReading(this.#open, atOnce, bytesMax, place);
    const whole =
      atOnce > 0
        ? request.arrayBuffer().then((body) => Buffer.from(body))
        : inPieces(request, reading, new PiecedBytes());
    return reading.complete(whole);
  }
}

/** Collects the pieces of a body. */
interface PieceCollector<Whole> {
  add(piece: Uint8Array): void;
  end(): Whole;
}

/** Reads a body piece by piece, and counts each piece. */
async function inPieces<Whole>(
  { body }: Request,
  reading: BodyReading,
  collector: PieceCollector<Whole>,
): Promise<Whole> {
  for await (const piece of body ?? []) {
    reading.count(piece.byteLength);
    collector.add(piece);
    // Pieces that arrived together are read without waiting for a turn of the event loop. The reader sometimes waits for a turn, so that
    // other requests can run.
    if (reading.pieces % PIECES_PER_TURN === 0) await setImmediate();
  }
  return collector.end();
}

const BLOCK_BYTES = 16_384;
const BLOCK_BYTES_MAX = 1_048_576;

/**
 * Collects pieces in blocks, each twice as long as the block before it, up to 1 MiB. One buffer that grows would leave shorter copies of
 * itself in memory, and a separate object for each small piece would take many times the size of the piece.
 */
class PiecedBytes implements PieceCollector<Buffer> {
  readonly #full: Buffer[] = [];
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #used = 0;

  add(piece: Uint8Array): void {
    const room = this.#block.length - this.#used;
    this.#block.set(piece.subarray(0, room), this.#used);
    this.#used += Math.min(piece.byteLength, room);
    if (piece.byteLength <= room) return;
    this.#full.push(this.#block);
    const rest = piece.subarray(room);
    this.#block = Buffer.allocUnsafeSlow(Math.max(rest.byteLength, Math.min(2 * this.#block.length, BLOCK_BYTES_MAX)));
    this.#block.set(rest);
    this.#used = rest.byteLength;
  }

  end(): Buffer {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)]);
  }
}

/**
 * Collects pieces of UTF-8 text and decodes them in blocks. A separate string for each small piece would take many times the size of the
 * piece in memory.
 */
class PiecedText implements PieceCollector<string> {
  readonly #decoder = new TextDecoder();
  #block: Uint8Array | null = null;
  #used = 0;
  #text = '';

  add(piece: Uint8Array): void {
    if (this.#used + piece.byteLength > BLOCK_BYTES) this.#decodeBlock();
    if (piece.byteLength > BLOCK_BYTES) {
      this.#text += this.#decoder.decode(piece, { stream: true });
      return;
    }
    this.#block ??= new Uint8Array(BLOCK_BYTES);
    this.#block.set(piece, this.#used);
    this.#used += piece.byteLength;
  }

  end(): string {
    this.#decodeBlock();
    return this.#text + this.#decoder.decode();
  }

  #decodeBlock(): void {
    if (!this.#block) return;
    this.#text += this.#decoder.decode(this.#block.subarray(0, this.#used), { stream: true });
    this.#used = 0;
  }
}

/** The reading of a single body. The server's idle timeout restarts with every byte, so a slow sender needs this additional time limit. */
class BodyReading implements WatchedItem<BodyReading> {
  before: BodyReading | null = null;
  after: BodyReading | null = null;
  readonly #open: Watch<BodyReading>;
  readonly #bytesMax: number;
  readonly #place: GatePlace | null;
  /** When the reading started, in ms on the reader's clock. */
  readonly #since: number;
  #bytes: number;
  /** The number of pieces that have arrived. */
  pieces = 0;
  #isOver = false;
  #reject: ((error: SignalboxError) => void) | null = null;

  /** @param bytes the bytes that count before they arrive */
  constructor(open: Watch<BodyReading>, bytes: number, bytesMax: number, place: GatePlace | null) {
    this.#open = open;
    this.#since = open.now();
    this.#bytes = bytes;
    this.#bytesMax = bytesMax;
    this.#place = place;
  }

  /** Returns the whole body, unless the body is cut off before it is complete. */
  complete<Whole>(reading: Promise<Whole>): Promise<Whole> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#open.add(this);
      this.#place?.begin(this);
      reading.then(
        (whole) => {
          this.#end();
          resolve(whole);
        },
        (cause: unknown) => {
          this.#end();
          reject(cause instanceof SignalboxError ? cause : brokenOff(cause));
        },
      );
    });
  }

  /**
   * Counts bytes that have arrived.
   * @throws SignalboxError if there are too many
   */
  count(bytes: number): void {
    // Bytes that arrive after the time limit are discarded.
    if (this.#isOver) throw tooSlow();
    this.#bytes += bytes;
    this.pieces++;
    if (this.#bytes > this.#bytesMax) throw tooLarge(this.#bytesMax);
    this.#place?.grow(bytes);
  }

  /** Ends the reading of a body that is too slow. */
  cut(): void {
    const reject = this.#reject;
    this.#end();
    reject?.(tooSlow());
  }

  /** Whether the time limit is over. */
  isLate(now: number): boolean {
    return now - this.#since >= READ_MS + 1_000 * Math.floor(this.#bytes / BYTES_PER_SECOND);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // The promise would keep the text in memory after it is parsed.
    this.#reject = null;
    this.#open.remove(this);
    this.#place?.end();
  }
}

export function tooLarge(bytesMax: number): SignalboxError {
  return new SignalboxError('request_too_large', `The body is too large. It may have at most ${bytesMax} bytes.`);
}

/** A body breaks off only if the connection broke, so no caller reads the error. */
const brokenOff = (cause: unknown): SignalboxError =>
  new SignalboxError('invalid_json', 'The body is incomplete: it ended too early.', { cause });

/** The rest of a slow body may still arrive, so the connection cannot be used again. */
function tooSlow(): SignalboxError {
  return new SignalboxError('request_timeout', 'The body arrived too slowly.', {
    headers: { connection: 'close' },
  });
}
