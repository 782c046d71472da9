import type { StreamPart } from '../../contract/parts.ts';
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

  protected see(parts: readonly StreamPart[]): readonly StreamPart[] {
    return this.#shown(() => this.#parts.add(parts));
  }

  protected override end(): readonly StreamPart[] {
    return this.#shown(() => this.#parts.end());
  }

  #shown(read: () => readonly StreamPart[]): readonly StreamPart[] {
    try {
      const shown = read();
      this.#hear(shown);
      return shown;
    } catch (cause) {
      if (!(cause instanceof AnswerBlocked)) throw cause;
      this.block(cause.error);
      return [];
    }
  }
}
