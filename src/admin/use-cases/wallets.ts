import type { Keys } from '../../access/keys.ts';
import { checkText } from '../../access/terms.ts';
import type { FundStanding } from '../../core/accounting/fund.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Blocklist } from '../../payments/blocklist.ts';
import type { PaymentTable } from '../../store/payments.ts';
import { type BlockingSource, changeBlock } from './blocking.ts';
import { type CreditGrant, type GrantStore, grantDetails } from './keys.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The balance of a wallet, in microcredits. */
export interface WalletBalance {
  /** Credits paid in or granted, minus fees. */
  readonly granted: Microcredits;
  readonly held: Microcredits;
  /** The amount that a new request may hold. */
  readonly free: Microcredits;
}

/** The services that read and change wallets, of a running server or of a database. */
export interface WalletSource extends BlockingSource {
  readonly blocklist: Pick<Blocklist, 'blocked' | 'add' | 'remove'>;
  readonly store: GrantStore;
  readonly keys: Pick<Keys, 'ofHolder'>;
  readonly payments: Pick<PaymentTable, 'list'>;
  /** Returns all balances by holder, which is a wallet or a key. */
  balances(): Promise<ReadonlyMap<string, WalletBalance>>;
  /** Returns null for a holder that was never granted anything and never paid anything in. */
  balanceOf(holder: string): Promise<WalletBalance | null>;
  /** Makes the server apply new grants at once. */
  refresh(): Promise<void>;
}

/** The balances of a running server. */
export const servedBalances = (
  ledger: Pick<Ledger, 'status' | 'balanceOf' | 'refresh'>,
): Pick<WalletSource, 'balances' | 'balanceOf' | 'refresh'> => {
  const shown = ({ limit, held, free }: FundStanding) => ({ granted: limit, held, free });
  return {
    balances: async () => {
      const balances = (await ledger.status()).funds.filter(({ title }) => title.kind === 'balance');
      return new Map(balances.map((fund) => [fund.title.name, shown(fund)]));
    },
    balanceOf: async (holder) => {
      const fund = ledger.balanceOf(holder);
      return fund && shown(fund);
    },
    refresh: () => ledger.refresh(),
  };
};

const PAYMENTS_SHOWN = 20;
const NOTHING: WalletBalance = { granted: 0, held: 0, free: 0 };

/** Returns every wallet that has a balance or is blocked, sorted by address. Rejects with StoreError. */
export async function listWallets(by: Principal, { blocklist: { blocked }, balances }: WalletSource) {
  checkAction(by.caller, 'wallets.read');
  const known = await balances();
  return [...new Set([...known.keys(), ...blocked])]
    .filter(isAddress)
    .sort()
    .map((wallet) => ({ wallet, ...(known.get(wallet) ?? NOTHING), isBlocked: blocked.has(wallet) }));
}

/** Returns the figures of a wallet, even if the wallet is unknown. Rejects with StoreError. */
export async function findWallet(by: Principal, source: WalletSource, wallet: string) {
  checkAction(by.caller, 'wallets.read');
  return await walletOf(source, wallet);
}

/** A wallet with its balance, its valid keys (oldest first) and its last payments (newest first). */
export type WalletMoney = Awaited<ReturnType<typeof walletOf>>;

/**
 * Returns the figures of a wallet for the wallet itself. Rejects with StoreError.
 * @returns `isKnown`: whether the wallet has paid, has a key, was granted Credits or is blocked
 */
export async function walletOf({ keys, payments, blocklist, balanceOf }: WalletSource, wallet: string) {
  const [valid, last, balance] = await Promise.all([
    keys.ofHolder(wallet),
    payments.list({ state: null, payer: wallet, limit: PAYMENTS_SHOWN, before: null }),
    balanceOf(wallet),
  ]);
  const isBlocked = blocklist.blocked.has(wallet);
  const isKnown = balance !== null || valid.length > 0 || last.length > 0 || isBlocked;
  return { wallet, ...(balance ?? NOTHING), isBlocked, isKnown, keys: valid, payments: last };
}

/**
 * Adds Credits to the balance of a wallet, in one commit with the entry of the audit trail.
 * @throws KeyTermsError for a note that cannot be stored; rejects with StoreError
 */
export async function creditWallet(
  by: Principal,
  { store, refresh }: Pick<WalletSource, 'store' | 'refresh'>,
  wallet: string,
  grant: CreditGrant,
  now: number,
): Promise<void> {
  checkAction(by.caller, 'wallets.change');
  checkText('note', grant.note);
  const subject = { kind: 'wallet', id: wallet } as const;
  const details = grantDetails(grant);
  const line = store.trail.add({ time: now, actor: by.actor, action: 'grant', subject, details });
  await store.commit([line, store.ledger.grant(wallet, grant.amount, grant.note, now)]);
  // If the grant is stored and only the refresh fails, the answer must still report success.
  await refresh().catch(() => {});
}

/**
 * Refuses all requests and payments of a wallet. Blocking a blocked wallet with the same note changes nothing.
 * @throws KeyTermsError for a note that cannot be stored; rejects with StoreError
 */
export async function blockWallet(by: Principal, source: BlockingSource, wallet: string, note: string): Promise<void> {
  checkAction(by.caller, 'wallets.change');
  checkText('note', note);
  await changeBlock(source, by, 'wallet', wallet, note);
}

/** Accepts requests of a wallet again. Unblocking a wallet again changes nothing. Rejects with StoreError. */
export async function unblockWallet(by: Principal, source: BlockingSource, wallet: string): Promise<void> {
  checkAction(by.caller, 'wallets.change');
  await changeBlock(source, by, 'wallet', wallet, null);
}
