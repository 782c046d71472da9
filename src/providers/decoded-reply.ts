import type { Transform } from 'node:stream';
import { lazy } from '../core/lazy.ts';
import { codeOf } from '../core/thrown.ts';
import { type DecoderPlace, DecoderRoom } from './decoder-room.ts';
import { UpstreamError } from './failures.ts';
import type { UpstreamReply } from './reply.ts';

/**
 * The maximum number of decoded bytes per received byte. Streams of chat completions with varying words shrink to 1/143 at most, and gzip
 * shrinks a single repeated word to 1/228. Apache's limit is 200, and a gzip bomb reaches 1,030.
 */
const RATIO_MAX = 250;
/** Up to this many decoded bytes any ratio is accepted: 128,000 tokens of a single repeated word take 375 kB. */
const RATIO_FLOOR = 1_048_576;
/** The maximum number of encodings of one answer. Each decoder needs up to 16 MiB for its window. */
const ENCODINGS_MAX = 3;
/** The largest zstd window that HTTP allows, 8 MiB, as a power of 2 (RFC 9659). */
const ZSTD_WINDOW_LOG = 23;
/** The maximum number of bytes that a decoder produces at once, and that wait for the reader. */
const SIZES = { chunkSize: 8_192, readableHighWaterMark: 8_192 };

type Decoder = Transform & { readonly bytesWritten: number };

/** Loaded with the first compressed answer, because it also loads the stream modules. */
const zlib = lazy(() => process.getBuiltinModule('node:zlib'));

const gunzip = (): Decoder => zlib().createGunzip(SIZES);

