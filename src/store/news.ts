import type { Write } from './store.ts';

/**
 * The subjects of which instances keep copies in memory. News names the subject that another instance changed, so that an instance reads
 * only the copy of this subject again.
 */
export const NEWS_SUBJECTS = [
  'keys',
  'wallets',
  'funds',
  'budgets',
  'policy',
  'endpoints',
  'instances',
  'people',
  'logins',
] as const;
export type NewsSubject = (typeof NEWS_SUBJECTS)[number];

/**
 * How often each subject of the news was raised. Each commit that raises a subject increases the subject's number, in the order of the
 * commits.
 */
export type NewsNumbers = Readonly<Record<NewsSubject, number>>;

/** Reads the data that has changed. If the listener rejects, the listener is called again at the next poll. */
export type NewsListener = () => void | Promise<void>;

/**
 * News tells an instance that one of its copies is outdated, because another instance, a command or the instance itself changed the data. A
 * notification may arrive late, twice or never, so `look` also polls the store.
 *
 * These changes raise their subject by themselves: writes to the tables of keys (except last uses), of the blocklist (`wallets`) and of
 * broken declarations (`endpoints`); requested grants and corrections (`funds`); terms that the books accept
 * (`policy`, `budgets`); and a server that takes its slot (`instances`). `people` and `logins` belong to sign-in.
 */
export interface News {
  /** Makes a write for the commit of a change that does not raise its subject by itself. */
  raise(subject: NewsSubject): Write;
  /**
   * How often to call `look`, ms. A remote database is polled less often, because a poll costs more time and the database also sends
   * notifications.
   */
  readonly lookEveryMs: number;
  /**
   * Calls the listener after each change of the subject that is committed after this call, and at the first poll. Calls do not overlap:
   * changes during a call share the next call.
   * @returns a function that removes the listener
   */
  on(subject: NewsSubject, listener: NewsListener): () => void;
  /**
   * Polls the store for changes. Resolves once the listeners of every change committed before this call have finished. Rejects with the
   * error of a listener that failed.
   */
  look(): Promise<void>;
  /**
   * The age of this instance's copy of a subject, ms: changes that are more recent may be missing from it. 0 if no other server shares the
   * store: a command's change then counts from the moment that the server has read it.
   */
  ageOf(subject: NewsSubject): number;
}

/** A listener of a subject, with the number of the last change that the listener has read. */
class Follower {
  readonly #listener: NewsListener;
  /** The subject's number just before the last successful call began; -1 before the first. */
  #done = -1;
  #wanted = -1;
  #calls: Promise<void> | null = null;

  constructor(listener: NewsListener) {
    this.#listener = listener;
  }

  /** @returns null if the listener has already read this change */
  tell(number: number): Promise<void> | null {
    this.#wanted = Math.max(this.#wanted, number);
    if (this.#done === this.#wanted) return null;
    this.#calls ??= this.#call();
    return this.#calls;
  }

  async #call(): Promise<void> {
    try {
      while (this.#done < this.#wanted) {
        // The number is read before the call, because the listener may or may not see a change that is committed during the call.
        const number = this.#wanted;
        await Promise.try(this.#listener);
        this.#done = number;
      }
    } finally {
      this.#calls = null;
    }
  }
}

/** The listeners of an open store. It passes to them the numbers that it reads or is notified of. State: news. */
export class NewsDesk {
  readonly #followers = new Map<NewsSubject, Set<Follower>>();
  /** When each subject's changes were last known to be read, by the store's own clock. */
  readonly #followedAt = new Map<NewsSubject, number>();

  /** Adds a listener, as described at `News.on`. */
  on(subject: NewsSubject, listener: NewsListener): () => void {
    const follower = new Follower(listener);
    const others = this.#followers.get(subject) ?? new Set();
    this.#followers.set(subject, others.add(follower));
    return () => {
      others.delete(follower);
    };
  }

  /**
   * Calls the listeners of subjects whose number has grown.
   * @param at when the numbers were read, ms by the clock of `ageOf`; null for a notification, which covers only some subjects
   * @returns a promise that settles like `News.look`
   */
  async tell(numbers: Partial<NewsNumbers>, at: number | null = null): Promise<void> {
    const ended = await Promise.allSettled(NEWS_SUBJECTS.map((subject) => this.#tell(subject, numbers[subject], at)));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  }

  /** The time since the read after which all listeners of a subject had finished, ms; Infinity before the first read. */
  ageOf(subject: NewsSubject, now: number): number {
    return now - (this.#followedAt.get(subject) ?? Number.NEGATIVE_INFINITY);
  }

  async #tell(subject: NewsSubject, number: number | undefined, at: number | null): Promise<void> {
    if (number === undefined) return;
    const followers = [...(this.#followers.get(subject) ?? [])];
    const calls = followers.flatMap((follower) => follower.tell(number) ?? []);
    // Usually no subject has changed, and without changes the poll must not wait.
    if (calls.length > 0) await Promise.all(calls);
    if (at !== null) this.#followedAt.set(subject, Math.max(at, this.#followedAt.get(subject) ?? at));
  }
}
