import type { CachedShare } from '../../core/tables/alerts/cached-share.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';

/** The longest window of a rule, ms. */
const WINDOW_MAX_MS = DAY_MS;

/** Counts the input tokens of the last day, in steps of time. State: cached tokens. */
export class CachedTokenCounts {
  readonly #stepMs: number;
  readonly #steps = new Map<number, { input: number; cached: number; prompts: number }>();

  /** @param stepMs the accuracy of a window, ms */
  constructor(stepMs = MINUTE_MS) {
    this.#stepMs = stepMs;
  }

  /** Counts a request. @param now ms since 1970 */
  add(input: number, cached: number, now: number): void {
    const step = Math.floor(now / this.#stepMs);
    const sum = this.#steps.get(step) ?? this.#begin(step);
    sum.input += input;
    sum.cached += cached;
    sum.prompts++;
  }

  /** @param now ms since 1970 */
  within(windowMs: number, now: number): CachedShare {
    const total = { input: 0, cached: 0, prompts: 0 };
    for (const [step, { input, cached, prompts }] of this.#steps) {
      if (step * this.#stepMs <= now - windowMs) continue;
      total.input += input;
      total.cached += cached;
      total.prompts += prompts;
    }
    return total;
  }

  #begin(step: number) {
    for (const one of this.#steps.keys()) if (one <= step - WINDOW_MAX_MS / this.#stepMs) this.#steps.delete(one);
    const sum = { input: 0, cached: 0, prompts: 0 };
    this.#steps.set(step, sum);
    return sum;
  }
}

/** The most subjects that are counted one by one. */
export const SUBJECTS_MAX = 200;
/** The windows of single subjects are accurate to 5 minutes, so that each subject has at most 288 steps in memory. */
const SUBJECT_STEP_MS = 5 * MINUTE_MS;

interface CountedSubject<About> {
  readonly about: About;
  readonly counts: CachedTokenCounts;
  /** The input tokens since the subject is counted, plus the rank of the subject that it replaced. */
  rank: number;
  /** The time of the last request, ms since 1970. */
  lastAt: number;
}

/**
 * Counts the input tokens of the subjects with the most input, such as keys. If there is no room for a new subject, it replaces the one with
 * the lowest rank and takes over its rank, so that a busy subject stays, however many others come and go (Metwally, Agrawal and El Abbadi,
 * Efficient Computation of Frequent and Top-k Elements in Data Streams, 2005). A subject without requests for a day is forgotten.
 * State: cached tokens.
 */
export class BusiestTokenCounts<About> {
  readonly #subjects = new Map<string, CountedSubject<About>>();

  /** Counts a request. @param about what `within` returns for a new subject @param now ms since 1970 */
  add(id: string, about: () => About, input: number, cached: number, now: number): void {
    const subject = this.#subjects.get(id) ?? this.#begin(id, about(), now);
    subject.counts.add(input, cached, now);
    subject.rank += input;
    subject.lastAt = now;
  }

  /** Returns the counts of each subject. @param now ms since 1970 */
  within(windowMs: number, now: number): (CachedShare & { readonly id: string; readonly about: About })[] {
    this.#forgetIdle(now);
    return [...this.#subjects].map(([id, { about, counts }]) => ({ id, about, ...counts.within(windowMs, now) }));
  }

  #begin(id: string, about: About, now: number): CountedSubject<About> {
    let rank = 0;
    if (this.#subjects.size >= SUBJECTS_MAX) this.#forgetIdle(now);
    if (this.#subjects.size >= SUBJECTS_MAX) {
      const [lowest] = [...this.#subjects].reduce((a, b) => (b[1].rank < a[1].rank ? b : a));
      rank = this.#subjects.get(lowest)?.rank ?? 0;
      this.#subjects.delete(lowest);
    }
    const subject = { about, counts: new CachedTokenCounts(SUBJECT_STEP_MS), rank, lastAt: now };
    this.#subjects.set(id, subject);
    return subject;
  }

  #forgetIdle(now: number): void {
    for (const [id, { lastAt }] of this.#subjects) if (lastAt <= now - WINDOW_MAX_MS) this.#subjects.delete(id);
  }
}
