/** The memory of all decoders of a process together, bytes. */
const BYTES_MAX = 134_217_728;
/** The memory of a decoder in addition to its window, bytes. */
const DECODER_BYTES = 65_536;
/** An answer whose decoders need at most this many bytes does not wait in line if they are free: three decoders without large windows. */
const SMALL_BYTES = 3 * DECODER_BYTES;
/** The largest windows, by the name of the encoding. The windows of other encodings are part of `DECODER_BYTES`. */
const WINDOWS: ReadonlyMap<string, number> = new Map([
  ['br', 16_777_216],
  ['zstd', 8_388_608],
]);

/** Returns the most bytes that the decoder of an encoding needs. */
const mostBytesOf = (encoding: string): number => DECODER_BYTES + (WINDOWS.get(encoding) ?? 0);

/**
 * Returns the bytes that a decoder needs.
 * @param first the first byte of the data, which states the window of `br` (RFC 7932, section 9.1)
 */
function bytesOf(encoding: string, first: number): number {
  if (encoding !== 'br' || (first & 0x7f) === 0x11) return mostBytesOf(encoding);
  const [long, short] = [(first >> 1) & 7, (first >> 4) & 7];
  const bits = (first & 1) === 0 ? 16 : long > 0 ? 17 + long : short > 0 ? 8 + short : 17;
  return DECODER_BYTES + 2 ** bits;
}

/**
 * Limits the memory of all decoders of compressed answers. An answer that finds too little waits, first in, first out, until its call is
 * over. An answer whose decoders have small windows does not wait for answers that need more memory than is free.
 * State: connections.
 */
export class DecoderRoom {
  #free = BYTES_MAX;
  readonly #line = new Set<DecoderPlace>();

  /** @param encodings of one answer, in the order of `content-encoding` */
  place(encodings: readonly string[]): DecoderPlace {
    return new DecoderPlace(this, encodings);
  }

  /** Takes the memory of an answer, unless too little is free or larger answers wait. Only `DecoderPlace` calls this function. */
  take(place: DecoderPlace): boolean {
    const isNext = this.#line.size === 0 || place.bytes <= SMALL_BYTES;
    if (isNext && place.bytes <= this.#free) {
      this.#free -= place.bytes;
      return true;
    }
    this.#line.add(place);
    return false;
  }

  /** Releases the memory of an answer, or ends its wait. Only `DecoderPlace` calls this function. */
  leave(place: DecoderPlace): void {
    if (!this.#line.delete(place)) this.#free += place.bytes;
    for (const next of this.#line) {
      if (next.bytes > this.#free) return;
      this.#line.delete(next);
      this.#free -= next.bytes;
      next.go();
    }
  }
}

/**
 * The memory for all decoders of one answer. They take it together, because answers that wait for their second decoder while they hold
 * their first could block each other.
 */
export class DecoderPlace {
  /** 0 before the first bytes of the answer, and after its end. */
  bytes = 0;
  readonly #room: DecoderRoom;
  readonly #encodings: readonly string[];
  #turn: PromiseWithResolvers<void> | null = null;
  #isOver = false;

  /** Call `DecoderRoom.place` instead of this constructor. */
  constructor(room: DecoderRoom, encodings: readonly string[]) {
    this.#room = room;
    this.#encodings = encodings;
  }

  /**
   * Takes the memory before the first decoder is created. Later calls take nothing.
   * @param first the first byte of the answer
   * @returns null, or a promise that resolves when the memory is taken, or after `leave`
   */
  enter(first: number): Promise<void> | null {
    if (this.bytes === 0 && !this.#isOver) {
      const others = this.#encodings.slice(0, -1).reduce((sum, encoding) => sum + mostBytesOf(encoding), 0);
      this.bytes = others + bytesOf(this.#encodings.at(-1)!, first);
      if (!this.#room.take(this)) this.#turn = Promise.withResolvers();
    }
    return this.#turn?.promise ?? null;
  }

  /** Ends the wait. */
  go(): void {
    this.#turn?.resolve();
    this.#turn = null;
  }

  /** Releases the memory, or ends the wait for it. You may call `leave` again. */
  leave(): void {
    this.#isOver = true;
    if (this.bytes > 0) this.#room.leave(this);
    this.bytes = 0;
    this.go();
  }
}
