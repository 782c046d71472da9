/**
 * A room: a bounded amount of memory that many callers share, in bytes. Each caller may take at most half of the space that the other callers leave
 * free, so that a new caller always finds some. A `ByteRoom` has no clock or timer: its users decide when to take and release bytes.
 */
export class ByteRoom {
  #bytes = 0;
  /** The bytes that each caller holds. The map has no callers without bytes. */
  readonly #shares = new Map<string, number>();

  /** Bytes that all callers hold now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of callers that hold bytes. */
  get callers(): number {
    return this.#shares.size;
  }

  /** Bytes that a caller holds. */
  of(caller: string): number {
    return this.#shares.get(caller) ?? 0;
  }

  /**
   * Returns whether a caller may have `more` bytes. If no other hold has bytes, `fits` always returns true, so that the bound never refuses
   * the largest body or answer.
   * @param bytesMax total bytes, as the active policy states them.
   * @param own bytes that the requesting hold already has.
   * @param callerBytesMax bytes that several holds of one caller may have together. A caller's only hold may have more than
   * `callerBytesMax`.
   */
  fits(caller: string, more: number, bytesMax: number, own = 0, callerBytesMax = Number.POSITIVE_INFINITY): boolean {
    if (more <= 0 || this.#bytes === own) return true;
    const share = this.of(caller);
    const isWithinShare = share === own || share + more <= callerBytesMax;
    return isWithinShare && share + more <= bytesMax - this.#bytes - more;
  }

  /** Makes an empty hold for a caller. */
  hold(caller: string): ByteHold {
    return new ByteHold(this, caller);
  }

  /**
   * Takes `more` bytes for a hold that already has `own` bytes, or releases bytes if `more` is negative. Only `ByteHold` calls this
   * function.
   */
  take(caller: string, more: number, bytesMax: number, own: number, callerBytesMax?: number): boolean {
    if (!this.fits(caller, more, bytesMax, own, callerBytesMax)) return false;
    const share = this.of(caller) + more;
    this.#bytes += more;
    if (share > 0) this.#shares.set(caller, share);
    else this.#shares.delete(caller);
    return true;
  }
}

/** The bytes that one user of a `ByteRoom` holds. Always call `leave` at the end of the use. */
export class ByteHold {
  readonly room: ByteRoom;
  readonly #caller: string;
  #bytes = 0;

  /** Call `ByteRoom.hold` instead of this constructor. */
  constructor(room: ByteRoom, caller: string) {
    this.room = room;
    this.#caller = caller;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes `more` bytes for this hold.
   * @param bytesMax total bytes, as the active policy states them.
   * @param callerBytesMax as in `ByteRoom.fits`.
   * @returns false if there is no space; the hold then keeps its bytes unchanged.
   */
  take(more: number, bytesMax: number, callerBytesMax?: number): boolean {
    if (!this.room.take(this.#caller, more, bytesMax, this.#bytes, callerBytesMax)) return false;
    this.#bytes += more;
    return true;
  }

  /** Releases all bytes of this hold. You may call `leave` again, and you may use the hold again. */
  leave(): void {
    if (this.#bytes > 0) this.room.take(this.#caller, -this.#bytes, 0, this.#bytes);
    this.#bytes = 0;
  }
}
