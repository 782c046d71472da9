import { isContent, type ProviderFailure, type StreamPart } from '../contract/parts.ts';

/**
 * Follows the parts of one answer: which of its choices have finished, and whether it is whole.
 * Drops what comes for a choice after its finish, so that nothing is said twice.
 */
export class Completion {
  readonly #choices: number;
  readonly #finishes = new Set<number>();
  #usageAfterFinish = false;
  /** True once a content part came. */
  started = false;
  /** Set by the part that broke the answer. */
  failure: ProviderFailure | null = null;

  /** `choices`: how many were asked for. */
  constructor(choices: number) {
    this.#choices = choices;
  }

  /** Every choice has had its finish: only usage may be missing. */
  get finished(): boolean {
    return this.#finishes.size === this.#choices;
  }

  /**
   * Nothing more is to come. A usage seen before the last finish may be a running count, so only
   * one behind it ends the answer.
   */
  get complete(): boolean {
    return this.finished && this.#usageAfterFinish;
  }

  /** Adds a part to `batch` if it belongs there. Returns false once no further part does. */
  add(part: StreamPart, batch: StreamPart[]): boolean {
    if (part.type === 'usage') {
      batch.push(part);
      this.#usageAfterFinish = this.finished;
      return !this.complete;
    }
    // Whoever has finished every choice has answered, whatever noise follows.
    if (this.finished) return true;
    if (part.type === 'failure') {
      this.failure = part.failure;
      return false;
    }
    if (!(Number.isInteger(part.choice) && part.choice >= 0 && part.choice < this.#choices)) {
      this.failure = { kind: 'malformed', message: 'the answer has a choice that was not asked for' };
      return false;
    }
    if (this.#finishes.has(part.choice)) return true;
    if (part.type === 'finish') this.#finishes.add(part.choice);
    this.started ||= isContent(part);
    batch.push(part);
    return true;
  }
}
