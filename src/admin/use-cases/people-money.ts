import type { Window } from '../../core/accounting/window.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { BudgetUse, KeyBudget } from '../../core/people/caller.ts';
import type { BudgetHolder } from '../../core/people/holder.ts';
import { holderBudgetUses } from '../../ledger/holder-budgets.ts';
import type { JournalReader } from '../../store/journal-reader.ts';
import { readStore } from '../../store/open.ts';
import { storedPages } from './usage.ts';

/** Returns the spend of the budgets of a team or a user from a database, in one consistent state. Without a ledger, nothing is spent. */
export async function storedBudgetUses(
  database: string,
  { kind, id }: BudgetHolder,
  budgets: readonly KeyBudget[],
  now: number,
): Promise<readonly BudgetUse[]> {
  using reader = await readStore(database, ['ledger']);
  const { journal } = (await reader.ledger.exists()) ? reader : { journal: null };
  const spentIn = async (window: Window) => (journal ? await chargedIn(journal, kind, id, window) : 0);
  return await holderBudgetUses(spentIn, budgets, now);
}

/** Returns the microcredits that a team or a user was charged in a window, minus refunds. */
async function chargedIn(
  journal: Pick<JournalReader, 'money'>,
  kind: BudgetHolder['kind'],
  id: string,
  { starts: from, ends: to }: Window,
): Promise<Microcredits> {
  const whole = { keyId: null, model: null, labels: {}, team: null, user: null };
  let charged = 0;
  for await (const page of storedPages(journal, { ...whole, [kind]: id, from, to }))
    for (const spending of page) charged += spending.charged;
  return charged;
}
