import type { DeclaredTeam, MemberTerms, NamedTeam, TeamNames, UserRole } from '../core/people/people.ts';
import type { Write } from './store.ts';

/**
 * The origin of a team, which also determines what can change the team. `api`: requests and commands can change it. `policy`: the active
 * policy declares it. `former`: an earlier policy declared it, but the active policy does not; a policy can declare it again, or the API
 * can take it over.
 */
export const TEAM_ORIGINS = ['api', 'policy', 'former'] as const;
export type TeamOrigin = (typeof TEAM_ORIGINS)[number];

/** A stored team. Times are ms since 1970. */
export interface Team extends DeclaredTeam {
  /** `team_…`. IDs grow with time. */
  readonly id: string;
  readonly origin: TeamOrigin;
  readonly createdAt: number;
  /**
   * When the team was removed; null while the team exists. The row of a removed team stays, so that reports of earlier periods can show the
   * name.
   */
  readonly removedAt: number | null;
  /**
   * Earlier names of the team that no other team has used since, the latest first. For a removed team, the list includes the last name.
   * Absent for none.
   */
  readonly formerNames?: readonly string[];
}

/**
 * Finds the team that a name refers to: the team that has the name, or else the team that had it last. Earlier builds could store the same
 * former name for several teams; for such a name, an existing team is preferred to a removed team.
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
  /** `user_…`. IDs grow with time. */
  readonly id: string;
  /** `issuer` and `sub` together identify a person. `issuer` and `sub` are null for a user who has never signed in. */
  readonly issuer: string | null;
  readonly sub: string | null;
  /** The name and the email address are only displayed. */
  readonly name: string;
  readonly email: string | null;
  /** ID of the user's only team; null for none. */
  readonly team: string | null;
  readonly role: UserRole;
  readonly terms: MemberTerms;
  readonly createdAt: number;
  readonly suspendedAt: number | null;
  /** When the user was removed; null while the user exists. A removed user has no name, address, issuer and sub. */
  readonly removedAt: number | null;
}

/** A row of a team or a user with its version. The version is the number of the news with which the row last changed. */
export interface VersionedRow<Row> {
  readonly row: Row;
  readonly version: number;
}

export interface PeopleChanges {
  readonly teams: readonly VersionedRow<Team>[];
  readonly users: readonly VersionedRow<User>[];
  /** The number that a caller passes to `changedAfter` to read the next changes of teams and users. */
  readonly through: number;
}

/** The IDs of the team and the user that a key belongs to. */
export interface Membership {
  readonly team: string | null;
  readonly user: string | null;
}

/** The creator of a user, whose role limits how many users the creator may add. */
export interface UserMaker {
  /** ID of the user who creates the new user. */
  readonly maker: string;
  /** The most users that the creator may add within 24 hours, including the new user. */
  readonly aDay: number;
}

/** Teams and users. Rows are never deleted. Every write raises the news `people`. State: people. */
export interface PeopleTable {
  /**
   * Returns the rows that changed since a number of the news `people`, ordered by ID, and the number up to which the caller then knows all
   * changes. With the number -1, the method returns all rows.
   */
  changedAfter(number: number): Promise<PeopleChanges>;
  /**
   * Adds a team if `version` is null; otherwise replaces the team with that version. The commit fails with the reason `unmet` if the stored
   * version differs, if another team has the name, or if the team is to be removed but still has users or unrevoked keys (child keys do not
   * count).
   */
  putTeam(team: Team, version: number | null): Write;
  /**
   * Adds or replaces a user in the same way as `putTeam`. The commit fails with the reason `unmet` if the stored version differs, if
   * another user has the same issuer and sub, if the team does not exist, if the user is to be removed but still has unrevoked keys (child
   * keys do not count), or if the creator of a new user has reached the limit.
   */
  putUser(user: User, version: number | null, by?: UserMaker | null): Write;
  /** Counts the users that a creator has added within the last 24 hours. @param time ms since 1970 */
  countOfMaker(maker: string, time: number): Promise<number>;
  /**
   * A condition for a commit that changes nothing. The commit fails with the reason `unmet` unless the team and the user of a new key
   * exist, and the user belongs to that team.
   */
  requireMembership(membership: Membership): Write;
}
