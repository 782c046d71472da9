import { foldJournal } from '../../ledger/audit/run.ts';
import type { StoreReader } from '../../store/driver.ts';
import type { StoredBalance } from '../../store/ledger-table.ts';
import { readStore } from '../../store/open.ts';
import type { WalletBalance, WalletSource } from './wallets.ts';

/** The balances in a database. The whole journal is read to compute how much of each balance is held. */
export const storedBalances = (database: string): Pick<WalletSource, 'balances' | 'balanceOf' | 'refresh'> => {
  const reading = async <T>(
    read: (reader: StoreReader, shown: (holder: string, balance: StoredBalance) => WalletBalance) => Promise<T>,
  ) => {
    using reader = await readStore(database, ['ledger']);
    const funds = (await foldJournal(reader.journal)).fundsAt(0).filter(({ kind }) => kind === 'balance');
    const heldOf = new Map(funds.map(({ name, held }) => [name, held]));
    return await read(reader, (holder, { granted, spent }) => {
      const held = heldOf.get(holder) ?? 0;
      return { granted, held, free: granted - spent - held };
    });
  };
  return {
    balances: () =>
      reading(async ({ ledger }, shown) => {
        const balances = await ledger.balances();
        return new Map([...balances].map(([holder, balance]) => [holder, shown(holder, balance)]));
      }),
    balanceOf: (holder) =>
      reading(async ({ ledger }, shown) => {
        const balance = await ledger.balance(holder);
        // The store returns a balance of 0 for every wallet, even for an unknown wallet, so the command checks that the ledger has the
        // wallet.
        return balance && (await ledger.balances()).has(holder) ? shown(holder, balance) : null;
      }),
    // The command refreshes nothing, because a running server notices the grant in the database.
    refresh: async () => {},
  };
};
