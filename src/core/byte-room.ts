/**
 * Bytes that are held in memory for callers, bounded together and for each. A caller may hold as many as are still
 * free: never more than half of all, and a newcomer always finds half of what the others leave.
 */
export class ByteRoom {
  #held = 0;
  readonly #ofCaller = new Map<string, number>();

  /** Bytes that all callers hold. */
  get held(): number {
    return this.#held;
  }

  /** Bytes that a caller holds. */
  of(caller: string): number {
    return this.#ofCaller.get(caller) ?? 0;
  }

  /**
   * Whether a caller may hold `more` bytes, of `max` for all. A holder that is alone always may; `own` is what it
   * holds already.
   */
  fits(caller: string, more: number, max: number, own = 0): boolean {
    if (more === 0 || this.#held === own) return true;
    return this.of(caller) + more <= max - this.#held - more;
  }

  take(caller: string, bytes: number): void {
    if (bytes === 0) return;
    this.#held += bytes;
    this.#ofCaller.set(caller, this.of(caller) + bytes);
  }

  /** Gives back what was taken. */
  give(caller: string, bytes: number): void {
    const left = this.of(caller) - bytes;
    this.#held -= bytes;
    if (left > 0) this.#ofCaller.set(caller, left);
    else this.#ofCaller.delete(caller);
  }
}
