import type { DeclaredTeam, MemberTerms, NamedTeam, TeamNames, UserRole } from '../core/people.ts';
import type { Write } from './store.ts';

/**
 * Where a team comes from, which alone changes it. `api`: requests and commands. `policy`: the policy in force. `former`: a policy
 * that no longer has it, or does not have it yet; it can be declared or taken over.
 */
export const TEAM_ORIGINS = ['api', 'policy', 'former'] as const;
export type TeamOrigin = (typeof TEAM_ORIGINS)[number];

/** Times are milliseconds since 1970. */
export interface Team extends DeclaredTeam {
  /** `team_…`; IDs grow with time. */
  readonly id: string;
  readonly origin: TeamOrigin;
  readonly createdAt: number;
  /** Null while it exists. A removed one keeps its row, so that its name is known in figures of before. */
  readonly removedAt: number | null;
  /**
   * The names that it had before and that no other team has had since, the latest first; of a removed team also its last name.
   * Absent for none.
   */
  readonly formerNames?: readonly string[];
}

/**
 * Finds which team a name stands for: the one that has it, else the one that had it last. Of teams written by earlier builds, which
 * can share former names, an existing team comes before a deleted one.
 */
export function teamNamesOf(teams: Iterable<Team>): TeamNames {
  const names = new Map<string, NamedTeam>();
  const all = [...teams].sort(({ id: one }, { id: other }) => (one < other ? -1 : 1));
  const put = (team: Team, stated: readonly string[]) => {
    const { id, name, origin, removedAt } = team;
    const named = {
      id,
      name,
      isOfApi: origin === 'api',
      isDeclared: origin === 'policy',
      isDeleted: removedAt !== null,
    };
    for (const one of stated) names.set(one, named);
  };
  const [deleted, existing] = [
    all.filter((team) => team.removedAt !== null),
    all.filter((team) => team.removedAt === null),
  ];
  for (const team of deleted) put(team, [team.name]);
  for (const team of deleted) put(team, team.formerNames ?? []);
  for (const team of existing) put(team, team.formerNames ?? []);
  for (const team of existing) put(team, [team.name]);
  return names;
}

export interface User {
  /** `user_…`; IDs grow with time. */
  readonly id: string;
  /** A person is (issuer, sub). Both are null for one that no sign-in knows. */
  readonly issuer: string | null;
  readonly sub: string | null;
  /** For showing alone, as the address is. */
  readonly name: string;
  readonly email: string | null;
  /** ID of its one team; null for none. */
  readonly team: string | null;
  readonly role: UserRole;
  readonly terms: MemberTerms;
  readonly createdAt: number;
  readonly suspendedAt: number | null;
  /** Null while it exists. A removed one has no name, address, issuer and sub. */
  readonly removedAt: number | null;
}

/** A row and the number of the news with which it was last changed, which tells its versions apart. */
export interface VersionedRow<Row> {
  readonly row: Row;
  readonly version: number;
}

export interface PeopleChanges {
  readonly teams: readonly VersionedRow<Team>[];
  readonly users: readonly VersionedRow<User>[];
  /** For the next reading. */
  readonly through: number;
}

/** The team and the user of a key, by their IDs. */
export interface Membership {
  readonly team: string | null;
  readonly user: string | null;
}

/** Who makes a user within the limits of a role, and how many that is at most. */
export interface UserMaker {
  /** ID of the user who makes it. */
  readonly maker: string;
  /** Users made in the 24 hours before the new one. */
  readonly aDay: number;
}

/** Teams and users. Rows are never deleted. Every write raises the news `people`. State: people. */
export interface PeopleTable {
  /**
   * Returns the rows that were changed since a number of their news, in the order of their IDs, and the number up to which the
   * caller then has all. From -1 on: all rows.
   */
  changedAfter(number: number): Promise<PeopleChanges>;
  /**
   * Adds a team, where `version` is null, or replaces it in that version. Unmet: for another version, for the name of another
   * team, and for a removal while users or unrevoked keys other than child keys are of it.
   */
  putTeam(team: Team, version: number | null): Write;
  /**
   * Adds a user, or replaces it, as `putTeam` does. Unmet: for another version, for the issuer and sub of another user, for a
   * team that does not exist, and for a removal while unrevoked keys other than child keys are of it; for a new user also where the maker has made as many
   * as it may.
   */
  putUser(user: User, version: number | null, by?: UserMaker | null): Write;
  /** Counts the users that a maker has made within 24 hours. @param time ms since 1970 */
  countOfMaker(maker: string, time: number): Promise<number>;
  /** Changes nothing. Unmet unless the team and the user of a new key exist, and the team is that of the user. */
  requireMembership(membership: Membership): Write;
}
