import type { Keys } from '../access/keys.ts';
import { checkText } from '../access/terms.ts';
import type { Microcredits } from '../core/credits.ts';
import { isAddress } from '../core/holder-address.ts';
import type { Blocklist } from '../payments/blocklist.ts';
import type { OpenStore } from '../store/driver.ts';
import { readStore } from '../store/open.ts';
import { requestOf, type TrailAction, type TrailDetails } from '../store/trail.ts';
import type { Log } from '../telemetry/log.ts';
import { type CreditGrant, type GrantStore, grantDetails } from './keys.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

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
export async function listWallets(by: Principal, { store, file }: WalletSource): Promise<WalletBalance[]> {
  checkAction(by.caller, 'wallets.read');
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
export async function findWallet(by: Principal, { store, keys, file }: WalletSource, wallet: string) {
  checkAction(by.caller, 'wallets.read');
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
 * @throws KeyTermsError for a note that cannot be kept; rejects with StoreError
 */
export async function creditWallet(
  by: Principal,
  store: GrantStore,
  wallet: string,
  grant: CreditGrant,
  now: number,
): Promise<void> {
  checkAction(by.caller, 'wallets.change');
  checkText('note', grant.note);
  const line = lineOf(by, store, 'grant', wallet, grantDetails(grant), now);
  await store.commit([line, store.ledger.grant(wallet, grant.amount, grant.note, now)]);
}

/** What wallets are blocked with. */
export interface BlockingSource {
  readonly blocklist: Pick<Blocklist, 'add' | 'remove'>;
  readonly store: Pick<GrantStore, 'trail'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Refuses all requests of a wallet, and its payments.
 * @throws KeyTermsError for a note that cannot be kept; rejects with StoreError
 */
export async function blockWallet(by: Principal, source: BlockingSource, wallet: string, note: string): Promise<void> {
  checkAction(by.caller, 'wallets.change');
  checkText('note', note);
  await source.blocklist.add(wallet, note, [lineOf(by, source.store, 'block', wallet, { note }, source.now())]);
  tell(by, source, 'a wallet was blocked', { wallet, note });
}

/** Admits a wallet again. Rejects with StoreError. */
export async function unblockWallet(by: Principal, source: BlockingSource, wallet: string): Promise<void> {
  checkAction(by.caller, 'wallets.change');
  await source.blocklist.remove(wallet, [lineOf(by, source.store, 'unblock', wallet, {}, source.now())]);
  tell(by, source, 'a wallet was unblocked', { wallet });
}

const lineOf = (
  { actor }: Principal,
  { trail }: Pick<GrantStore, 'trail'>,
  action: TrailAction,
  wallet: string,
  details: TrailDetails,
  time: number,
) => trail.add({ time, actor, action, subject: { kind: 'wallet', id: wallet }, details });

function tell({ caller, actor }: Principal, { log }: BlockingSource, message: string, details: TrailDetails): void {
  log.warn(message, { ...details, key: caller.keyId, request: requestOf(actor) ?? undefined });
}
