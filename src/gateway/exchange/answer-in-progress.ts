import type { ProviderFailure, StreamPart } from '../../contract/parts.ts';
import { separateParts } from '../../contract/text-run.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { type Timers, within } from '../../core/time/timers.ts';
import { USAGE_WAIT_MS } from '../../providers/completion.ts';
import type { AnswerRoom } from '../../providers/upstream-call.ts';
import type { MeasuredUsage } from '../money/meter.ts';
import type { AnswerReview } from './answer-check.ts';
import type { Attempt, EndedAnswer } from './attempt.ts';
import type { OpenedAnswer } from './attempts.ts';
import { GrowingAnswer, type GrowingAnswerOptions } from './growing-answer.ts';

/** The time in which bytes that have arrived are read, ms. */
const ARRIVED_MS = 20;

/** A batch as it came from the provider, and the parts of it that the caller may see. */
export interface AnswerBatch {
  readonly batch: readonly StreamPart[];
  readonly seen: readonly StreamPart[];
}

/** The answer of an attempt that has sent its first content, with the batches that were read before their reader wants them. */
export class AnswerInProgress {
  readonly running: Attempt;
  /** How the answer is paid for while it is written; null if its whole worst case is held. */
  readonly growing: GrowingAnswer | null;
  readonly #ahead: AnswerBatch[];

  /** @param room reserves memory for an answer that is stored until its end; null for an answer that is passed on */
  constructor({ running, first, growth }: OpenedAnswer, hold: GrowingAnswerOptions['hold'], room: AnswerRoom | null) {
    this.running = running;
    this.growing = growth ? new GrowingAnswer(running, growth, { first, hold, room }) : null;
    this.#ahead = [this.#rewritten(first)];
  }

  /** Returns the next batch; null after the end, or a promise while nothing has arrived. */
  next(): AnswerBatch | null | Promise<void> {
    return this.#ahead.shift() ?? this.#read();
  }

  /**
   * Reads the answer before its reader, until the check knows whether it failed.
   * @param isOver whether the exchange has ended
   * @returns whether the answer was read to its end, and did not break off
   */
  async readAhead(check: AnswerReview, isOver: () => boolean): Promise<boolean> {
    for (const { seen } of this.#ahead) check.add(seen);
    while (!check.isSettled && this.running.meter.failure === null) {
      const next = this.#read();
      if (next instanceof Promise) await next;
      if (isOver()) return false;
      if (next === null) return true;
      if (next instanceof Promise) continue;
      this.#ahead.push(next);
      check.add(next.seen);
    }
    return false;
  }

  /** Whether all choices have finished, but not the answer: the provider's report is missing. */
  get lacksReport(): boolean {
    return this.running.hasFinished && this.running.whole === null;
  }

  /**
   * Reads what the provider has already sent, for the usage of an answer that its reader does not get. An answer whose choices have all
   * finished is read to its end, which has the provider's report.
   * @param isOver whether the exchange has ended
   */
  async readRest(timers: Timers, clock: () => number, isOver: () => boolean): Promise<void> {
    const arrivedBy = clock() + ARRIVED_MS;
    while (!isOver()) {
      const next = (this.growing ?? this.running).read();
      if (next === null) return;
      if (!(next instanceof Promise)) continue;
      const waitMs = this.running.hasFinished ? USAGE_WAIT_MS : arrivedBy - clock();
      const hasArrived = next.then(() => true);
      if (waitMs <= 0 || !(await within(timers, waitMs, hasArrived, false))) return;
    }
  }

  /** Ends the attempt with a complete answer. */
  completed(): EndedAnswer {
    return (this.growing ?? this.running).completed();
  }

  /** Returns the usage to charge for an answer that its reader does not get to its end, as `broken` of an attempt. */
  broken(failure: ProviderFailure | null): MeasuredUsage {
    return this.running.whole ?? (this.growing ? this.growing.broken() : this.running.broken(failure));
  }

  /** Ends the wait for money. @param overrun the overrun of all attempts */
  settled(overrun: Microcredits): void {
    this.growing?.settled(overrun);
  }

  #read(): AnswerBatch | null | Promise<void> {
    const batch = (this.growing ?? this.running).read();
    return batch === null || batch instanceof Promise ? batch : this.#rewritten(batch);
  }

  #rewritten(batch: readonly StreamPart[]): AnswerBatch {
    const { rewrite } = this.running.fitted;
    return { batch, seen: rewrite ? rewrite.read(separateParts(batch)) : batch };
  }
}
