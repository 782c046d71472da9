import type { OpenedAnswer } from '../access/idempotency/answer.ts';
import type { KeptRepeat } from '../access/idempotency/idempotency.ts';
import type { ByteRoom } from '../core/byte-room.ts';
import { SignalboxError } from '../core/errors.ts';
import { rootOf } from '../core/people/caller.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';

/** How many bytes of stored answers are read, parsed or sent in one turn of the event loop. A single piece may have more. */
const TURN_BYTES = 1_048_576;
/** When a repeat may be sent again after it found no memory, ms. */
const RETRY_MS = 1_000;
export const UNREADABLE = 'Stored answers cannot be read now, so the request was not started. Try again.';

/** A stored answer that is being sent again. */
export interface OpenRepeat {
  /** Null for an answer that cannot be read. */
  readonly answer: OpenedAnswer | null;
  /** Waits until the next bytes of the answer may be processed; null if they may be processed at once. */
  pace(bytes: number): Promise<void> | null;
  /** Releases the memory of the answer, once it was sent or its caller has disconnected. */
  leave(): void;
}

/** A repeat, or a piece of its answer, that waits for its turn. */
interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

/**
 * Sends stored answers again, without delaying other requests: all repeats together process a limited number of bytes in each turn of the
 * event loop, and their answers count under the memory for answers. Answers that are being sent come before answers that are not yet read,
 * so that few are in memory.
 */
export class Repeats {
  readonly #answers: ByteRoom;
  readonly #bytesMax: () => number;
  readonly #unread: Waiting[] = [];
  readonly #pieces: Waiting[] = [];
  /** How many bytes may still be processed in this turn. */
  #left = TURN_BYTES;
  #isTurning = false;

  /** @param bytesMax the most bytes of answers in memory, as the active policy states them */
  constructor(answers: ByteRoom, bytesMax: () => number) {
    this.#answers = answers;
    this.#bytesMax = bytesMax;
  }

  /**
   * Reads the stored answer of a repeat when its turn comes. The caller must call `leave` when the answer was sent.
   * @throws SignalboxError `overloaded` if there is no memory for the answer, or it cannot be read now
   */
  async open({ bytes, open }: KeptRepeat, keyId: string, { caller, signal }: RequestContext): Promise<OpenRepeat> {
    await this.#wait(this.#unread, bytes);
    const hold = this.#answers.hold(caller ? rootOf(caller) : keyId);
    // A caller that has disconnected needs no answer.
    if (signal.aborted || !hold.take(bytes, this.#bytesMax())) throw crowded();
    const leave = () => {
      hold.leave();
      signal.removeEventListener('abort', leave);
    };
    // No body of a response reports a client that disconnects before the body is read.
    signal.addEventListener('abort', leave);
    try {
      const answer = await orOverloaded(UNREADABLE, open);
      if (signal.aborted) leave();
      return { answer, pace: (piece) => this.#wait(this.#pieces, piece), leave };
    } catch (cause) {
      leave();
      throw cause;
    }
  }

  #wait(line: Waiting[], bytes: number): Promise<void> | null {
    const isFree = this.#pieces.length === 0 && line.length === 0 && this.#isNext(bytes);
    if (isFree) this.#left -= bytes;
    const turn = isFree ? null : new Promise<void>((go) => line.push({ bytes, go }));
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
        const line = this.#pieces.length > 0 ? this.#pieces : this.#unread;
        const [next] = line;
        if (!next || !this.#isNext(next.bytes)) break;
        this.#left -= next.bytes;
        line.shift();
        next.go();
      }
      if (this.#left < TURN_BYTES) this.#turn();
      else this.#isTurning = false;
    });
  }
}

/** A repeat costs nothing and its answer stays stored, so it may be sent again. */
const crowded = () =>
  new SignalboxError(
    'overloaded',
    'The server has no memory left for this stored answer. Send the request again to get it.',
    { retryAfterMs: RETRY_MS },
  );
