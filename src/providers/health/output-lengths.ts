import { declaredTokens, type MeasuredCatalog } from '../../core/decision/readings.ts';
import { HOUR_MS } from '../../core/time/clock.ts';
import { LearnedMedian, type MedianOptions } from './learned-median.ts';

/**
 * Answer lengths change with the callers over hours and vary by a factor of about e. With 20 answers the median is accurate to within a
 * third, which is as good as a declared value, because declared values are mostly guesses.
 */
const TOKENS: MedianOptions = { range: [1, 1_000_000], halfLifeMs: 6 * HOUR_MS, priorAnswers: 20 };

/**
 * A measured length replaces the declared one when its evidence reaches `from`, and stops doing so when the evidence falls below `below`,
 * both in current answers. The gap between `from` and `below` keeps a task with little traffic from switching back and forth.
 */
const ENOUGH_ANSWERS = { from: TOKENS.priorAnswers, below: TOKENS.priorAnswers / 2 };

/** For each task, one answer of each caller counts in this time (ms), so that the busiest caller does not dominate. */
const PERIOD_MS = 10_000;

/**
 * The learned answer lengths by task name, in visible output tokens of one choice. Learned answer lengths survive reloads. State: answer
 * lengths.
 */
export class OutputLengths {
  readonly #clock: () => number;
  readonly #byTask = new Map<string, LearnedMedian>();
  /** The callers and tasks that were already counted in this period. */
  readonly #counted = new Set<string>();
  #periodEndsAt = 0;
  /** The tasks with enough evidence and their measured lengths in whole tokens, in the form in which a policy could declare them. */
  readonly #measured = new Map<string, number>();

  /** @param clock monotonic ms */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Records an answer whose length was not fixed by the request. `observe` ignores absurd values. @param keyId the caller's key */
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

  /** Publishes the current medians. Returns whether a median changed. */
  publish(): boolean {
    let isNew = false;
    for (const [task, median] of this.#byTask) {
      isNew = median.publish(this.#clock()) || isNew;
      const { published } = median;
      if (published === null) this.#byTask.delete(task);
      const least = this.#measured.has(task) ? ENOUGH_ANSWERS.below : ENOUGH_ANSWERS.from;
      // Weights decay from the first moment on, so 20 answers of the last minutes weigh slightly less than 20.
      if (published === null || Math.round(published.weight) < least) this.#measured.delete(task);
      else this.#measured.set(task, Math.max(1, Math.round(published.median)));
    }
    return isNew;
  }

  /** Returns the lengths that decisions under a policy use now, by index of the task. */
  lengthsFor(tasks: MeasuredCatalog['tasks']): Float64Array {
    return declaredTokens(tasks).map((tokens, at) => this.#measured.get(tasks[at]!.name) ?? tokens);
  }

  /** Returns the weight of the published median, in current answers. */
  weight(task: string): number {
    return this.#byTask.get(task)?.published?.weight ?? 0;
  }
}
