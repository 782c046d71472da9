import { budgetUseBody } from '../access/key-body.ts';
import { limitsOrNull } from '../access/people-body.ts';
import type { BudgetHolder } from '../core/holder.ts';
import { type HolderTerms, NO_TERMS } from '../core/people.ts';
import type { SourcePlace } from '../core/source-place.ts';
import { usdWriter } from '../core/usd.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type PeopleDesk, showTeam, showUser } from './people.ts';
import type { Principal } from './principal.ts';

/** The running ledger, with the worth of a Credit in its policy. */
export interface MoneyDesk {
  readonly ledger: Pick<Ledger, 'budgetUses'>;
  readonly usdPerCredit: string;
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

const NO_PLACE = { file: '', line: 0 };

async function usesOf({ ledger, usdPerCredit }: MoneyDesk, holder: BudgetHolder, budgets: HolderTerms['budgets']) {
  const usd = usdWriter(usdPerCredit);
  return (await ledger.budgetUses(holder, budgets)).map((use) => budgetUseBody(use, usd));
}
