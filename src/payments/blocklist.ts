import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import { isMet, type Store, type Write } from '../store/store.ts';

type BlocklistStore = Pick<Store, 'commit'> & Pick<Repositories, 'blocklist'> & { readonly news: News };

/** The wallets that the operator has blocked: this instance's copy, which follows the news `wallets`. */
export type Blocklist = Pick<StoredBlocklist, keyof StoredBlocklist>;

/** A copy that follows the store. State: blocked wallets. */
class StoredBlocklist {
  readonly #store: BlocklistStore;
  /** Milliseconds since 1970. */
  readonly #now: () => number;
  readonly #deafen: () => void;
  readonly #blocked = new Set<string>();
  /** Own changes. */
  #changes = 0;

  constructor(store: BlocklistStore, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#deafen = store.news.on('wallets', () => this.read());
  }

  get blocked(): ReadonlySet<string> {
    return this.#blocked;
  }

  /** Its age, ms. */
  get ageMs(): number {
    return this.#store.news.ageOf('wallets');
  }

  /** Brings the copy up to the store. Rejects with StoreError. */
  async read(): Promise<void> {
    let [before, blocked]: [number, readonly string[]] = [this.#changes, await this.#store.blocklist.all()];
    // An own change during a reading may be missing from it.
    while (before !== this.#changes) [before, blocked] = [this.#changes, await this.#store.blocklist.all()];
    this.#blocked.clear();
    for (const wallet of blocked) this.#blocked.add(wallet);
  }

  /**
   * Commits together with `also`. Throws StoreError, and then changes nothing.
   * @returns false, and writes nothing, where the wallet is blocked with this note already
   */
  async add(wallet: string, note: string, also: readonly Write[] = []): Promise<boolean> {
    const isChanged = await this.#commit([this.#store.blocklist.put(wallet, note, this.#now()), ...also]);
    this.#blocked.add(wallet);
    return isChanged;
  }

  /** As `add`. @returns false, and writes nothing, where the wallet is not blocked */
  async remove(wallet: string, also: readonly Write[] = []): Promise<boolean> {
    const isChanged = await this.#commit([this.#store.blocklist.delete(wallet), ...also]);
    this.#blocked.delete(wallet);
    return isChanged;
  }

  close(): void {
    this.#deafen();
  }

  /** @returns false where there is nothing to change */
  async #commit(writes: readonly Write[]): Promise<boolean> {
    const isChanged = await isMet(this.#store.commit(writes));
    this.#changes++;
    return isChanged;
  }
}

/** Rejects with StoreError. */
export async function loadBlocklist(store: BlocklistStore, now: () => number): Promise<Blocklist> {
  const blocklist = new StoredBlocklist(store, now);
  await blocklist.read();
  return blocklist;
}
