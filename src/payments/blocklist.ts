import type { Statement, Store, Write } from '../store/store.ts';

const SELECT: Statement = { sql: 'SELECT address FROM blocked_wallets' };
const PUT: Statement = {
  sql: `INSERT INTO blocked_wallets (address, note, time) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET note = excluded.note, time = excluded.time`,
};
const DELETE: Statement = { sql: 'DELETE FROM blocked_wallets WHERE address = ?' };

/** The wallets that the operator has blocked, stored and held in memory. */
export class Blocklist {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #blocked: Set<string>;

  private constructor(store: Store, now: () => number, blocked: Set<string>) {
    this.#store = store;
    this.#now = now;
    this.#blocked = blocked;
  }

  static async load(store: Store, now: () => number): Promise<Blocklist> {
    const rows = await store.query<{ address: string }>(SELECT);
    return new Blocklist(store, now, new Set(rows.map(({ address }) => address)));
  }

  has(wallet: string): boolean {
    return this.#blocked.has(wallet);
  }

  /** Commits together with `also`. Throws StoreError, and then changes nothing. */
  async add(wallet: string, note: string, also: readonly Write[]): Promise<void> {
    await this.#store.commit([{ statement: PUT, params: [wallet, note, this.#now()] }, ...also]);
    this.#blocked.add(wallet);
  }

  /** As `add`. */
  async remove(wallet: string, also: readonly Write[]): Promise<void> {
    await this.#store.commit([{ statement: DELETE, params: [wallet] }, ...also]);
    this.#blocked.delete(wallet);
  }
}
