import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import { isMet, type Store, type Write } from '../store/store.ts';

type BlocklistStore = Pick<Store, 'commit'> & Pick<Repositories, 'blocklist'> & { readonly news: News };

/** This server's copy of the wallets that the operator has blocked. The store's `wallets` notices keep it current. */
export type Blocklist = Pick<StoredBlocklist, keyof StoredBlocklist>;

/** A copy that follows the store. State: blocked wallets. */
class StoredBlocklist {
  readonly #store: BlocklistStore;
  /** Milliseconds since 1970. */
  readonly #now: () => number;
  readonly #deafen: () => void;
  readonly #blocked = new Set<string>();
  /** Counts the changes that this server made. */
  #changes = 0;
  /** The last read. */
  #reading: Promise<void> = Promise.resolve();

  constructor(store: BlocklistStore, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#deafen = store.news.on('wallets', () => this.read());
  }

  get blocked(): ReadonlySet<string> {
    return this.#blocked;
  }

  /** The age of the copy, ms. */
  get ageMs(): number {
    return this.#store.news.ageOf('wallets');
  }

  /**
   * Reads the copy from the store again. Reads do not overlap, so that no older answer replaces a newer one.
   * @throws StoreError, by rejecting
   */
  read(): Promise<void> {
    this.#reading = this.#reading.catch(() => {}).then(() => this.#read());
    return this.#reading;
  }

  /**
   * Blocks a wallet, in one commit with `also`.
   * @returns false, and writes nothing, if the wallet is already blocked with this note
   * @throws StoreError, by rejecting; nothing is changed then
   */
  async add(wallet: string, note: string, also: readonly Write[] = []): Promise<boolean> {
    const isChanged = await this.#commit([this.#store.blocklist.put(wallet, note, this.#now()), ...also]);
    this.#blocked.add(wallet);
    return isChanged;
  }

  /**
   * Unblocks a wallet, in one commit with `also`.
   * @returns false, and writes nothing, if the wallet is not blocked
   */
  async remove(wallet: string, also: readonly Write[] = []): Promise<boolean> {
    const isChanged = await this.#commit([this.#store.blocklist.delete(wallet), ...also]);
    this.#blocked.delete(wallet);
    return isChanged;
  }

  close(): void {
    this.#deafen();
  }

  async #read(): Promise<void> {
    let [before, blocked]: [number, readonly string[]] = [this.#changes, await this.#store.blocklist.all()];
    // A read that ran during a change may lack the change, so the copy is read again.
    while (before !== this.#changes) [before, blocked] = [this.#changes, await this.#store.blocklist.all()];
    this.#blocked.clear();
    for (const wallet of blocked) this.#blocked.add(wallet);
  }

  /** @returns false if there is nothing to change */
  async #commit(writes: readonly Write[]): Promise<boolean> {
    const isChanged = await isMet(this.#store.commit(writes));
    this.#changes++;
    return isChanged;
  }
}

/** @throws StoreError, by rejecting */
export async function loadBlocklist(store: BlocklistStore, now: () => number): Promise<Blocklist> {
  const blocklist = new StoredBlocklist(store, now);
  await blocklist.read();
  return blocklist;
}
