import type { Caller, KeyBudget, KeyLimits } from '../core/caller.ts';
import { isAddress } from '../core/holder-address.ts';
import {
  type DeclaredTeam,
  type GroupTerms,
  INHERITED,
  NO_GROUP_TERMS,
  NO_TERMS,
  type UserRole,
} from '../core/people.ts';
import type { News } from '../store/news.ts';
import type { PeopleChanges, Team, User, Versioned } from '../store/people.ts';
import type { Repositories } from '../store/repositories.ts';
import { type Store, StoreError, type Write } from '../store/store.ts';
import { type Actor, SERVER, type TrailAction, type TrailDetails } from '../store/trail.ts';
import { differing, type TeamDraft, teamTermsBody, type UserDraft, userTermsBody } from './people-body.ts';
import { checkTeam, checkUser, PeopleError } from './people-terms.ts';

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

/** A person as a sign-in or a token names it. */
export interface SignedPerson {
  readonly issuer: string;
  readonly sub: string;
  readonly name: string;
  readonly email: string | null;
  /** ID of its team, null for none; absent: as it is. */
  readonly team?: string | null;
  /** Absent: as it is, and `member` for a new one. */
  readonly role?: UserRole;
}

/** A change of a row, on the condition of the version that its asker has seen; null for any. */
export interface PeopleChange<Draft> {
  readonly draft: (before: Draft) => Draft;
  readonly expected?: number | null;
}

/** How often a change is planned again because another one came first. */
const TRIES = 5;

/** Reads all teams and users. Rejects with StoreError. */
export async function openPeople(options: PeopleOptions): Promise<People> {
  const people = new People(options);
  await people.refresh();
  return people;
}

/** This instance's copy of the teams and users. Each change is committed together with its entry in the trail. State: people. */
export class People {
  readonly #store: PeopleOptions['store'];
  readonly #now: () => number;
  readonly #onChange: PeopleOptions['onChange'];
  readonly #deafen: () => void;
  readonly #teams = new Map<string, Versioned<Team>>();
  readonly #users = new Map<string, Versioned<User>>();
  /** IDs of those that exist. */
  readonly #teamNames = new Map<string, string>();
  readonly #persons = new Map<string, string>();
  /** By user and team; made anew after each change. */
  readonly #terms = new Map<string, readonly TermsHolder[]>();
  #organization: GroupTerms = NO_GROUP_TERMS;
  /** The number of the news that the copy has. */
  #through = -1;

