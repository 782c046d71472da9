import { LearnedMedian, type MedianOptions } from './learned-median.ts';

/**
 * Lengths change with the callers, over hours, and vary by a factor of about e: 20 answers give the median to within a
 * third, which is as good as a declared value, mostly a guess.
 */
const TOKENS: MedianOptions = { range: [1, 1_000_000], halfLifeMs: 6 * 3_600_000, priorAnswers: 20 };

/** Per task, one answer of each caller counts in this time, ms, so that the busiest caller does not dominate. */
const PERIOD_MS = 10_000;

/** Learned answer lengths by task name, in visible output tokens of one choice. Outlives reloads. State: answer lengths. */
export class OutputLengths {
  readonly #clock: () => number;
  readonly #byTask = new Map<string, LearnedMedian>();
  /** Callers and tasks already counted in this period. */
  readonly #counted = new Set<string>();
  #periodEndsAt = 0;

  /** @param clock monotonic ms */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Records an answer whose length nothing fixed. Ignores absurd values. @param keyId the caller's key */
  observe(task: string, tokens: number, keyId: string): void {
    if (!(tokens > 0 && tokens <= TOKENS.range[1]) || !this.#isFirstOf(`${keyId} ${task}`)) return;
    const median = this.#byTask.getOrInsertComputed(task, () => new LearnedMedian(TOKENS));
    median.observe(tokens, this.#clock());
  }

  #isFirstOf(callerAndTask: string): boolean {
    const now = this.#clock();
    if (now >= this.#periodEndsAt) {
      this.#counted.clear();
      this.#periodEndsAt = now + PERIOD_MS;
    }
    if (this.#counted.has(callerAndTask)) return false;
    this.#counted.add(callerAndTask);
    return true;
  }

  /** Publishes the current medians. Returns whether one changed. */
  publish(): boolean {
    let isNew = false;
    for (const [task, median] of this.#byTask) {
      isNew = median.publish(this.#clock()) || isNew;
      if (median.published === null) this.#byTask.delete(task);
    }
    return isNew;
  }

  /** The expected output tokens of a task. @param declared the policy's value */
  expected(task: string, declared: number): number {
    return this.#byTask.get(task)?.blendedWith(declared) ?? declared;
  }

  /** The published median's weight, in answers of now. */
  weight(task: string): number {
    return this.#byTask.get(task)?.published?.weight ?? 0;
  }
}
