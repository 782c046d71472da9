import { bringInLine, holderOf, type KeyEntry, keyEntryOf, keyStateOf } from '../../../access/key-entry.ts';
import { callerLevels } from '../../../access/levels.ts';
import { isOut, levelsAbove } from '../../../access/people-copy.ts';
import { type FundStanding, fundName } from '../../../core/accounting/fund.ts';
import { windowAt } from '../../../core/accounting/window.ts';
import type { Budget } from '../../../core/budget.ts';
import { NO_LINES } from '../../../core/holder.ts';
import { NO_GROUP_TERMS } from '../../../core/people.ts';
import { scopeOf } from '../../../ledger/accounts.ts';
import { AvailableFunds } from '../../../ledger/available-funds.ts';
import { BudgetFund, balanceFund, type DrawnFund } from '../../../ledger/drawn-fund.ts';
import { subjectOf } from '../../../ledger/funds.ts';
import { holderBudgets } from '../../../ledger/holder-budgets.ts';
import type { StoreReader } from '../../../store/driver.ts';
import type { KeyInfo, KeyRow, KeyTable, StoredKey } from '../../../store/keys.ts';
import { readStore, storeExists } from '../../../store/open.ts';
import type { VersionedRow } from '../../../store/people.ts';
import type { FundUse } from '../ledger/fund-pages.ts';
import { storedOverview } from '../ledger/status.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { unknownSender } from './hypothetical.ts';

/**
 * Finds a key in a database, with the terms of its user, team and organization, and its money at a moment. Reads the whole journal.
 * @param now ms since 1970
 * @param timeMs the moment for the money, ms since 1970
 * @throws SignalboxError `not_found` for a key that does not work now, as a server answers; StoreError; both by rejecting
 */
export async function storedPayer(
  by: Principal,
  database: string,
  keyId: string,
  { now, timeMs }: { readonly now: number; readonly timeMs: number },
  organization = NO_GROUP_TERMS,
) {
  checkAction(by.caller, 'keys.read');
  if (!(await storeExists(database))) throw unknownSender('key');
  using reader = await readStore(database, ['access', 'ledger', 'people']);
  const line = await lineOf(reader.keys, keyId);
  const [info] = line;
  if (!info || keyStateOf(info, now) !== 'valid') throw unknownSender('key');
  const owners = await ownersOf(reader, info);
  if (info.user !== null && isOut(owners.user)) throw unknownSender('key');
  const levels = levelsAbove(owners, organization);
  const lines = {
    ...NO_LINES,
    lineOf: (id: string) => line.slice(1 + line.findIndex((one) => one.id === id)).map((one) => one.id),
  };
  const known = (await reader.ledger.exists()) ? (await storedOverview(by, reader, timeMs)).funds : [];
  return {
    info,
    levels: callerLevels(levels),
    /**
     * Returns the money for requests of the key; null if nothing limits it. A budget that the ledger does not know counts as unspent.
     * @param budgets of the policy
     * @param model the name that the request states
     */
    fundsUnder: (budgets: readonly Budget[], labels: KeyInfo['labels'], model: string) => {
      const scope = scopeOf({ keyId, labels, team: info.team, user: info.user }, model);
      const keys = line.map(({ id, budgets }) => ({ kind: 'key' as const, id, budgets }));
      const own = holderBudgets([...levels, ...keys], lines);
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

/** The team and the user of a key. Stores of early versions have no people. */
async function ownersOf({ people }: Pick<StoreReader, 'people'>, { team, user }: Pick<KeyInfo, 'team' | 'user'>) {
  if (team === null && user === null) return { team: null, user: null };
  const { teams, users } = await people.changedAfter(-1);
  const rowOf = <Row extends { readonly id: string }>(rows: readonly VersionedRow<Row>[], id: string | null) =>
    rows.find(({ row }) => row.id === id)?.row ?? null;
  return { team: rowOf(teams, team), user: rowOf(users, user) };
}

/** Returns a key and the keys that it descends from, nearest first, each with its effective terms; empty if there is no such key. */
async function lineOf(keys: Pick<KeyTable, 'find'>, keyId: string): Promise<readonly StoredKey['info'][]> {
  const rows: KeyRow[] = [];
  for (let at: string | null = keyId; at !== null; at = rows.at(-1)!.key.info.parent) {
    const row = await keys.find(at);
    if (!row) break;
    rows.push(row);
  }
  const line: KeyEntry[] = [];
  for (const row of rows.reverse()) {
    const entry = keyEntryOf(row, undefined, new Map());
    if (row.key.info.parent !== null) bringInLine(entry, line[0]);
    line.unshift(entry);
  }
  return line.map(({ inForce }) => inForce);
}

/** Returns a function that reads the figures of a fund from the ledger. */
const standingBy =
  (known: readonly FundUse[]) =>
  ({ title, limit: ofBudget }: DrawnFund): FundStanding => {
    const name = fundName(title);
    const use = known.find(({ title: one }) => fundName(one) === name);
    const limit = title.kind === 'balance' ? (use?.limit ?? 0) : ofBudget;
    const { spent, held } = use ?? { spent: 0, held: 0 };
    return { title, limit, spent, held, free: limit - spent - held, unspent: limit - spent, ageMs: 0 };
  };