  constructor({ store, now, onChange }: PeopleOptions) {
    this.#store = store;
    this.#now = now;
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

  /** The version of a row, which each change replaces; null for an unknown ID. */
  versionOf(id: string): number | null {
    return (this.#teams.get(id) ?? this.#users.get(id))?.version ?? null;
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

  /**
   * Makes a team. @throws KeyTermsError for terms that it cannot have, PeopleError for a name that is taken
   */
  createTeam(draft: TeamDraft, by: Actor): Promise<Team> {
    checkTeam(draft);
    return this.#commit(() => {
      this.#checkName(draft.name, null);
      const team: Team = { ...draft, ...this.#fresh('team_'), isDeclared: false };
      return { writes: this.#putTeam(null, team, 'create', by), result: () => this.team(team.id) ?? team };
    });
  }

  /**
   * Changes a team that was made through the API, or hands it to the policy and back.
   * @param isInPolicy whether the policy in force declares a team of that name
   * @throws KeyTermsError, PeopleError
   */
  changeTeam(id: string, change: PeopleChange<TeamDraft>, by: Actor, isInPolicy: (name: string) => boolean) {
    return this.#commit(() => {
      const { row, version } = this.#present(this.#teams, id, change.expected);
      const { isDeclared = row.isDeclared, ...terms } = change.draft(row);
      checkTeam(terms);
      const isSame = differing(teamTermsBody(row), teamTermsBody({ ...row, ...terms })) === null;
      if (row.isDeclared && isInPolicy(row.name) && !(isSame && isDeclared)) throw PeopleError.declared(row);
      if (row.isDeclared && isDeclared && !isSame) throw PeopleError.left(row);
      this.#checkName(terms.name, id);
      const team: Team = { ...row, ...terms, isDeclared };
      return { writes: this.#putTeam({ row, version }, team, 'change', by), result: () => this.team(id) ?? team };
    });
  }

  /** Removes a team. @throws PeopleError for one of the policy in force, or one that users or unrevoked keys are of */
  removeTeam(id: string, by: Actor, isInPolicy: (name: string) => boolean, expected: number | null = null) {
    return this.#commit(() => {
      const before = this.#present(this.#teams, id, expected);
      if (before.row.isDeclared && isInPolicy(before.row.name)) throw PeopleError.declared(before.row);
      const members = this.users().filter(({ team }) => team === id).length;
      if (members > 0) throw PeopleError.inUse(before.row.name, members, 'user');
      const team = { ...before.row, removedAt: this.#now() };
      return { writes: this.#putTeam(before, team, 'remove', by), result: () => team };
    });
  }

  /**
   * Writes the teams of a policy that comes into force, in one commit. A team that the policy no longer has stays as it is.
   * @throws PeopleError, and changes nothing, for the name of a team that was made through the API
   */
  declare(teams: readonly DeclaredTeam[], by: Actor = SERVER): Promise<void> {
    return this.#commit(() => {
      const writes = teams.flatMap((terms) => {
        const present = this.teamNamed(terms.name);
        const before = present === null ? null : (this.#teams.get(present.id) ?? null);
        if (present && !present.isDeclared) throw PeopleError.made(present);
        const team: Team = { ...this.#fresh('team_'), ...before?.row, ...terms, isDeclared: true };
        return this.#putTeam(before, team, before ? 'change' : 'create', by);
      });
      return { writes, result: () => undefined };
    });
  }

  /** Makes a user. @throws KeyTermsError, PeopleError */
  createUser(draft: UserDraft, by: Actor): Promise<User> {
    checkUser(draft);
    return this.#commit(() => {
      this.#checkPerson(draft, null);
      const user: User = { ...draft, ...this.#fresh('user_'), suspendedAt: null };
      return { writes: this.#putUser(null, user, 'create', by), result: () => this.user(user.id) ?? user };
    });
  }

  /** Changes a user. @throws KeyTermsError, PeopleError */
  changeUser(id: string, change: PeopleChange<UserDraft>, by: Actor): Promise<User> {
    return this.#commit(() => {
      const before = this.#present(this.#users, id, change.expected);
      const draft = change.draft(before.row);
      checkUser(draft);
      this.#checkPerson(draft, id);
      const user: User = { ...before.row, ...draft };
      return { writes: this.#putUser(before, user, 'change', by), result: () => this.user(id) ?? user };
    });
  }

  /** Suspends a user, whose keys and logins are refused from then on, or resumes it. Repeating it changes nothing. */
  suspendUser(id: string, isSuspended: boolean, by: Actor): Promise<User> {
    return this.#commit(() => {
      const before = this.#present(this.#users, id, null);
      const suspendedAt = isSuspended ? (before.row.suspendedAt ?? this.#now()) : null;
      const user = { ...before.row, suspendedAt };
      const action = isSuspended ? 'suspend' : 'resume';
      const writes = before.row.suspendedAt === suspendedAt ? [] : this.#putUser(before, user, action, by);
      return { writes, result: () => this.user(id) ?? user };
    });
  }

  /** Removes a user, and its words. @throws PeopleError while unrevoked keys are of it */
  removeUser(id: string, by: Actor, expected: number | null = null): Promise<User> {
    return this.#commit(() => {
      const before = this.#present(this.#users, id, expected);
      const words = { issuer: null, sub: null, name: '', email: null };
      const user: User = { ...before.row, ...words, removedAt: this.#now() };
      return { writes: this.#putUser(before, user, 'remove', by), result: () => user };
    });
  }

  /**
   * Makes or updates the user that has signed in, or whose token was verified. Writes nothing where nothing is new.
   * @throws KeyTermsError, PeopleError
   */
  putUser({ issuer, sub, name, email, ...more }: SignedPerson, by: Actor = SERVER): Promise<User> {
    return this.#commit(() => {
      const present = this.userOf(issuer, sub);
      const before = present && (this.#users.get(present.id) ?? null);
      const { team = present?.team ?? null, role = present?.role ?? 'member' } = more;
      const drafted = { terms: INHERITED, ...present, issuer, sub, name, email, team, role };
      checkUser(drafted);
      this.#checkPerson(drafted, present?.id ?? null);
      const user: User = { ...this.#fresh('user_'), suspendedAt: null, ...drafted };
      const writes = this.#putUser(before, user, before ? 'change' : 'create', by);
      return { writes, result: () => this.user(user.id) ?? user };
    });
  }

