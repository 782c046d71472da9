const BLOCK_BYTES = 4_096;

/** Makes the IDs of a tracer's traces. State: traces. */
export class TraceIds {
  #digits = '';
  #at = 0;

  /** @returns 32 random hexadecimal digits */
  newTraceId(): string {
    return this.#take(32);
  }

  /** @returns 16 random hexadecimal digits */
  newSpanId(): string {
    return this.#take(16);
  }

  /** Takes random digits from a block, because drawing bytes for each ID would take as much time as the rest of an unsampled trace. */
  #take(count: number): string {
    if (this.#at + count > this.#digits.length) {
      this.#digits = Buffer.from(crypto.getRandomValues(new Uint8Array(BLOCK_BYTES))).toString('hex');
      this.#at = 0;
    }
    this.#at += count;
    return this.#digits.slice(this.#at - count, this.#at);
  }
}
