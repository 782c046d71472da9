import type { Write } from './store.ts';

/** The things of which instances keep copies. News says which of them another has changed, so that nothing else is read again. */
export const NEWS_SUBJECTS = [
  'keys',
  'wallets',
  'funds',
  'budgets',
  'policy',
  'endpoints',
  'learning',
  'instances',
  'people',
  'logins',
] as const;
export type NewsSubject = (typeof NEWS_SUBJECTS)[number];

/** How often each subject was raised. A number grows in the commits that raise it, in their order. */
export type NewsNumbers = Readonly<Record<NewsSubject, number>>;

/** Reads what has changed. After a rejection it is called again at the next look. */
export type NewsListener = () => void | Promise<void>;

/**
 * Tells an instance which of its copies another one, a command or it itself has made old. A message may come late, twice or
 * never: `look` is the net.
 *
 * A change raises its subject by itself: writes to the tables of keys (all but last uses), of the blocklist (`wallets`), of
 * broken declarations (`endpoints`) and of resets of scores (`learning`), grants and corrections that are asked for (`funds`), terms that the
 * books accept (`policy`, `budgets`), and a server that takes its place (`instances`). `people` and `logins` are those of sign-in.
 */
export interface News {
  /** For the commit of a change that does not raise its subject by itself. */
  raise(subject: NewsSubject): Write;
  /** How often `look` is due, ms: a database elsewhere costs more to look at, and says itself that a look is due. */
  readonly lookEveryMs: number;
  /**
   * Calls the listener after each change of the subject that was committed after this call, and at the first look, one call at
   * a time: changes that come during a call share the next one.
   * @returns how to end that
   */
  on(subject: NewsSubject, listener: NewsListener): () => void;
  /** Resolves once the listeners of every change committed before this call have ended. Rejects with the error of one that failed. */
  look(): Promise<void>;
  /**
   * The age of this instance's copy of a subject, ms: for so long nothing may have been heard of it. 0 where no other process
   * decides by the store: what a command changes there counts from the moment that the server has it.
   */
  ageOf(subject: NewsSubject): number;
}

/** One listener, and how far it is. */
class Follower {
  readonly #listener: NewsListener;
  /** The number of the subject before the last call that succeeded began; -1 before any. */
  #done = -1;
  #wanted = -1;
  #calls: Promise<void> | null = null;

  constructor(listener: NewsListener) {
    this.#listener = listener;
  }

  /** @returns null where nothing is new */
  tell(number: number): Promise<void> | null {
    this.#wanted = Math.max(this.#wanted, number);
    if (this.#done === this.#wanted) return null;
    this.#calls ??= this.#call();
    return this.#calls;
  }

  async #call(): Promise<void> {
    try {
      while (this.#done < this.#wanted) {
        // Read before the call: a change during it may be seen by it, or not.
        const number = this.#wanted;
        await Promise.try(this.#listener);
        this.#done = number;
      }
    } finally {
      this.#calls = null;
    }
  }
}

/** The listeners of one handle of a store, which tells it the numbers that it has read or heard of. State: news. */
export class NewsDesk {
  readonly #followers = new Map<NewsSubject, Set<Follower>>();
  /** When each subject was last known to be followed up, by the clock of the handle. */
  readonly #followedAt = new Map<NewsSubject, number>();

  /** As `News.on`. */
  on(subject: NewsSubject, listener: NewsListener): () => void {
    const follower = new Follower(listener);
    const others = this.#followers.get(subject) ?? new Set();
    this.#followers.set(subject, others.add(follower));
    return () => {
      others.delete(follower);
    };
  }

  /**
   * Numbers that are not greater than those known already change nothing.
   * @param at when their reading began, ms by the clock of `ageOf`; null for a message, which says nothing of other subjects
   * @returns as `News.look`
   */
  async tell(numbers: Partial<NewsNumbers>, at: number | null = null): Promise<void> {
    const ended = await Promise.allSettled(NEWS_SUBJECTS.map((subject) => this.#tell(subject, numbers[subject], at)));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }

  /** The time since the reading at which a subject was last followed up, ms; Infinity before the first. */
  ageOf(subject: NewsSubject, now: number): number {
    return now - (this.#followedAt.get(subject) ?? Number.NEGATIVE_INFINITY);
  }

  async #tell(subject: NewsSubject, number: number | undefined, at: number | null): Promise<void> {
    if (number === undefined) return;
    const followers = [...(this.#followers.get(subject) ?? [])];
    const calls = followers.flatMap((follower) => follower.tell(number) ?? []);
    // The usual case has no news, and must not wait.
    if (calls.length > 0) await Promise.all(calls);
    if (at !== null) this.#followedAt.set(subject, Math.max(at, this.#followedAt.get(subject) ?? at));
  }
}
