import { type FailureSeries, isProviderFailure } from '../../core/request/failure-kinds.ts';
import type { AttemptOutcome } from './types.ts';

/** Counts the attempts at an endpoint, and notes when they began to fail. */
export class AttemptCounts {
  readonly byOutcome = new Map<AttemptOutcome, number>();
  /** The last answer, and the first failure after it, in ms of the clock of the endpoint. */
  #answeredAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.POSITIVE_INFINITY;
  #failures = 0;

  add(outcome: AttemptOutcome, now: number): void {
    this.byOutcome.set(outcome, (this.byOutcome.get(outcome) ?? 0) + 1);
    if (outcome === 'ok') {
      this.#answeredAt = now;
      this.#failedAt = Number.POSITIVE_INFINITY;
      this.#failures = 0;
    } else if (isProviderFailure(outcome)) {
      if (this.#failures++ === 0) this.#failedAt = now;
    }
  }

  /** @param offset what a time of the endpoint's clock lacks to Unix ms */
  series(offset: number): FailureSeries {
    return { answeredAt: this.#answeredAt + offset, failedAt: this.#failedAt + offset, failures: this.#failures };
  }
}
