import type { OpenedAnswer } from '../../access/idempotency/answer.ts';
import type { KeptRepeat } from '../../access/idempotency/idempotency.ts';
import type { ByteRoom } from '../../core/byte-room.ts';
import { SignalboxError } from '../../core/errors.ts';
import { rootOf } from '../../core/people/caller.ts';
import type { AnswerTurns } from '../../gateway/exchange/answer-turns.ts';
import type { RequestContext } from '../../gateway/request/request-context.ts';
import { orOverloaded } from '../../store/unwritten.ts';

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

/** Sends stored answers again, without delaying other requests. Their answers count under the memory for answers. */
export class Repeats {
  readonly #answers: ByteRoom;
  readonly #turns: AnswerTurns;
  readonly #bytesMax: () => number;

  /** @param bytesMax the most bytes of answers in memory, as the active policy states them */
  constructor(answers: ByteRoom, turns: AnswerTurns, bytesMax: () => number) {
    this.#answers = answers;
    this.#turns = turns;
    this.#bytesMax = bytesMax;
  }

  /**
   * Reads the stored answer of a repeat when its turn comes. The caller must call `leave` when the answer was sent.
   * @throws SignalboxError `overloaded` if there is no memory for the answer, or it cannot be read now
   */
  async open({ bytes, open }: KeptRepeat, keyId: string, { caller, signal }: RequestContext): Promise<OpenRepeat> {
    await this.#turns.read(bytes);
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
      return { answer, pace: this.#turns.pace, leave };
    } catch (cause) {
      leave();
      throw cause;
    }
  }
}

/** A repeat costs nothing and its answer stays stored, so it may be sent again. */
const crowded = () =>
  new SignalboxError(
    'overloaded',
    'The server has no memory left for this stored answer. Send the request again to get it.',
    { retryAfterMs: RETRY_MS },
  );
