import { lookup } from 'node:dns/promises';

/** How long an answer is fresh, in ms. Later requests still use it while a new lookup runs in the background. */
const FRESH_MS = 30_000;
/** While lookups fail, the last good answer is used for this long, in ms. */
const USABLE_MS = 600_000;
/** The pause after a failed lookup of a name, in ms. */
const FAILED_MS = 1_000;
/** The most names that are remembered. */
const NAMES_MAX = 1_000;

/** Returns the addresses of a name, in the order in which to try them. Rejects when there are none. */
type Lookup = (host: string) => Promise<readonly string[]>;

interface Entry {
  /** The last good answer, the same array while its content is the same; null before the first. */
  addresses: readonly string[] | null;
  /** When that answer came, and when a lookup last failed, in ms on performance.now's clock. */
  answeredAt: number;
  failedAt: number;
  failure: unknown;
  /** The lookup in progress. */
  pending: Promise<readonly string[]> | null;
}

/** The operating system's lookup, with `/etc/hosts`. */
const bySystem: Lookup = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Looks up names and caches the answers. Runs one lookup of a name at a time, and no request waits for it while a
 * usable answer is cached. Outlives reloads.
 */
export class Resolver {
  readonly #lookup: Lookup;
  readonly #entries = new Map<string, Entry>();

  constructor(lookup: Lookup = bySystem) {
    this.#lookup = lookup;
  }

  /**
   * Returns the addresses of a name, at least one; synchronously where they are cached. Throws or rejects as the lookup
   * did.
   *
   * @param now ms on performance.now's clock
   */
  resolve(host: string, now: number): readonly string[] | Promise<readonly string[]> {
    const entry = this.#entries.get(host) ?? this.#add(host);
    const { addresses, answeredAt } = entry;
    if (addresses !== null && now - answeredAt < FRESH_MS) return addresses;
    const hasJustFailed = now - entry.failedAt < FAILED_MS;
    if (addresses !== null && now - answeredAt < USABLE_MS) {
      // A failure is reported only once the answer is too old to use.
      if (!hasJustFailed && entry.pending === null) this.#start(host, entry).catch(() => {});
      return addresses;
    }
    if (hasJustFailed) throw entry.failure;
    return this.#start(host, entry);
  }

  #add(host: string): Entry {
    const never = Number.NEGATIVE_INFINITY;
    const entry: Entry = { addresses: null, answeredAt: never, failedAt: never, failure: null, pending: null };
    if (this.#entries.size >= NAMES_MAX) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(host, entry);
    return entry;
  }

  #start(host: string, entry: Entry): Promise<readonly string[]> {
    entry.pending ??= this.#run(host, entry).finally(() => {
      entry.pending = null;
    });
    return entry.pending;
  }

  async #run(host: string, entry: Entry): Promise<readonly string[]> {
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
