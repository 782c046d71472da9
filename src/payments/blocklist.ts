import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';

type BlocklistStore = Pick<Store, 'commit'> & Pick<Repositories, 'blocklist'>;

export type Blocklist = Awaited<ReturnType<typeof loadBlocklist>>;

/** The wallets that the operator has blocked, stored and held in memory. */
export async function loadBlocklist(store: BlocklistStore, now: () => number) {
  const blocked = new Set(await store.blocklist.all());
  return {
    /** Changed by `add` and `remove` alone. */
    blocked,

    /** Commits together with `also`. Throws StoreError, and then changes nothing. */
    async add(wallet: string, note: string, also: readonly Write[] = []): Promise<void> {
      await store.commit([store.blocklist.put(wallet, note, now()), ...also]);
      blocked.add(wallet);
    },

    /** As `add`. */
    async remove(wallet: string, also: readonly Write[] = []): Promise<void> {
      await store.commit([store.blocklist.delete(wallet), ...also]);
      blocked.delete(wallet);
    },
  };
}
