import { lookup } from 'node:dns/promises';

/** An answer is fresh for this long, in ms; then it is looked up again behind the requests that still use it. */
const FRESH_MS = 30_000;
/** While lookups fail, the last good answer is used for this long, in ms. */
const USABLE_MS = 600_000;
/** A name that could not be looked up is not asked for again within this time, in ms. */
const FAILED_MS = 1_000;
/** Names kept at most. */
const NAMES_MAX = 1_000;

/** Finds the addresses of a name, in the order in which to try them. Rejects when there are none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

interface Entry {
  /** The last good answer, the same list for as long as it says the same; null before the first. */
  addresses: readonly string[] | null;
  /** When that answer came, and when a lookup last failed, in ms on performance.now's clock. */
  answeredAt: number;
  failedAt: number;
  failure: unknown;
  /** The one lookup under way. */
  pending: Promise<readonly string[]> | null;
}

/** As the operating system does it: `/etc/hosts` and what else it is told to heed. */
const bySystem: Lookup = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Looks up names and remembers the answers: one lookup at a time for a name, and none that a request waits for while
 * a good answer is at hand. Outlives the runtimes, so that a reload asks for nothing again.
 */
export class Resolver {
  readonly #lookup: Lookup;
  readonly #entries = new Map<string, Entry>();

  constructor(lookup: Lookup = bySystem) {
    this.#lookup = lookup;
  }

  /**
   * The addresses of a name, never none; at once where they are known. `now` is a time on performance.now's clock.
   * Throws or rejects as the lookup did.
   */
  resolve(host: string, now: number): readonly string[] | Promise<readonly string[]> {
    const entry = this.#entries.get(host) ?? this.#add(host);
    const { addresses, answeredAt } = entry;
    if (addresses !== null && now - answeredAt < FRESH_MS) return addresses;
    const hasJustFailed = now - entry.failedAt < FAILED_MS;
    if (addresses !== null && now - answeredAt < USABLE_MS) {
      // Its failure is told to nobody until the answer is too old to be used.
      if (!hasJustFailed && entry.pending === null) this.#ask(host, entry).catch(() => {});
      return addresses;
    }
    if (hasJustFailed) throw entry.failure;
    return this.#ask(host, entry);
  }

  #add(host: string): Entry {
    const never = Number.NEGATIVE_INFINITY;
    const entry: Entry = { addresses: null, answeredAt: never, failedAt: never, failure: null, pending: null };
    if (this.#entries.size >= NAMES_MAX) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(host, entry);
    return entry;
  }

  #ask(host: string, entry: Entry): Promise<readonly string[]> {
    entry.pending ??= this.#look(host, entry).finally(() => {
      entry.pending = null;
    });
    return entry.pending;
  }

  async #look(host: string, entry: Entry): Promise<readonly string[]> {
    try {
      const found = await this.#lookup(host);
      if (found.length === 0) throw new Error('the name has no address');
      const isSame =
        entry.addresses?.length === found.length && found.every((text, at) => text === entry.addresses?.[at]);
      entry.addresses = isSame ? entry.addresses! : found;
      entry.answeredAt = performance.now();
      entry.failedAt = Number.NEGATIVE_INFINITY;
      return entry.addresses;
    } catch (error) {
      entry.failedAt = performance.now();
      entry.failure = error;
      throw error;
    }
  }
}