/** Functions that create a decoder from the first byte of the data, by the name of the encoding. */
const DECODERS: ReadonlyMap<string, (first: number) => Decoder> = new Map<string, (first: number) => Decoder>([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  // `deflate` means the zlib format, whose first byte ends with 8. Some servers send raw deflate data under the name `deflate`.
  ['deflate', (first) => ((first & 0x0f) === 8 ? zlib().createInflate(SIZES) : zlib().createInflateRaw(SIZES))],
  ['br', () => zlib().createBrotliDecompress(SIZES)],
  [
    'zstd',
    () => {
      const params = { [zlib().constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG };
      return zlib().createZstdDecompress({ ...SIZES, params });
    },
  ],
]);

/**
 * Decodes the encodings in the answer's `content-encoding`, last one first. Returns the same answer if it has none. `read` throws an
 * `UpstreamError` of kind `malformed` for an unknown encoding, for data that is corrupt, incomplete or followed by other bytes, and for
 * data that expands too much.
 * @param room the memory that all decoders share
 */
export function decodedReply(reply: UpstreamReply, room?: DecoderRoom): UpstreamReply {
  const header = reply.header('content-encoding');
  return header === null ? reply : withoutEncodings(header, reply, room ?? new DecoderRoom());
}

function withoutEncodings(header: string, reply: UpstreamReply, room: DecoderRoom): UpstreamReply {
  const names = header.split(',').map((name) => name.trim().toLowerCase());
  const encodings = names.filter((name) => name !== '' && name !== 'identity');
  const unknown = encodings.find((name) => !DECODERS.has(name));
  const refusal =
    unknown !== undefined
      ? `the answer has the content-encoding \`${unknown}\`; supported are gzip, deflate, br, zstd and identity`
      : encodings.length > ENCODINGS_MAX
        ? `the answer has ${encodings.length} content-encodings; the maximum is ${ENCODINGS_MAX}`
        : null;
  const place = room.place(encodings);
  const last = { place, isLast: true };
  if (refusal !== null) return new DecodedReply(reply, '', last, new UpstreamError('malformed', refusal));
  return encodings.reduceRight<UpstreamReply>(
    (inner, encoding, at) => new DecodedReply(inner, encoding, { place, isLast: at === 0 }),
    reply,
  );
}

/** How a decoder shares the room of its answer. */
interface PlaceTerms {
  readonly place: DecoderPlace;
  /** Whether the decoder is the last of its answer, whose end releases the room. */
  readonly isLast: boolean;
}

/** An answer from which one encoding is removed, piece by piece as the bytes arrive. The runtime decompresses answers in other threads. */
class DecodedReply implements UpstreamReply {
  readonly #inner: UpstreamReply;
  readonly #encoding: string;
  readonly #terms: PlaceTerms;
  /** The first bytes, while they wait for the room of the decoder. */
  #first: Uint8Array | null = null;
  /** The decoder is created when the first bytes arrive. */
  #decoder: Decoder | null = null;
  /** The number of bytes given to the decoder, and the number of decoded bytes. */
  #encoded = 0;
  #decoded = 0;
  /** Whether the decoder has not yet processed all the bytes that it received. */
  #isBusy = false;
  #isInputOver = false;
  #isOver = false;
  /** The error that `read` throws after all decoded bytes were read. */
  #error: unknown;
  #waiting: PromiseWithResolvers<void> | null = null;

  constructor(inner: UpstreamReply, encoding: string, terms: PlaceTerms, error: UpstreamError | null = null) {
    this.#inner = inner;
    this.#terms = terms;
    this.#encoding = encoding;
    this.#error = error;
  }

  get status(): number {
    return this.#inner.status;
  }

  get headers(): Headers {
    return this.#inner.headers;
  }

  header(name: string): string | null {
    return this.#inner.header(name);
  }

  read(): Uint8Array | null | Promise<void> {
    for (;;) {
      const bytes: Uint8Array | null = this.#decoder?.read() ?? null;
      if (bytes) return this.#counted(bytes);
      if (this.#error !== null) throw this.#error;
      if (this.#isOver) return null;
      if (this.#isBusy) {
        this.#waiting ??= Promise.withResolvers();
        return this.#waiting.promise;
      }
      const waiting = this.#feed();
      if (waiting) return waiting;
    }
  }

  cancel(): void {
    this.#inner.cancel();
    this.#fail(new DOMException('The operation was aborted.', 'AbortError'));
  }

  /** The number of received bytes of the answer, before decoding. */
  get #received(): number {
    return this.#inner instanceof DecodedReply ? this.#inner.#received : this.#encoded;
  }

  #counted(bytes: Uint8Array): Uint8Array {
    this.#decoded += bytes.length;
    if (this.#decoded <= RATIO_FLOOR || this.#decoded <= RATIO_MAX * this.#received) return bytes;
    this.#fail(new UpstreamError('malformed', `the answer is compressed by more than ${RATIO_MAX} to 1`));
    throw this.#error;
  }

  /** Gives the next bytes to the decoder. If no bytes have arrived, returns a promise to wait for. */
  #feed(): Promise<void> | undefined {
    let piece: Uint8Array | null | Promise<void>;
    try {
      piece = this.#first ?? this.#inner.read();
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (piece instanceof Promise) return piece;
    if (piece === null) this.#endInput();
    else if (piece.length > 0) {
      const turn = this.#decoder ? null : this.#terms.place.enter(piece[0]!);
      this.#first = turn && piece;
      if (turn) return turn;
      this.#write(piece);
    }
    return;
  }

  #write(piece: Uint8Array): void {
    this.#decoder ??= this.#open(piece[0]!);
    this.#encoded += piece.length;
    this.#isBusy = true;
    this.#decoder.write(piece, (error) => {
      if (error) return;
      this.#isBusy = false;
      this.#wake();
    });
  }

  #open(first: number): Decoder {
    const decoder = DECODERS.get(this.#encoding)!(first);
    return decoder
      .on('readable', () => this.#wake())
      .on('end', () => this.#end(decoder.bytesWritten < this.#encoded))
      .on('error', (error) => this.#failed(error));
  }

  #endInput(): void {
    this.#isInputOver = true;
    // An empty body is not valid data of any encoding, but many servers send an empty body with a `content-encoding` header.
    if (!this.#decoder) this.#over();
    else {
      this.#isBusy = true;
      // The runtime accepts truncated zstd data. The byte in `NO_FRAME` cannot begin a frame, so it causes an error only if the last zstd
      // frame is complete.
      if (this.#encoding === 'zstd') this.#decoder.write(NO_FRAME, (error) => error || this.#fail(this.#broken()));
      else this.#decoder.end();
    }
  }

  /** @param isFollowed whether other bytes follow the data. gzip may be padded with zeros. */
  #end(isFollowed: boolean): void {
    if (isFollowed && DECODERS.get(this.#encoding) !== gunzip) this.#fail(this.#broken());
    this.#over();
    if (!this.#isInputOver) this.#inner.cancel();
    this.#wake();
  }

  #failed(error: Error): void {
    if (this.#isInputOver && codeOf(error) === 'ZSTD_error_prefix_unknown') this.#end(false);
    else this.#fail(this.#broken());
  }

  #broken(): UpstreamError {
    return new UpstreamError(
      'malformed',
      `the answer is not valid ${this.#encoding}: its data is corrupt or incomplete`,
    );
  }

  /** Ends the answer and frees the decoder's memory. */
  #fail(error: unknown): void {
    this.#error ??= error;
    this.#first = null;
    this.#decoder?.destroy();
    this.#leave();
    this.#wake();
  }

  #over(): void {
    this.#isOver = true;
    this.#leave();
  }

  #leave(): void {
    if (this.#terms.isLast) this.#terms.place.leave();
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = null;
  }
}

const NO_FRAME = Uint8Array.of(0);
