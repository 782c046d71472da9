import type { Keys } from '../access/keys.ts';
import { WALLET_OPERATIONS, type WalletServices } from '../admin/wallets.ts';
import { storedBalances, type WalletSource } from '../operate/wallets.ts';
import type { OpenStore } from '../store/driver.ts';
import { groupOf } from './arguments.ts';
import { requireLedger } from './keys/command.ts';
import { commandsOf, NO_WORTH } from './operations.ts';

/** A database with wallets, opened beside a server. */
interface WalletCommand extends Pick<WalletSource, 'blocklist' | 'log' | 'now'> {
  readonly store: OpenStore;
  readonly keys: Keys;
  /** The path of the database. */
  readonly file: string;
}

/** `signalbox wallets …`. Returns what to print. Throws UsageError. */
export async function runWallets(args: readonly string[], command: WalletCommand): Promise<string> {
  await requireLedger(command.store);
  return run(args, command);
}

const run = groupOf(
  'wallets',
  commandsOf<WalletServices, WalletCommand>(WALLET_OPERATIONS, ({ file, ...source }) => ({
    wallets: { ...source, ...storedBalances(file), payments: source.store.payments },
    ...NO_WORTH,
  })),
);
