import { isContent, type ProviderFailure, type StreamPart } from '../contract/parts.ts';

/** How long usage is awaited once every choice has finished, ms. */
export const USAGE_WAIT_MS = 1_000;

/**
 * Tracks which choices of an answer have finished, and whether the answer is complete. Drops parts of a choice that
 * arrive after its finish, so that nothing is repeated.
 */
export class AnswerCompletion {
  readonly #choices: number;
  /** By the number of the choice. */
  readonly #hasFinished: boolean[] = [];
  /** Choices that have not finished. */
  #open: number;
  #usageAfterFinish = false;
  /** True after the first content part. */
  started = false;
  /** Set by the part that broke the answer. */
  failure: ProviderFailure | null = null;

  /** @param choices the number requested */
  constructor(choices: number) {
    this.#choices = choices;
    this.#open = choices;
  }

  /** Every choice has finished: only usage may be missing. */
  get finished(): boolean {
    return this.#open === 0;
  }

  /** No part is missing. A usage before the last finish may be a running count, so only a later one ends the answer. */
  get complete(): boolean {
    return this.finished && this.#usageAfterFinish;
  }

  /** Adds a part to `batch` if it belongs to the answer. Returns false once no further part can. */
  add(part: StreamPart, batch: StreamPart[]): boolean {
    if (part.type === 'usage') {
      batch.push(part);
      this.#usageAfterFinish = this.finished;
      return !this.complete;
    }
    // The answer stands, whatever noise follows its last finish.
    if (this.finished) return true;
    if (part.type === 'failure') {
      this.failure = part.failure;
      return false;
    }
    if (!(Number.isInteger(part.choice) && part.choice >= 0 && part.choice < this.#choices)) {
      this.failure = { kind: 'malformed', message: 'the answer has a choice that was not requested' };
      return false;
    }
    if (this.#hasFinished[part.choice]) return true;
    if (part.type === 'finish') {
      this.#hasFinished[part.choice] = true;
      this.#open--;
    }
    if (isContent(part)) this.started = true;
    batch.push(part);
    return true;
  }
}
