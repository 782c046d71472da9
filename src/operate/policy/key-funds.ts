import { holderOf } from '../../access/key-entry.ts';
import { type FundStanding, fundName } from '../../accounting/fund.ts';
import { windowAt } from '../../accounting/window.ts';
import type { Budget } from '../../core/budget.ts';
import { scopeOf } from '../../ledger/accounts.ts';
import { AvailableFunds } from '../../ledger/available-funds.ts';
import { BudgetFund, balanceFund, type DrawnFund } from '../../ledger/drawn-fund.ts';
import { subjectOf } from '../../ledger/funds.ts';
import { isOfKeys, keyBudgets } from '../../ledger/key-budgets.ts';
import type { KeyInfo } from '../../store/keys.ts';
import { readStore, storeExists } from '../../store/open.ts';
import { type FundUse, storedOverview } from '../ledger/status.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/**
 * Finds a key in a database, with its money at a moment; null without one. Reads the whole journal.
 * @param timeMs ms since 1970
 * @throws StoreError, by rejecting
 */
export async function storedPayer(by: Principal, database: string, keyId: string, timeMs: number) {
  checkAction(by.caller, 'keys.read');
  if (!(await storeExists(database))) return null;
  using reader = await readStore(database, ['access', 'ledger']);
  const info = (await reader.keys.find(keyId))?.key.info;
  if (!info) return null;
  const known = (await reader.ledger.exists()) ? (await storedOverview(by, reader, timeMs)).funds : [];
  return {
    info,
    /**
     * Returns the money of its requests; null where nothing limits it. A budget that the books do not know counts as unspent.
     * @param budgets of the policy
     * @param model the name that the request states
     */
    fundsUnder: (budgets: readonly Budget[], labels: KeyInfo['labels'], model: string) => {
      const scope = scopeOf(keyId, labels, model);
      const own = keyBudgets([{ keyId, budgets: info.budgets }]);
      const drawn: DrawnFund[] = [...budgets, ...own].flatMap((budget) => {
        const subject = subjectOf(budget, scope);
        if (subject === null) return [];
        return [
          new BudgetFund({ budget, generation: 0, rank: 0 }, windowAt(budget.window, budget.timeZone, timeMs), subject),
        ];
      });
      const balance = known.find(({ title }) => title.kind === 'balance' && title.name === holderOf(info));
      if (balance) drawn.push(balanceFund(balance.title.name));
      return drawn.length === 0 ? null : new AvailableFunds(drawn, drawn.map(standingBy(known)), true);
    },
  };
}

/** Returns the figures of a fund by the books. */
const standingBy =
  (known: readonly FundUse[]) =>
  ({ title, limit: ofBudget }: DrawnFund): FundStanding => {
    // The books name a budget of keys by all keys that have it.
    const isSame = ({ title: one }: FundUse) =>
      fundName({ ...one, definition: '' }) === fundName({ ...title, definition: '' }) &&
      (one.definition === title.definition || (isOfKeys(one.definition) && isOfKeys(title.definition)));
    const use = known.find(isSame);
    const limit = title.kind === 'balance' ? (use?.limit ?? 0) : ofBudget;
    const { spent, held } = use ?? { spent: 0, held: 0 };
    return { title, limit, spent, held, free: limit - spent - held, unspent: limit - spent, ageMs: 0 };
  };
