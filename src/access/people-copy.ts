import type { Caller, KeyBudget, KeyLimits } from '../core/caller.ts';
import { isAddress } from '../core/holder-address.ts';
import { type GroupTerms, NO_GROUP_TERMS, NO_TERMS } from '../core/people.ts';
import type { News } from '../store/news.ts';
import type { PeopleChanges, Team, User, VersionedRow } from '../store/people.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';

export interface PeopleOptions {
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'people' | 'trail'> & { readonly news: News };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called when budgets of teams or users change. */
  readonly onChange?: () => void | Promise<void>;
}

/** A level whose terms a request must keep. */
export interface TermsHolder {
  readonly kind: 'organization' | 'team' | 'user';
  /** Empty for the organization. */
  readonly id: string;
  /** IDs of the models that it allows; null for all. */
  readonly models: ReadonlySet<string> | null;
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
  readonly #deafen: () => void;
  readonly #teams = new Map<string, VersionedRow<Team>>();
  readonly #users = new Map<string, VersionedRow<User>>();
  /** IDs of those that exist. */
  readonly #teamNames = new Map<string, string>();
  readonly #persons = new Map<string, string>();
  /** By user and team; made anew after each change. */
  readonly #terms = new Map<string, readonly TermsHolder[]>();
  #organization: GroupTerms = NO_GROUP_TERMS;
  /** The number of the news that the copy has. */
  #through = -1;

  constructor({ store, now, onChange }: PeopleOptions) {
    this.store = store;
    this.now = now;
    this.allTeams = this.#teams;
    this.allUsers = this.#users;
    this.#onChange = onChange;
    this.#deafen = store.news.on('people', () => this.refresh());
  }

  /** Ends the following of the news. */
  close(): void {
    this.#deafen();
  }

  /** The team of an ID, removed or not. Cheap, as all that reads. */
  team(id: string): Team | null {
    return this.#teams.get(id)?.row ?? null;
  }

  user(id: string): User | null {
    return this.#users.get(id)?.row ?? null;
  }

  /** The team that has a name now. */
  teamNamed(name: string): Team | null {
    const id = this.#teamNames.get(name);
    return id === undefined ? null : this.team(id);
  }

  /** The user that a sign-in knows. */
  userOf(issuer: string, sub: string): User | null {
    const id = this.#persons.get(personOf(issuer, sub));
    return id === undefined ? null : this.user(id);
  }

  /** Those that exist, in the order in which they were made. */
  teams(): readonly Team[] {
    return inOrder(this.#teams.values());
  }

  users(): readonly User[] {
    return inOrder(this.#users.values());
  }

  /** The teams that were made through the API: name → ID. */
  madeTeams(): ReadonlyMap<string, string> {
    return new Map(this.teams().flatMap(({ id, name, origin }) => (origin === 'api' ? [[name, id]] : [])));
  }

  /** Names the version of a row, as `ETag` does. Each change makes another. */
  tagOf(id: string): string {
    return String((this.#teams.get(id) ?? this.#users.get(id))?.version ?? '');
  }

  /** Whether a user may not be served: it is suspended or removed. A key of no user is nobody's. */
  isOut(id: string | null): boolean {
    if (id === null) return false;
    const user = this.user(id);
    return user === null || user.suspendedAt !== null || user.removedAt !== null;
  }

  /**
   * The levels above a key, the broadest first: the organization, then the team and the user that it has. A wallet pays for itself, so
   * the budgets of the organization are no concern of it. Cheap: made once for each team and user.
   * @param organization of the policy in force
   */
  termsOf(
    { keyId, team, user }: Pick<Caller, 'keyId' | 'team' | 'user'>,
    organization: GroupTerms,
  ): readonly TermsHolder[] {
    if (organization !== this.#organization) {
      this.#organization = organization;
      this.#terms.clear();
    }
    const isWallet = isAddress(keyId);
    const name = isWallet ? 'wallet' : `${team ?? ''}/${user ?? ''}`;
    const known = this.#terms.get(name);
    if (known) return known;
    const terms = isWallet
      ? [holderOf('organization', '', { ...organization, budgets: [] })]
      : this.#levelsOf(team, user, organization);
    this.#terms.set(name, terms);
    return terms;
  }

  /** Every level with budgets, beside the organization. */
  budgetHolders(organization: GroupTerms): readonly TermsHolder[] {
    const teams = this.teams().map((team) => holderOf('team', team.id, team));
    const users = this.users().map((user) => this.#holderOfUser(user, organization));
    return [...teams, ...users].filter(({ budgets }) => budgets.length > 0);
  }

  #levelsOf(team: string | undefined, user: string | undefined, organization: GroupTerms): readonly TermsHolder[] {
    const ofTeam = team === undefined ? null : this.team(team);
    const ofUser = user === undefined ? null : this.user(user);
    return [
      holderOf('organization', '', organization),
      ...(ofTeam ? [holderOf('team', ofTeam.id, ofTeam)] : []),
      ...(ofUser ? [this.#holderOfUser(ofUser, organization)] : []),
    ];
  }

  #holderOfUser({ id, terms, team }: User, { memberDefaults }: GroupTerms): TermsHolder {
    const ofTeam = (team === null ? null : this.team(team)?.memberDefaults) ?? NO_TERMS;
    return holderOf('user', id, {
      models: terms.models ?? ofTeam.models ?? memberDefaults.models,
      limits: terms.limits ?? ofTeam.limits ?? memberDefaults.limits,
      budgets: terms.budgets ?? (ofTeam.budgets.length > 0 ? ofTeam.budgets : memberDefaults.budgets),
    });
  }

  /** Brings the copy up to the store. Rejects with StoreError, and has then changed nothing. */
  async refresh(): Promise<void> {
    const changes = await this.store.people.changedAfter(this.#through);
    // A reading that began earlier may end later: it has nothing new.
    if (changes.through <= this.#through) return;
    const isFirst = this.#through === -1;
    this.#through = changes.through;
    if (this.#take(changes) && !isFirst) await this.#onChange?.();
  }

  /** @returns whether the budgets of somebody have changed */
  #take({ teams, users }: PeopleChanges): boolean {
    this.#terms.clear();
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

/** The budgets of a team and its members, to be compared; empty where there are none. */
function moneyOfTeam(team: Team | null): string {
  const all = team?.removedAt === null ? [team.budgets, team.memberDefaults.budgets] : [[], []];
  return all.some(({ length }) => length > 0) ? JSON.stringify(all) : '';
}

/** The same of a user, whose team may have some for it. */
const moneyOfUser = (user: User | null): string =>
  user?.removedAt === null ? JSON.stringify([user.terms.budgets, user.team]) : '';

const personOf = (issuer: string | null, sub: string | null): string => JSON.stringify([issuer, sub]);

const inOrder = <Row extends { readonly id: string; readonly removedAt: number | null }>(
  rows: Iterable<VersionedRow<Row>>,
): readonly Row[] =>
  [...rows]
    .flatMap(({ row }) => (row.removedAt === null ? [row] : []))
    .sort(({ id: one }, { id: other }) => (one < other ? -1 : 1));

const holderOf = (
  kind: TermsHolder['kind'],
  id: string,
  { models, limits, budgets }: Pick<GroupTerms, 'models' | 'limits' | 'budgets'>,
): TermsHolder => ({ kind, id, models: models && new Set(models), limits, budgets });
