import type { Keys } from '../access/keys.ts';
import type { Microcredits } from '../core/credits.ts';
import { isAddress } from '../core/holder-address.ts';
import type { OpenStore } from '../store/driver.ts';
import { readStore } from '../store/open.ts';
import type { Write } from '../store/store.ts';
import type { CreditGrant, GrantStore } from './keys.ts';

/** The balance of a wallet. */
export interface WalletBalance {
  /** The address, in lower case. */
  readonly wallet: string;
  /** Paid in or granted. */
  readonly granted: Microcredits;
  readonly spent: Microcredits;
  readonly isBlocked: boolean;
}

/** A database to read wallets from, opened beside a server. */
export interface WalletSource {
  readonly store: OpenStore;
  readonly keys: Pick<Keys, 'ofHolder'>;
  /** The path of the database. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const PAYMENTS_SHOWN = 20;

/** Returns every wallet with a balance, by its address. Rejects with StoreError. */
export async function listWallets({ store, file }: WalletSource): Promise<WalletBalance[]> {
  const blocked = new Set(await store.blocklist.all());
  using reader = await readStore(file, ['ledger']);
  const balances = await reader.ledger.balances();
  return [...balances]
    .filter(([holder]) => isAddress(holder))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([wallet, { granted, spent }]) => ({ wallet, granted, spent, isBlocked: blocked.has(wallet) }));
}

/**
 * Returns a wallet with its valid keys, oldest first, and its last payments, newest first; null for one that never paid, was granted
 * nothing, has no key and is not blocked. Rejects with StoreError.
 */
export async function findWallet({ store, keys, file }: WalletSource, wallet: string) {
  using reader = await readStore(file, ['ledger']);
  const balance = await reader.ledger.balance(wallet);
  const { granted, spent } = balance ?? { granted: 0, spent: 0 };
  const isBlocked = (await store.blocklist.all()).includes(wallet);
  const valid = await keys.ofHolder(wallet);
  const payments = await store.payments.list({ state: null, payer: wallet, limit: PAYMENTS_SHOWN, before: null });
  const isUnknown = granted === 0 && spent === 0 && payments.length === 0 && valid.length === 0 && !isBlocked;
  return isUnknown ? null : { wallet, granted, spent, isBlocked, keys: valid, payments };
}

/**
 * Adds Credits to the balance of a wallet, in one commit with the line of the trail.
 * @param line the change of the trail. Rejects with StoreError.
 */
export const creditWallet = (
  store: GrantStore,
  wallet: string,
  { amount, note }: CreditGrant,
  line: Write,
  now: number,
): Promise<void> => store.commit([line, store.ledger.grant(wallet, amount, note, now)]);
