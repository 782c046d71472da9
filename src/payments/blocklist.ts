import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';

type BlocklistStore = Pick<Store, 'commit'> & Pick<Repositories, 'blocklist'>;

/** The wallets that the operator has blocked, stored and held in memory. */
export class Blocklist {
  readonly #store: BlocklistStore;
  readonly #now: () => number;
  /** Changed by `add` and `remove` alone. */
  readonly blocked: Set<string>;

  /** @param blocked those in the store */
  constructor(store: BlocklistStore, now: () => number, blocked: readonly string[]) {
    this.#store = store;
    this.#now = now;
    this.blocked = new Set(blocked);
  }

  /** Commits together with `also`. Throws StoreError, and then changes nothing. */
  async add(wallet: string, note: string, also: readonly Write[] = []): Promise<void> {
    await this.#store.commit([this.#store.blocklist.put(wallet, note, this.#now()), ...also]);
    this.blocked.add(wallet);
  }

  /** As `add`. */
  async remove(wallet: string, also: readonly Write[] = []): Promise<void> {
    await this.#store.commit([this.#store.blocklist.delete(wallet), ...also]);
    this.blocked.delete(wallet);
  }
}
