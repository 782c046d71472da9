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

  /** An empty hold of a caller. */
  hold(caller: string): ByteHold {
    return new ByteHold((more, bytesMax, own) => this.#take(caller, more, bytesMax, own));
  }

  /** `own`: bytes that the hold has already. */
  #take(caller: string, more: number, bytesMax: number, own: number): boolean {
    const bytes = this.#bytes + more;
    const share = (this.#shares.get(caller) ?? 0) + more;
    // A hold alone always has room, so that the bound never refuses what one answer or body may have.
    const isAlone = this.#bytes === own;
    if (more > 0 && !isAlone && share > bytesMax - bytes) return false;
    this.#bytes = bytes;
    if (share > 0) this.#shares.set(caller, share);
    else this.#shares.delete(caller);
    return true;
  }
}

/** What one holder has of a room. To be left in any case. */
export class ByteHold {
  readonly #take: (more: number, bytesMax: number, own: number) => boolean;
  #bytes = 0;

  /** Made by `ByteRoom.hold`. */
  constructor(take: (more: number, bytesMax: number, own: number) => boolean) {
    this.#take = take;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes so many bytes more. `bytesMax`: of the room, as the policy in force has it.
   *
   * @returns false where there is no room for them; nothing changes then.
   */
  take(more: number, bytesMax: number): boolean {
    if (!this.#take(more, bytesMax, this.#bytes)) return false;
    this.#bytes += more;
    return true;
  }

  /** Gives all back. Harmless when that was done; the hold may be used again. */
  leave(): void {
    if (this.#bytes > 0) this.#take(-this.#bytes, 0, this.#bytes);
    this.#bytes = 0;
  }
}
