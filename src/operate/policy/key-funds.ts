import { holderOf } from '../../access/key-entry.ts';
import { type FundStanding, fundName } from '../../accounting/fund.ts';
import { windowAt } from '../../accounting/window.ts';
import type { Budget } from '../../core/budget.ts';
import { NO_LINES } from '../../core/holder.ts';
import { scopeOf } from '../../ledger/accounts.ts';
import { AvailableFunds } from '../../ledger/available-funds.ts';
import { BudgetFund, balanceFund, type DrawnFund } from '../../ledger/drawn-fund.ts';
import { subjectOf } from '../../ledger/funds.ts';
import { keyBudgets } from '../../ledger/holder-budgets.ts';
import type { KeyInfo, KeyTable } from '../../store/keys.ts';
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
  const line = await lineOf(reader.keys, info);
  const lines = {
    ...NO_LINES,
    lineOf: (id: string) => line.slice(1 + line.findIndex((one) => one.id === id)).map((one) => one.id),
  };
  const known = (await reader.ledger.exists()) ? (await storedOverview(by, reader, timeMs)).funds : [];
  return {
    info,
    /**
     * Returns the money of its requests; null where nothing limits it. A budget that the books do not know counts as unspent.
     * @param budgets of the policy
     * @param model the name that the request states
     */
    fundsUnder: (budgets: readonly Budget[], labels: KeyInfo['labels'], model: string) => {
      const scope = scopeOf({ keyId, labels, team: info.team, user: info.user }, model);
      const own = keyBudgets(
        line.map(({ id, budgets }) => ({ keyId: id, budgets })),
        lines,
      );
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

/** A key, and those that it descends from, the nearest first. */
async function lineOf(keys: Pick<KeyTable, 'find'>, info: Terms): Promise<readonly Terms[]> {
  const line = [info];
  for (let at: Terms | undefined = info; at?.parent; ) {
    at = (await keys.find(at.parent))?.key.info;
    if (at) line.push(at);
  }
  return line;
}

type Terms = Pick<KeyInfo, 'id' | 'parent' | 'budgets'>;

/** Returns the figures of a fund by the books. */
const standingBy =
  (known: readonly FundUse[]) =>
  ({ title, limit: ofBudget }: DrawnFund): FundStanding => {
    const name = fundName(title);
    const use = known.find(({ title: one }) => fundName(one) === name);
    const limit = title.kind === 'balance' ? (use?.limit ?? 0) : ofBudget;
    const { spent, held } = use ?? { spent: 0, held: 0 };
    return { title, limit, spent, held, free: limit - spent - held, unspent: limit - spent, ageMs: 0 };
  };
