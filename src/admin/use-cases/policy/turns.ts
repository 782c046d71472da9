import { SignalboxError } from '../../../core/errors.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { SupersededError } from '../../../policy/runtime/slices.ts';

/** Work on policies that runs at once. */
const AT_ONCE_MAX = 4;
/** The same with an edit: checks of others cannot keep out those who edit the policy. */
export const AT_ONCE_WITH_EDIT_MAX = AT_ONCE_MAX + 1;
/** Most time that one of them takes, ms. */
const WORK_MS = 15_000;

/** Policies that are kept built. */
const BUILT_MAX = 4;

/** Most requests of one principal in a second that are explained, one after the other. */
const EXPLAINED_MAX = 10;
const SECOND_MS = 1_000;
/** Principals whose requests are counted. */
const COUNTED_MAX = 10_000;

/** The bounds on work that requests ask of the policy tools. It takes the place of no request for a model. State: policy tools. */
export class Turns {
  readonly #clock: () => number;
  readonly #busy = new Set<string>();
  /** Principals whose explanation is running. */
  readonly #explaining = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  /** The moments of the last explanations of each principal, by its last use, the oldest first. */
  readonly #explained = new Map<string, readonly number[]>();

  /** Policies that were built for explanations, the oldest first: the same one is asked for at every move of a dial. */
  readonly #built = new Map<string, Runtime>();

  /** @param clock ms, never goes back */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Runs work: one of a principal at a time, and a few of all. It is given up once it takes too long.
   * @param who the ID of the principal
   * @param atOnceMax works at once, with this one
   * @throws SignalboxError `rate_limit_exceeded`, `overloaded`
   */
  async take<Result>(
    who: string,
    work: (isStale: () => boolean) => Promise<Result>,
    atOnceMax = AT_ONCE_MAX,
  ): Promise<Result> {
    if (this.#busy.has(who)) {
      const message =
        'A check, test, difference, patch or edit of yours is still running. Send the next one once it is done.';
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs: SECOND_MS });
    }
    if (this.#busy.size >= atOnceMax) {
      const message = `The server works on ${this.#busy.size} policies, which is the limit; try again.`;
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

  /** Runs work that nothing else of the kind runs beside, in the order of the calls. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return await done;
  }

  /** The policy that was built under a name; undefined for none. */
  built(name: string): Runtime | undefined {
    return this.#built.get(name);
  }

  keep(name: string, runtime: Runtime): void {
    this.#built.set(name, runtime);
    if (this.#built.size > BUILT_MAX) this.#built.delete(this.#built.keys().next().value!);
  }

  /**
   * Runs an explanation: one of a principal at a time, and a few in a second.
   * @param who the ID of the principal
   * @throws SignalboxError `rate_limit_exceeded`
   */
  async explain<Result>(who: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#explaining.has(who)) {
      const message = 'An explanation of yours is still running. Send the next request once it is done.';
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
      const message = `You asked for more than ${EXPLAINED_MAX} explanations in a second.`;
      throw new SignalboxError('rate_limit_exceeded', message, { retryAfterMs: SECOND_MS - (now - recent[0]!) });
    }
    this.#explained.delete(who);
    this.#explained.set(who, [...recent, now]);
    if (this.#explained.size > COUNTED_MAX) this.#explained.delete(this.#explained.keys().next().value!);
  }
}
