import type { Keys } from '../../access/keys.ts';
import { foldJournal } from '../../ledger/audit/run.ts';
import type { OpenStore, StoreReader } from '../../store/driver.ts';
import type { StoredBalance } from '../../store/ledger-table.ts';
import { readStore } from '../../store/open.ts';
import { storedUsdPerCredit } from '../use-cases/key-funds.ts';
import type { WalletBalance, WalletSource } from '../use-cases/wallets.ts';
import { WALLET_OPERATIONS, type WalletServices } from '../wallets.ts';
import { groupOf } from './arguments.ts';
import { requireLedger } from './keys/command.ts';
import { commandsOf } from './operations.ts';
import type { CommandOutput } from './result.ts';

/** A database with wallets. A server may use the database at the same time. */
interface WalletCommand extends Pick<WalletSource, 'blocklist' | 'log' | 'now'> {
  readonly store: OpenStore;
  readonly keys: Keys;
  /** The path of the database. */
  readonly file: string;
}

/** Runs `signalbox wallets …`. Returns the text to print. Throws UsageError. */
export async function runWallets(args: readonly string[], command: WalletCommand): Promise<CommandOutput> {
  await requireLedger(command.store);
  return run(args, command);
}

const run = groupOf(
  'wallets',
  commandsOf<WalletServices, WalletCommand>(WALLET_OPERATIONS, ({ file, ...source }) => ({
    wallets: { ...source, ...storedBalances(file), payments: source.store.payments },
    usdPerCredit: () => storedUsdPerCredit(file),
  })),
);

/** The balances in a database. The whole journal is read to compute how much of each balance is held. */
const storedBalances = (file: string): Pick<WalletSource, 'balances' | 'balanceOf' | 'refresh'> => {
  const reading = async <T>(
    read: (reader: StoreReader, shown: (holder: string, balance: StoredBalance) => WalletBalance) => Promise<T>,
  ) => {
    using reader = await readStore(file, ['ledger']);
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
