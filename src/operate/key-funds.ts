import { type KeyFunds, visibleBalance } from '../access/key-body.ts';
import { holderOf } from '../access/key-entry.ts';
import { keyBudgetUses } from '../ledger/holder-budgets.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { KeyInfo } from '../store/keys.ts';
import { readStore } from '../store/open.ts';

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
