import { isContent, type ProviderFailure, type StreamPart } from '../contract/parts.ts';

/** How long a call waits for the provider's token usage after every choice has finished, in ms. */
export const USAGE_WAIT_MS = 1_000;

/**
 * Tracks which choices of an answer have finished, and whether the answer is complete. `AnswerCompletion` drops parts of a choice that
 * arrive after the choice has finished, so that the caller receives nothing twice.
 */
export class AnswerCompletion {
  readonly #choices: number;
  /** Whether each choice has finished, by the number of the choice. */
  readonly #hasFinished: boolean[] = [];
  /** The number of choices that have not finished. */
  #open: number;
  #usageAfterFinish = false;
  /** Whether the first content part of the answer has arrived. */
  started = false;
  /** The failure of the part that broke the answer; null if the answer is sound. */
  failure: ProviderFailure | null = null;

  /** @param choices the number of requested choices */
  constructor(choices: number) {
    this.#choices = choices;
    this.#open = choices;
  }

  /** Whether every choice has finished, so that only the usage may be missing. */
  get finished(): boolean {
    return this.#open === 0;
  }

  /**
   * Whether the answer lacks no part. A usage part before the last finish may be an interim count, so only a usage part after the last
   * finish completes the answer.
   */
  get complete(): boolean {
    return this.finished && this.#usageAfterFinish;
  }

  /** Adds a part to `batch` if it belongs to the answer. Returns false if no further part can belong to the answer. */
  add(part: StreamPart, batch: StreamPart[]): boolean {
    if (part.type === 'usage') {
      batch.push(part);
      if (part.usage) this.#usageAfterFinish = this.finished;
      return !this.complete;
    }
    // After the last finish the answer is final, so later parts and failures are ignored.
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
