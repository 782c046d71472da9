import type { Caller, KeyBudget, KeyLimits } from '../core/people/caller.ts';
import {
  type GroupTerms,
  type HolderTerms,
  NO_GROUP_TERMS,
  NO_TERMS,
  type TeamNames,
  type UserRole,
} from '../core/people/people.ts';
import type { News } from '../store/news.ts';
import { type PeopleChanges, type Team, teamNamesOf, type User, type VersionedRow } from '../store/people.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';

export interface PeopleOptions {
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'people' | 'trail'> & { readonly news: News };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when budgets of teams or users change. */
  readonly onChange?: () => void | Promise<void>;
}

/** The user, team or organization of a key, with the terms that requests must keep. */
export interface PeopleLevel {
  readonly kind: 'organization' | 'team' | 'user';
  /** Empty for the organization, whose name is empty, too. */
  readonly id: string;
  readonly name: string;
  /** The role of a user. */
  readonly role?: UserRole;
  /** IDs of the models that it allows; null for all. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits | null;
  readonly budgets: readonly KeyBudget[];
}

/** This instance's copy of the teams and users. State: people. */
export class PeopleCopy {
  protected readonly store: PeopleOptions['store'];
  protected readonly now: () => number;
  protected readonly allTeams: ReadonlyMap<string, VersionedRow<Team>>;
  protected readonly allUsers: ReadonlyMap<string, VersionedRow<User>>;
  readonly #onChange: PeopleOptions['onChange'];
  #onTeamNames: () => void = () => {};
  readonly #deafen: () => void;
  readonly #teams = new Map<string, VersionedRow<Team>>();
  readonly #users = new Map<string, VersionedRow<User>>();
  /** IDs of the existing teams, by name. */
  readonly #teamNames = new Map<string, string>();
  readonly #persons = new Map<string, string>();
  #organization: GroupTerms = NO_GROUP_TERMS;
  #version = 0;
  /** The number of the last news that the copy contains. */
  #through = -1;

  constructor({ store, now, onChange }: PeopleOptions) {
    this.store = store;
    this.now = now;
    this.allTeams = this.#teams;
    this.allUsers = this.#users;
    this.#onChange = onChange;
    this.#deafen = store.news.on('people', () => this.refresh());
  }

  /** Sets the only function that is called when a team is renamed, created or removed. */
  followTeamNames(listener: () => void): void {
    this.#onTeamNames = listener;
  }

  /** Stops following the news of the store. */
  close(): void {
    this.#deafen();
  }

  /** Returns the team with an ID, even if it was removed. Cheap, like all reads. */
  team(id: string): Team | null {
    return this.#teams.get(id)?.row ?? null;
  }

  user(id: string): User | null {
    return this.#users.get(id)?.row ?? null;
  }

  /** Returns the team that currently has a name. */
  teamNamed(name: string): Team | null {
    const id = this.#teamNames.get(name);
    return id === undefined ? null : this.team(id);
  }

  /** Returns the user who signs in with this issuer and sub. */
  userOf(issuer: string, sub: string): User | null {
    const id = this.#persons.get(personOf(issuer, sub));
    return id === undefined ? null : this.user(id);
  }

