import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { WrappedAnswer } from '../exchange/wrapped-answer.ts';
import { AnswerBlocked, type HeldParts } from './held-parts.ts';

/** The guarding of an answer: one guarding of its parts, or several in a row. */
type GuardingParts = Pick<HeldParts, 'add' | 'end' | 'leave'>;

/** An answer whose parts are held back until they are safe to show. */
export class GuardedAnswer extends WrappedAnswer {
  readonly #parts: GuardingParts;
  readonly #hear: (parts: readonly StreamPart[]) => void;
  readonly #onRead: (error: SignalboxError | null) => void;

  /**
   * @param hear called with the parts that the reader gets, before the reader gets them
   * @param onRead called when all parts were read, possibly again; with the error that ended the answer here, or null
   */
  constructor(
    source: RunningAnswer,
    parts: GuardingParts,
    hear: (parts: readonly StreamPart[]) => void = () => {},
    onRead: (error: SignalboxError | null) => void = () => {},
  ) {
    super(source);
    this.#parts = parts;
    this.#hear = hear;
    this.#onRead = onRead;
  }

  override abandon(reason: SignalboxError | 'caller-gone'): void {
    super.abandon(reason);
    this.#parts.leave();
    this.#onRead(null);
  }

  protected see(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    return this.#shown(() => this.#parts.add(parts));
  }

  protected override end(): Awaitable<readonly StreamPart[]> {
    return whenReady(
      this.#shown(() => this.#parts.end()),
      (rest) => {
        this.#onRead(null);
        return rest;
      },
    );
  }

  #shown(read: () => Awaitable<readonly StreamPart[]>): Awaitable<readonly StreamPart[]> {
    const heard = (shown: readonly StreamPart[]) => {
      this.pause(false);
      this.#hear(shown);
      return shown;
    };
    const blocked = (cause: unknown): readonly StreamPart[] => {
      if (!(cause instanceof AnswerBlocked)) throw cause;
      this.block(cause.error);
      this.#onRead(cause.error);
      return [];
    };
    this.pause(true);
    try {
      return orElse(whenReady(read(), heard), blocked);
    } catch (cause) {
      return blocked(cause);
    }
  }
}
