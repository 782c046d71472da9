import { type PeopleServices, TEAM_OPERATIONS } from '../teams.ts';
import { storedModelWarnings, storedUsdPerCredit } from '../use-cases/key-funds.ts';
import type { PeopleDesk } from '../use-cases/people.ts';
import { storedBudgetUses } from '../use-cases/people-money.ts';
import { USER_OPERATIONS } from '../users.ts';
import { groupOf } from './arguments.ts';
import { commandsOf } from './operations.ts';

/** The inputs of every command on teams and users. */
interface PeopleCommand extends PeopleDesk {
  /** The database. */
  readonly file: string;
  /** ms since 1970 */
  now(): number;
  /** Writes a sentence to the standard error. */
  warn?(text: string): void;
}

const servicesIn = ({ people, keys, file }: PeopleCommand) => ({
  people,
  keys,
  usdPerCredit: () => storedUsdPerCredit(file),
  modelWarnings: (list: readonly string[]) => storedModelWarnings(file, list),
  usesOf: (...[holder, budgets, now]: Parameters<PeopleServices['usesOf']>) =>
    storedBudgetUses(file, holder, budgets, now),
  teamPlaces: () => new Map(),
});

/** Runs `signalbox teams …`. Returns the text to print. Throws UsageError. */
export const runTeams = groupOf('teams', commandsOf<PeopleServices, PeopleCommand>(TEAM_OPERATIONS, servicesIn));

/** Runs `signalbox users …`. Returns the text to print. Throws UsageError. */
export const runUsers = groupOf('users', commandsOf<PeopleServices, PeopleCommand>(USER_OPERATIONS, servicesIn));
