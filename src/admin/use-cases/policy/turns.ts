import { SignalboxError } from '../../../core/errors.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { SupersededError } from '../../../policy/runtime/slices.ts';

/** The most work on policies that runs at the same time. */
const AT_ONCE_MAX = 4;
/** The limit for edits, which is higher by one so that checks by others cannot keep people from editing the policy. */
export const AT_ONCE_WITH_EDIT_MAX = AT_ONCE_MAX + 1;
/** The time limit of one piece of work, ms. */
const WORK_MS = 15_000;

/** The most built policies that are kept. */
const BUILT_MAX = 4;

/** The most explanations of one principal in a second. The explanations of a principal run one after the other. */
const EXPLAINED_MAX = 10;
const SECOND_MS = 1_000;
/** The most principals whose explanations are counted. */
const COUNTED_MAX = 10_000;

/** Limits the work of requests to the policy tools, so that it cannot slow down requests to models. State: policy tools. */
export class Turns {
  readonly #clock: () => number;
  readonly #busy = new Set<string>();
  /** Principals whose explanation is running. */
  readonly #explaining = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  /** The times of the last explanations of each principal, oldest first. Principals are sorted by their last explanation. */
  readonly #explained = new Map<string, readonly number[]>();

  /**
   * Policies that were built for explanations, oldest first. The console explains the same policy each time that the user changes a
   * setting.
   */
  readonly #built = new Map<string, Runtime>();

  /** @param clock ms, never goes back */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Runs work. Each principal can run one piece of work at a time, and only a few run in total. Work that takes too long is stopped.
   * @param who the ID of the principal
   * @param atOnceMax the most work at the same time, including this one
   * @throws SignalboxError `rate_limit_exceeded`, `overloaded`
   */
  async take<Result>(
    who: string,
    work: (isStale: () => boolean) => Promise<Result>,
    atOnceMax = AT_ONCE_MAX,
  ): Promise<Result> {
    if (this.#busy.has(who)) {
      const message =
        'A check, test, difference, patch or edit of yours is still running. Send the next one when it is done.';
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs: SECOND_MS });
    }
    if (this.#busy.size >= atOnceMax) {
      const message = `The server is working on ${this.#busy.size} policies, which is the limit. Try again later.`;
      throw new SignalboxError('overloaded', message, { retryAfterMs: SECOND_MS });
    }
    this.#busy.add(who);
    const until = this.#clock() + WORK_MS;
    try {
      return await work(() => this.#clock() > until);
    } catch (cause) {
      if (!(cause instanceof SupersededError)) throw cause;
      const message = `The policy took longer than ${WORK_MS / 1_000} s. \`policy check\` on the command line has no such limit.`;
      throw new SignalboxError('overloaded', message, { cause });
    } finally {
      this.#busy.delete(who);
    }
  }

  /** Runs exclusive work in the order of the calls: no two calls run at the same time. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return await done;
  }

  /** Returns the policy that was built under a name; undefined if no policy was built under that name. */
  built(name: string): Runtime | undefined {
    return this.#built.get(name);
  }

  keep(name: string, runtime: Runtime): void {
    this.#built.set(name, runtime);
    if (this.#built.size > BUILT_MAX) this.#built.delete(this.#built.keys().next().value!);
  }

  /**
   * Runs an explanation. Each principal can run one explanation at a time, and a few in a second.
   * @param who the ID of the principal
   * @throws SignalboxError `rate_limit_exceeded`
   */
  async explain<Result>(who: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#explaining.has(who)) {
      const message = 'An explanation of yours is still running. Send the next request when it is done.';
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs: SECOND_MS });
    }
    this.#countExplanation(who);
    this.#explaining.add(who);
    try {
      return await work();
    } finally {
      this.#explaining.delete(who);
    }
  }

  /** @throws SignalboxError `rate_limit_exceeded` */
  #countExplanation(who: string): void {
    const now = this.#clock();
    const recent = (this.#explained.get(who) ?? []).filter((time) => now - time < SECOND_MS);
    if (recent.length >= EXPLAINED_MAX) {
      const message = `You requested more than ${EXPLAINED_MAX} explanations in a second. Wait a second before the next one.`;
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs: SECOND_MS - (now - recent[0]!) });
    }
    this.#explained.delete(who);
    this.#explained.set(who, [...recent, now]);
    if (this.#explained.size > COUNTED_MAX) this.#explained.delete(this.#explained.keys().next().value!);
  }
}
