/**
 * Bounds the bytes that many holders keep in memory together. No caller gets more than is left for the others: one gets
 * half of the room at most, the next one half of the rest, so that a newcomer always finds some. Pure: holders say when.
 */
export class ByteRoom {
  #bytes = 0;
  /** Bytes by caller; those with none are absent. */
  readonly #shares = new Map<string, number>();

  /** Bytes held now, all together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Callers that hold some. */
  get callers(): number {
    return this.#shares.size;
  }

  /** Bytes that a caller holds. */
  of(caller: string): number {
    return this.#shares.get(caller) ?? 0;
  }

  /**
   * Returns whether a caller may have `more` bytes. A hold alone may have any number, so that the bound never refuses the
   * largest body or answer.
   * @param bytesMax bytes of the room, as the policy in force states them.
   * @param own bytes that the asking hold has already.
   * @param callerBytesMax bytes that several holds of one caller may have together; a caller's only hold may have more.
   */
  fits(caller: string, more: number, bytesMax: number, own = 0, callerBytesMax = Number.POSITIVE_INFINITY): boolean {
    if (more <= 0 || this.#bytes === own) return true;
    const share = this.of(caller);
    const isWithinShare = share === own || share + more <= callerBytesMax;
    return isWithinShare && share + more <= bytesMax - this.#bytes - more;
  }

  /** An empty hold of a caller. */
  hold(caller: string): ByteHold {
    return new ByteHold(this, caller);
  }

  /** Takes `more` bytes for a hold of the caller that has its `own` already, or gives them back. Called by holds alone. */
  take(caller: string, more: number, bytesMax: number, own: number, callerBytesMax?: number): boolean {
    if (!this.fits(caller, more, bytesMax, own, callerBytesMax)) return false;
    const share = this.of(caller) + more;
    this.#bytes += more;
    if (share > 0) this.#shares.set(caller, share);
    else this.#shares.delete(caller);
    return true;
  }
}

/** The bytes that one holder has of a room. Call `leave` in any case. */
export class ByteHold {
  readonly room: ByteRoom;
  readonly #caller: string;
  #bytes = 0;

  /** Made by `ByteRoom.hold`. */
  constructor(room: ByteRoom, caller: string) {
    this.room = room;
    this.#caller = caller;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes `more` bytes.
   * @param bytesMax bytes of the room, as the policy in force states them.
   * @param callerBytesMax as in `ByteRoom.fits`.
   * @returns false where there is no room for them; nothing changes then.
   */
  take(more: number, bytesMax: number, callerBytesMax?: number): boolean {
    if (!this.room.take(this.#caller, more, bytesMax, this.#bytes, callerBytesMax)) return false;
    this.#bytes += more;
    return true;
  }

  /** Gives all back. Harmless when that was done; the hold may be used again. */
  leave(): void {
    if (this.#bytes > 0) this.room.take(this.#caller, -this.#bytes, 0, this.#bytes);
    this.#bytes = 0;
  }
}
