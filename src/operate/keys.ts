import { type KeyFunds, visibleBalance } from '../access/key-body.ts';
import { holderOf } from '../access/key-entry.ts';
import type { Keys } from '../access/keys.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { keyBudgetUses } from '../ledger/key-budgets.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { LedgerTable } from '../store/ledger-table.ts';
import { readStore } from '../store/open.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import type { Actor } from '../store/trail.ts';

/** Credits to add to the balance of a key or a wallet. */
export interface CreditGrant {
  /** Negative to take back; never 0. */
  readonly amount: Microcredits;
  readonly note: string;
}

/** The part of a store that grants are made with. */
export interface GrantStore extends Pick<Store, 'commit'>, Pick<Repositories, 'trail'> {
  readonly ledger: Pick<LedgerTable, 'grant'>;
}

/** The details of a grant in the trail. */
export const grantDetails = ({ amount, note }: CreditGrant) => ({ credits: toCredits(amount), note });

/**
 * Grants Credits to a valid key, or to its wallet if it has one.
 * @returns false without such a key.
 * @throws KeyTermsError for a note that cannot be kept.
 */
export function grantToKey(
  keys: Pick<Keys, 'grant'>,
  { ledger }: Pick<GrantStore, 'ledger'>,
  id: string,
  grant: CreditGrant,
  by: Actor,
  now: number,
): Promise<boolean> {
  const write = (holder: string) => ledger.grant(holder, grant.amount, grant.note, now);
  return keys.grant(id, write, grantDetails(grant), by);
}

/**
 * Returns the money of a key as a running server has it: the use of each of its own budgets, in their order, and its balance, which is
 * null for a key without grants.
 */
export async function servedKeyFunds(
  ledger: Pick<Ledger, 'budgetUses' | 'balanceOf'>,
  info: KeyInfo,
  usdPerCredit: string,
): Promise<KeyFunds> {
  const uses = await ledger.budgetUses(info.id, info.budgets);
  const balance = ledger.balanceOf(holderOf(info));
  return {
    uses,
    balance: visibleBalance(info, balance && { granted: balance.limit, spent: balance.spent }),
    usdPerCredit,
  };
}

/** Returns the same as a database has it at one moment. Without a ledger nothing is spent. */
export async function storedKeyFunds(database: string, info: KeyInfo, now: number): Promise<KeyFunds> {
  using reader = await readStore(database, ['ledger']);
  const ledger = (await reader.ledger.exists()) ? reader.ledger : null;
  const uses = await keyBudgetUses(async (window) => ledger?.spentIn(info.id, window) ?? 0, info.budgets, now);
  const balance = visibleBalance(info, (await ledger?.balance(holderOf(info))) ?? null);
  return { uses, balance, usdPerCredit: ledger && (await reader.journal.usdPerCredit()) };
}
