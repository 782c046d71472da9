import { type KeyFunds, visibleBalance } from '../../access/key-body.ts';
import { holderOf } from '../../access/key-entry.ts';
import type { Window } from '../../core/accounting/window.ts';
import { unendedBudgets } from '../../core/people/caller.ts';
import { holderBudgetUses } from '../../ledger/holder-budgets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { nameHint, similarName } from '../../routing/model-name.ts';
import type { KeyInfo, KeyRow } from '../../store/keys.ts';
import { readStore } from '../../store/open.ts';

/**
 * Returns the money of a key in a running server: the use of each of the key's own budgets, in their order, and its balance. The balance is
 * null for a key without grants.
 */
export async function servedKeyFunds(
  ledger: Pick<Ledger, 'budgetUses' | 'balanceOf'>,
  info: KeyInfo,
  now: number,
  usdPerCredit: string,
): Promise<KeyFunds> {
  const uses = await ledger.budgetUses({ kind: 'key', id: info.id }, unendedBudgets(info.budgets, now));
  const balance = ledger.balanceOf(holderOf(info));
  return {
    uses,
    balance: visibleBalance(info, balance && { granted: balance.limit, spent: balance.spent }),
    usdPerCredit,
  };
}

/** Returns the money of a key in a database, in one consistent state. Without a ledger, nothing is spent. */
export async function storedKeyFunds(database: string, info: KeyInfo, now: number): Promise<KeyFunds> {
  using reader = await readStore(database, ['access', 'ledger']);
  const ledger = (await reader.ledger.exists()) ? reader.ledger : null;
  const family = info.budgets.length === 0 ? [] : familyIn(await reader.keys.all(), info.id);
  const spentIn = async (window: Window) => {
    const spent = await Promise.all(family.map((id) => ledger?.spentIn(id, window) ?? 0));
    return spent.reduce((sum, one) => sum + one, 0);
  };
  const uses = await holderBudgetUses(spentIn, unendedBudgets(info.budgets, now), now);
  const balance = visibleBalance(info, (await ledger?.balance(holderOf(info))) ?? null);
  return { uses, balance, usdPerCredit: ledger && (await reader.journal.usdPerCredit()) };
}

/** Returns a key and all its descendants, whose charges count against the key's budgets. @param rows oldest first */
function familyIn(rows: readonly KeyRow[], keyId: string): readonly string[] {
  const family = new Set([keyId]);
  for (const { key } of rows) if (key.info.parent !== null && family.has(key.info.parent)) family.add(key.info.id);
  return [...family];
}

/** The value of a Credit in USD that a database has; null if the database never had a policy. */
export async function storedUsdPerCredit(database: string): Promise<string | null> {
  using reader = await readStore(database, ['access', 'ledger']);
  return (await reader.ledger.exists()) ? await reader.journal.usdPerCredit() : null;
}

/**
 * Returns a warning for each entry of a list of models that the policy that served last neither served nor declares, with the nearest
 * names. A policy with wildcards or found models may serve other names, so there only a name that resembles a known name gets a warning.
 */
export async function storedModelWarnings(database: string, list: readonly string[]): Promise<readonly string[]> {
  using reader = await readStore(database, ['records']);
  const [last] = await reader.records.revisions.findByPrefix('');
  const revision = last === undefined ? null : await reader.records.revisions.find(last);
  const served = new Set(revision?.models);
  const unknown = list.filter((entry) => !served.has(entry));
  if (!revision || unknown.length === 0) return [];
  const { parsePolicy } = await import('../../policy/load.ts');
  const { models: stated, providers } = parsePolicy(JSON.parse(revision.source)).drafts;
  const models = [...new Set([...served, ...stated.ids.keys()])];
  const isOpen = stated.wildcards.length + providers.openings.length > 0;
  return unknown.flatMap((entry) => {
    if (stated.ids.has(entry) || (isOpen && similarName(entry, models) === null)) return [];
    return [`The policy has no model \`${entry}\`.${nameHint(entry, models)}`];
  });
}
