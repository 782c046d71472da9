import { budgetUseBody } from '../access/key-body.ts';
import { limitsOrNull } from '../access/people-body.ts';
import type { Window } from '../accounting/window.ts';
import type { Microcredits } from '../core/credits.ts';
import type { BudgetHolder } from '../core/holder.ts';
import { type HolderTerms, NO_TERMS } from '../core/people.ts';
import type { SourcePlace } from '../core/source-place.ts';
import { usdWriter } from '../core/usd.ts';
import { moneyEntries } from '../ledger/export/export.ts';
import { holderBudgetUses } from '../ledger/holder-budgets.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { JournalReader } from '../store/journal-reader.ts';
import { readStore } from '../store/open.ts';
import { type PeopleDesk, showTeam, showUser } from './people.ts';
import type { Principal } from './principal.ts';
import { UsageSums } from './usage-sums.ts';

/** A ledger, with the worth of a Credit in its policy. */
export interface MoneyDesk {
  readonly ledger: Pick<Ledger, 'budgetUses'>;
  /** Null in a ledger that never had a policy. */
  readonly usdPerCredit: string | null;
  /** Where the policy states its teams, by name. */
  readonly teamPlaces: ReadonlyMap<string, SourcePlace>;
}

/** Finds a team by its ID or name, with what its budgets have spent and its place in the policy. @throws SignalboxError `not_found` */
export async function teamStatus(principal: Principal, desk: PeopleDesk, money: MoneyDesk, name: string) {
  const team = showTeam(principal, desk, name);
  const { budgets } = desk.people.team(team.id) ?? NO_TERMS;
  const { file, line } = (team.origin === 'policy' && money.teamPlaces.get(team.name)) || NO_PLACE;
  return {
    ...team,
    budgets: await usesOf(money, { kind: 'team', id: team.id }, budgets),
    declared_at: file === '' ? null : { file, line },
  };
}

/** Finds a user by its ID, with the terms that apply to it and what their budgets have spent. @throws SignalboxError `not_found` */
export async function userStatus(principal: Principal, { people }: PeopleDesk, money: MoneyDesk, id: string) {
  const user = showUser(principal, { people }, id);
  const levels = people.termsOf({ user: id, ...(user.team !== null && { team: user.team }) });
  const { models, limits, budgets } = levels.find(({ kind }) => kind === 'user') ?? NO_TERMS;
  const uses = await usesOf(money, { kind: 'user', id }, budgets);
  return { ...user, in_force: { models, limits: limitsOrNull(limits), budgets: uses } };
}

/** Shows somebody with money as a database has it at one moment, with or without a server. Without a ledger nothing is spent. */
export async function withStoredMoney<T>(
  database: string,
  now: number,
  show: (money: MoneyDesk) => Promise<T>,
): Promise<T> {
  using reader = await readStore(database, ['ledger']);
  const { journal } = (await reader.ledger.exists()) ? reader : { journal: null };
  const budgetUses = ({ kind, id }: BudgetHolder, budgets: HolderTerms['budgets']) =>
    holderBudgetUses(async (window) => (journal ? await chargedIn(journal, kind, id, window) : 0), budgets, now);
  const usdPerCredit = journal && (await journal.usdPerCredit());
  return await show({ ledger: { budgetUses }, usdPerCredit, teamPlaces: new Map() });
}

/** Microcredits that a team or a user was charged in a window, less what was given back. */
async function chargedIn(
  journal: Pick<JournalReader, 'money'>,
  kind: BudgetHolder['kind'],
  id: string,
  { starts: from, ends: to }: Window,
): Promise<Microcredits> {
  const sums = new UsageSums([], 'UTC');
  const filter = { keyId: null, model: null, labels: {}, team: null, user: null, [kind]: id, from, to };
  for await (const page of moneyEntries(journal, filter)) for (const entry of page) sums.addEntry(entry);
  return sums.groups().reduce((sum, { charged }) => sum + charged, 0);
}

const NO_PLACE = { file: '', line: 0 };

async function usesOf({ ledger, usdPerCredit }: MoneyDesk, holder: BudgetHolder, budgets: HolderTerms['budgets']) {
  const usd = usdWriter(usdPerCredit);
  return (await ledger.budgetUses(holder, budgets)).map((use) => budgetUseBody(use, usd));
}