  /** Returns the existing teams, in the order in which they were created. */
  teams(): readonly Team[] {
    return inOrder(this.#teams.values());
  }

  users(): readonly User[] {
    return inOrder(this.#users.values());
  }

  /** Returns the teams by the names that policies can use. */
  teamNames(): TeamNames {
    return teamNamesOf([...this.#teams.values()].map(({ row }) => row));
  }

  /** Names the version of a row, for use as `ETag`. Each change of a row makes a new version. */
  tagOf(id: string): string {
    return String((this.#teams.get(id) ?? this.#users.get(id))?.version ?? '');
  }

  /** Whether a user may not be served because it is suspended or removed. A key without a user is never affected. */
  isOut(id: string | null): boolean {
    return id !== null && isOut(this.user(id));
  }

  /** The age of the copy, ms. */
  get ageMs(): number {
    return this.store.news.ageOf('people');
  }

  /** Changes with each change of any terms or names. */
  get version(): number {
    return this.#version;
  }

  /** Applies the organization of the policy. */
  useOrganization(organization: GroupTerms): void {
    this.#organization = organization;
    this.#version++;
  }

  /** Returns the levels above a key with this team and user, nearest first: the user, the team, the organization. */
  termsOf({ team, user }: Pick<Caller, 'team' | 'user'>): readonly PeopleLevel[] {
    const ofTeam = team === undefined ? null : this.team(team);
    const ofUser = user === undefined ? null : this.user(user);
    return levelsAbove({ team: ofTeam, user: ofUser }, this.#organization);
  }

  /**
   * Returns every level that has budgets.
   * @param organization the organization of a policy that is about to become active; by default the active policy's
   */
  budgets(organization = this.#organization): readonly PeopleLevel[] {
    const teams = this.teams().map((team) => levelOf('team', team.id, team.name, team));
    const users = this.users().map((user) =>
      levelOfUser(user, user.team === null ? null : this.team(user.team), organization),
    );
    const all = [levelOf('organization', '', '', organization), ...teams, ...users];
    return all.filter(({ budgets }) => budgets.length > 0);
  }

  /** Updates the copy from the store. Rejects with StoreError and then has changed nothing. */
  async refresh(): Promise<void> {
    const changes = await this.store.people.changedAfter(this.#through);
    // A read of the people that began before another read may end after it, and then has nothing new.
    if (changes.through <= this.#through) return;
    const isFirst = this.#through === -1;
    this.#through = changes.through;
    const isRenamed = changes.teams.some(({ row }) => nameOf(row) !== nameOf(this.team(row.id)));
    const hasOtherBudgets = this.#take(changes);
    if (isFirst) return;
    if (isRenamed) this.#onTeamNames();
    if (hasOtherBudgets) await this.#onChange?.();
  }

  /** @returns whether any budgets have changed */
  #take({ teams, users }: PeopleChanges): boolean {
    this.#version++;
    const isChanged =
      teams.some(({ row }) => moneyOfTeam(row) !== moneyOfTeam(this.team(row.id))) ||
      users.some(({ row }) => moneyOfUser(row) !== moneyOfUser(this.user(row.id)));
    for (const one of teams) {
      const before = this.team(one.row.id);
      if (before && this.#teamNames.get(before.name) === before.id) this.#teamNames.delete(before.name);
      this.#teams.set(one.row.id, one);
    }
    for (const { row } of teams) if (row.removedAt === null) this.#teamNames.set(row.name, row.id);
    for (const one of users) {
      const before = this.user(one.row.id);
      if (before) this.#persons.delete(personOf(before.issuer, before.sub));
      this.#users.set(one.row.id, one);
    }
    for (const { row } of users)
      if (row.removedAt === null && row.issuer !== null) this.#persons.set(personOf(row.issuer, row.sub), row.id);
    return isChanged;
  }
}

/** Whether a user may not be served, as in `PeopleCopy.isOut`; null for an unknown user. */
export const isOut = (user: User | null): boolean =>
  user === null || user.suspendedAt !== null || user.removedAt !== null;

/** Returns the levels above a key with a team and a user (null for none), nearest first. */
export const levelsAbove = (
  { team, user }: { readonly team: GroupRow<GroupTerms> | null; readonly user: GroupRow<LeveledUser> | null },
  organization: GroupTerms,
): readonly PeopleLevel[] => [
  ...(user ? [levelOfUser(user, team, organization)] : []),
  ...(team ? [levelOf('team', team.id, team.name, team)] : []),
  levelOf('organization', '', '', organization),
];

type GroupRow<Row> = Row & Pick<Team, 'id' | 'name'>;
type LeveledUser = Pick<User, 'role' | 'terms'>;

function levelOfUser(
  { id, name, role, terms }: GroupRow<LeveledUser>,
  team: GroupTerms | null,
  { memberDefaults }: GroupTerms,
): PeopleLevel {
  const ofTeam = team?.memberDefaults ?? NO_TERMS;
  const inForce = {
    models: terms.models ?? ofTeam.models ?? memberDefaults.models,
    limits: terms.limits ?? ofTeam.limits ?? memberDefaults.limits,
    budgets: terms.budgets ?? (ofTeam.budgets.length > 0 ? ofTeam.budgets : memberDefaults.budgets),
  };
  return { ...levelOf('user', id, name || id, inForce), role };
}

/** The name of an existing team, for comparison; null for a removed team. */
const nameOf = (team: Team | null): string | null => (team?.removedAt === null ? team.name : null);

/** The budgets of a team and its members, for comparison; empty if there are none. */
function moneyOfTeam(team: Team | null): string {
  const all = team?.removedAt === null ? [team.budgets, team.memberDefaults.budgets] : [[], []];
  return all.some(({ length }) => length > 0) ? JSON.stringify(all) : '';
}

/** The budgets of a user, for comparison. The team may also have budgets for the user. */
const moneyOfUser = (user: User | null): string =>
  user?.removedAt === null ? JSON.stringify([user.terms.budgets, user.team]) : '';

const personOf = (issuer: string | null, sub: string | null): string => JSON.stringify([issuer, sub]);

const inOrder = <Row extends { readonly id: string; readonly removedAt: number | null }>(
  rows: Iterable<VersionedRow<Row>>,
): readonly Row[] =>
  [...rows]
    .flatMap(({ row }) => (row.removedAt === null ? [row] : []))
    .sort(({ id: one }, { id: other }) => (one < other ? -1 : 1));

const levelOf = (
  kind: PeopleLevel['kind'],
  id: string,
  name: string,
  { models, limits, budgets }: HolderTerms,
): PeopleLevel => ({ kind, id, name, models, limits, budgets });
