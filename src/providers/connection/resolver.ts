import { lookup } from 'node:dns/promises';

/** How long an answer is fresh, in ms. After that time, requests still use the answer while a new lookup runs in the background. */
const FRESH_MS = 30_000;
/** How long the last good answer is used while lookups fail, in ms. */
const USABLE_MS = 600_000;
/** The pause after a failed lookup of a name, in ms. */
const FAILED_MS = 1_000;
/** The maximum number of names that are cached. */
const NAMES_MAX = 1_000;

/** Returns the addresses of a name, in the order in which to try them. A `Lookup` rejects if the name has no address. */
type Lookup = (host: string) => Promise<readonly string[]>;

interface Entry {
  /** The last good answer, or null before the first. The array of addresses stays the same object while its content is the same. */
  addresses: readonly string[] | null;
  /** The times of the last good answer and of the last failed lookup, in ms of performance.now. */
  answeredAt: number;
  failedAt: number;
  failure: unknown;
  /** The lookup that is running; null for none. */
  pending: Promise<readonly string[]> | null;
}

/** The operating system's lookup, which includes `/etc/hosts`. */
const bySystem: Lookup = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Looks up names and caches the answers. The resolver runs one lookup per name at a time. No request waits for a lookup while a usable
 * answer is cached. The cache of DNS answers survives reloads.
 */
export class Resolver {
  readonly #lookup: Lookup;
  readonly #entries = new Map<string, Entry>();

  constructor(lookup: Lookup = bySystem) {
    this.#lookup = lookup;
  }

  /**
   * Returns the addresses of a name, at least one, synchronously if they are cached. `resolve` throws or rejects if the lookup fails.
   *
   * @param now ms of performance.now
   */
  resolve(host: string, now: number): readonly string[] | Promise<readonly string[]> {
    const entry = this.#entries.get(host) ?? this.#add(host);
    const { addresses, answeredAt } = entry;
    if (addresses !== null && now - answeredAt < FRESH_MS) return addresses;
    const hasJustFailed = now - entry.failedAt < FAILED_MS;
    if (addresses !== null && now - answeredAt < USABLE_MS) {
      // A failed lookup is reported only when the cached answer is too old to use.
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
