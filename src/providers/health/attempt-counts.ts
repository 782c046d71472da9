import { isProviderFailure } from '../../core/decision/failure-kinds.ts';
import type { AttemptOutcome, FailureSeries } from './types.ts';

/** Counts the attempts at an endpoint, and notes when they began to fail. */
export class AttemptCounts {
  readonly byOutcome = new Map<AttemptOutcome, number>();
  /** The last answer, and the first failure after it, in ms of the clock of the endpoint. */
  #answeredAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.POSITIVE_INFINITY;

  add(outcome: AttemptOutcome, now: number): void {
    this.byOutcome.set(outcome, (this.byOutcome.get(outcome) ?? 0) + 1);
    if (outcome === 'ok') {
      this.#answeredAt = now;
      this.#failedAt = Number.POSITIVE_INFINITY;
    } else if (this.#failedAt > now && isProviderFailure(outcome)) this.#failedAt = now;
  }

  /** @param offset what a time of the endpoint's clock lacks to Unix ms */
  series(offset: number): FailureSeries {
    return { answeredAt: this.#answeredAt + offset, failedAt: this.#failedAt + offset };
  }
}
