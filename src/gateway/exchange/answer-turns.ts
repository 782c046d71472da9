/** How many bytes of stored answers are read, parsed or sent in one turn of the event loop. A single piece may have more. */
const TURN_BYTES = 1_048_576;

/** A stored answer, or a piece of it, that waits for its turn. */
interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

/**
 * The turns of stored answers: repeats of an `Idempotency-Key` and hits of the cache. All of them together process a limited number of
 * bytes in each turn of the event loop, so that they do not delay other requests. Answers that are being sent come before answers that are
 * not yet read, so that few are in memory.
 */
export class AnswerTurns {
  readonly #unread: Waiting[] = [];
  readonly #pieces: Waiting[] = [];
  /** How many bytes may still be processed in this turn. */
  #left = TURN_BYTES;
  #isTurning = false;

  /** Waits until an answer of this size may be read; null if it may be read at once. */
  read(bytes: number): Promise<void> | null {
    return this.#wait(this.#unread, bytes);
  }

  /** Waits until a piece of an answer that was read may be processed; null if it may be processed at once. */
  readonly pace = (bytes: number): Promise<void> | null => this.#wait(this.#pieces, bytes);

  #wait(queue: Waiting[], bytes: number): Promise<void> | null {
    const isFree = this.#pieces.length === 0 && queue.length === 0 && this.#isNext(bytes);
    if (isFree) this.#left -= bytes;
    const turn = isFree ? null : new Promise<void>((go) => queue.push({ bytes, go }));
    if (!this.#isTurning) this.#turn();
    return turn;
  }

  #isNext(bytes: number): boolean {
    return bytes <= this.#left || this.#left === TURN_BYTES;
  }

  /** Renews the bytes in the next turn, until a turn has used none. */
  #turn(): void {
    this.#isTurning = true;
    setImmediate(() => {
      this.#left = TURN_BYTES;
      for (;;) {
        const queue = this.#pieces.length > 0 ? this.#pieces : this.#unread;
        const [next] = queue;
        if (!next || !this.#isNext(next.bytes)) break;
        this.#left -= next.bytes;
        queue.shift();
        next.go();
      }
      if (this.#left < TURN_BYTES) this.#turn();
      else this.#isTurning = false;
    });
  }
}