  /** Brings the copy up to the store. Rejects with StoreError, and has then changed nothing. */
  async refresh(): Promise<void> {
    const changes = await this.#store.people.changedAfter(this.#through);
    // A reading that began earlier may end later: it has nothing new.
    if (changes.through <= this.#through) return;
    this.#through = changes.through;
    if (this.#take(changes)) await this.#onChange?.();
  }

  /** @returns whether budgets may have changed */
  #take({ teams, users }: PeopleChanges): boolean {
    this.#terms.clear();
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
    return teams.length + users.length > 0;
  }

  /** Commits what a plan makes of the present rows. Where another change came first, it plans again. */
  async #commit<Result>(
    plan: () => { readonly writes: readonly Write[]; readonly result: () => Result },
  ): Promise<Result> {
    for (let tries = 1; ; tries++) {
      await this.refresh();
      const { writes, result } = plan();
      if (writes.length === 0) return result();
      try {
        await this.#store.commit(writes);
      } catch (cause) {
        if (!(cause instanceof StoreError && cause.reason === 'unmet')) throw cause;
        if (tries < TRIES) continue;
        throw PeopleError.hindered();
      }
      // If the disk cannot be read now, the change must still not look undone; the news repeats the reading.
      await this.refresh().catch(() => {});
      return result();
    }
  }

  #present<Row extends { readonly removedAt: number | null }>(
    rows: ReadonlyMap<string, Versioned<Row>>,
    id: string,
    expected: number | null = null,
  ): Versioned<Row> {
    const found = rows.get(id);
    if (!found || found.row.removedAt !== null) throw PeopleError.missing();
    if (expected !== null && expected !== found.version) throw PeopleError.stale(found.version);
    return found;
  }

  #checkName(name: string, own: string | null): void {
    const taken = this.teamNamed(name);
    if (taken && taken.id !== own) throw PeopleError.nameTaken(taken);
  }

  #checkPerson({ issuer, sub, team }: UserDraft, own: string | null): void {
    const taken = issuer === null || sub === null ? null : this.userOf(issuer, sub);
    if (taken && taken.id !== own) throw PeopleError.personTaken(taken);
    if (team !== null && this.team(team)?.removedAt !== null) throw PeopleError.noTeam();
  }

  /** What a new row has. IDs grow with time, so that lists are in order and can be read on from any. */
  #fresh(prefix: string) {
    const createdAt = this.#now();
    const random = crypto.getRandomValues(new Uint8Array(8));
    const tail = [...random].map((byte) => (byte % 36).toString(36)).join('');
    return { id: `${prefix}${createdAt.toString(36).padStart(9, '0')}${tail}`, createdAt, removedAt: null };
  }

  #putTeam(before: Versioned<Team> | null, team: Team, action: TrailAction, by: Actor): readonly Write[] {
    const details = detailsOf(before && teamTermsBody(before.row), teamTermsBody(team), action);
    if (details === null) return [];
    const { people, trail } = this.#store;
    const subject = { kind: 'team', id: team.id };
    const event = { time: this.#now(), actor: by, action, subject, details };
    return [people.putTeam(team, before?.version ?? null), trail.add(event)];
  }

  #putUser(before: Versioned<User> | null, user: User, action: TrailAction, by: Actor): readonly Write[] {
    const details = detailsOf(before && userTermsBody(before.row), userTermsBody(user), action);
    if (details === null) return [];
    const { people, trail } = this.#store;
    const subject = { kind: 'user', id: user.id };
    const event = { time: this.#now(), actor: by, action, subject, details };
    return [people.putUser(user, before?.version ?? null), trail.add(event)];
  }
}

const personOf = (issuer: string | null, sub: string | null): string => JSON.stringify([issuer, sub]);

const inOrder = <Row extends { readonly id: string; readonly removedAt: number | null }>(
  rows: Iterable<Versioned<Row>>,
): readonly Row[] =>
  [...rows]
    .flatMap(({ row }) => (row.removedAt === null ? [row] : []))
    .sort(({ id: one }, { id: other }) => (one < other ? -1 : 1));

const holderOf = (
  kind: TermsHolder['kind'],
  id: string,
  { models, limits, budgets }: Pick<GroupTerms, 'models' | 'limits' | 'budgets'>,
): TermsHolder => ({ kind, id, models: models && new Set(models), limits, budgets });

/** What the trail says of a change; null for one that changes nothing. */
function detailsOf(before: TrailDetails | null, after: TrailDetails, action: TrailAction): TrailDetails | null {
  if (before === null) return after;
  if (action === 'remove') return { before };
  return action === 'change' ? differing(before, after) : {};
}
