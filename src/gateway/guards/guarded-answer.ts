import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { RunningAnswer } from '../exchange/answer-source.ts';
import { WrappedAnswer } from '../exchange/wrapped-answer.ts';
import { AnswerBlocked } from './guarded-parts.ts';
import type { HeldParts } from './held-parts.ts';

/** An answer whose parts are held back until they are safe to show. */
export class GuardedAnswer extends WrappedAnswer {
  readonly #parts: HeldParts;
  readonly #hear: (parts: readonly StreamPart[]) => void;

  /** @param hear called with the parts that the reader gets, before the reader gets them */
  constructor(source: RunningAnswer, parts: HeldParts, hear: (parts: readonly StreamPart[]) => void = () => {}) {
    super(source);
    this.#parts = parts;
    this.#hear = hear;
  }

  override abandon(reason: SignalboxError | 'caller-gone'): void {
    super.abandon(reason);
    this.#parts.leave();
  }

  protected see(parts: readonly StreamPart[]): Awaitable<readonly StreamPart[]> {
    return this.#shown(() => this.#parts.add(parts));
  }

  protected override end(): Awaitable<readonly StreamPart[]> {
    return this.#shown(() => this.#parts.end());
  }

  #shown(read: () => Awaitable<readonly StreamPart[]>): Awaitable<readonly StreamPart[]> {
    const heard = (shown: readonly StreamPart[]) => {
      this.#hear(shown);
      return shown;
    };
    const blocked = (cause: unknown): readonly StreamPart[] => {
      if (!(cause instanceof AnswerBlocked)) throw cause;
      this.block(cause.error);
      return [];
    };
    try {
      return orElse(whenReady(read(), heard), blocked);
    } catch (cause) {
      return blocked(cause);
    }
  }
}
