import {
  FORMER_NAMES_MAX,
  ID_PREFIXES,
  INHERITED,
  renamedTeam,
  type TeamDeclaration,
  type UserRole,
} from '../core/people/people.ts';
import type { Team, User, UserMaker, VersionedRow } from '../store/people.ts';
import { isMet, type Write } from '../store/store.ts';
import { type Actor, SERVER, type TrailAction, type TrailDetails } from '../store/trail.ts';
import { differing, type TeamDraft, teamTermsBody, type UserDraft, userTermsBody } from './people-body.ts';
import { PeopleCopy, type PeopleOptions } from './people-copy.ts';
import { checkTeam, checkUser, PeopleError, tooManyUsers, USERS_A_DAY_MAX } from './people-terms.ts';
import { formerNamesOf, type TeamChange, withNamesGivenUp } from './team-names.ts';

/** A person as a sign-in or a token identifies them. */
export interface SignedPerson {
  readonly issuer: string;
  readonly sub: string;
  readonly name: string;
  readonly email: string | null;
  /** ID of the person's team, null for none; absent to leave it unchanged. */
  readonly team?: string | null;
  /** If the role is absent, it stays unchanged, and a new user becomes `member`. */
  readonly role?: UserRole;
}

/** Tags from `tagOf`. The row must have one of them; null accepts any. */
export type Tags = readonly string[] | null;

/** How often a change is planned again because another change came first. */
const TRIES = 5;

/** Reads all teams and users. Rejects with StoreError. */
export async function openPeople(options: PeopleOptions): Promise<People> {
  const people = new People(options);
  await people.refresh();
  return people;
}

/** The teams and users. Each change is committed together with its entry in the audit trail. State: people. */
export class People extends PeopleCopy {
  /** The time in the newest ID. */
  #idTime = 0;

  /** Creates a team. @throws KeyTermsError for invalid terms, PeopleError if the name is already used */
  createTeam(draft: TeamDraft, by: Actor): Promise<Team> {
    checkTeam(draft, null);
    return this.#commit(() => {
      this.#checkName(draft.name, null);
      const team: Team = { ...draft, ...this.#fresh('team'), origin: 'api' };
      return {
        writes: this.#putTeams([{ before: null, team, action: 'create' }], by),
        result: () => this.team(team.id) ?? team,
      };
    });
  }

  /**
   * Changes a team that was created through the API, hands it over to the policy, or takes over a team that the policy no longer declares.
   * @param alter may be called several times
   * @throws KeyTermsError, PeopleError
   */
  changeTeam(id: string, alter: (before: Team) => TeamDraft, by: Actor, tags: Tags = null): Promise<Team> {
    return this.#commit(() => {
      const before = this.#present(this.allTeams, id, tags);
      const { row } = before;
      const { origin = row.origin, ...terms } = alter(row);
      checkTeam(terms, row);
      const isSame = differing(teamTermsBody(row), teamTermsBody({ ...row, ...terms })) === null;
      if (row.origin === 'policy' && !(isSame && origin !== 'api')) {
        throw PeopleError.declared(row, terms.name !== row.name);
      }
      if (row.origin === 'former' && origin !== 'api' && !isSame) throw PeopleError.left(row);
      this.#checkName(terms.name, id);
      const isHanded = row.origin === 'api' && origin === 'policy';
      const names = formerNamesOf(row, terms.name, (one) => this.teamNamed(one));
      if ((names.formerNames?.length ?? 0) > FORMER_NAMES_MAX) throw PeopleError.tooManyNames(row);
      const now = origin === 'api' ? 'api' : isHanded ? 'former' : row.origin;
      const team: Team = { ...row, ...terms, ...names, origin: now };
      return { writes: this.#putTeams([{ before, team, action: 'change' }], by), result: () => this.team(id) ?? team };
    });
  }

  /** Removes a team. @throws PeopleError if the policy declares the team, or if it still has users or unrevoked keys */
  removeTeam(id: string, by: Actor, tags: Tags = null): Promise<Team> {
    return this.#commit(() => {
      const before = this.#present(this.allTeams, id, tags);
      if (before.row.origin === 'policy') throw PeopleError.declared(before.row);
      const members = this.users().filter(({ team }) => team === id).length;
      if (members > 0) throw PeopleError.inUse(before.row.name, members, 'user');
      const { name, formerNames = [] } = before.row;
      const team = { ...before.row, removedAt: this.now(), formerNames: [name, ...formerNames] };
      return { writes: this.#putTeams([{ before, team, action: 'remove' }], by), result: () => team };
    });
  }

  /**
   * Writes the teams of a policy that is about to become active, in one commit, and renames teams whose former names the policy states. A
   * team that the policy no longer declares keeps its terms until it is declared again, taken over or removed.
   * @throws PeopleError, and changes nothing, if a team with one of the names was created through the API
   */
  declare(teams: readonly TeamDeclaration[], by: Actor = SERVER): Promise<void> {
    const teamNamed = (name: string) => this.teamNamed(name);
    return this.#commit(() => {
      const declared = teams.map(({ formerly, ...terms }): TeamChange => {
        const present = teamNamed(terms.name);
        if (present?.origin === 'api') throw PeopleError.made(present);
        const found = present ?? renamedTeam({ name: terms.name, formerly }, teamNamed);
        const before = found === null ? null : (this.allTeams.get(found.id) ?? null);
        const names = found && formerNamesOf(found, terms.name, teamNamed);
        const team: Team = { ...this.#fresh('team'), ...before?.row, ...terms, ...names, origin: 'policy' };
        return { before, team, action: before ? 'change' : 'create' };
      });
      const kept = new Set(declared.map(({ team }) => team.id));
      const left = [...this.allTeams.values()].flatMap((before): TeamChange[] => {
        const { row } = before;
        if (row.origin !== 'policy' || row.removedAt !== null || kept.has(row.id)) return [];
        return [{ before, team: { ...row, origin: 'former' }, action: 'change' }];
      });
      return { writes: this.#putTeams([...declared, ...left], by), result: () => undefined };
    });
  }

  /**
   * Creates a user. @throws KeyTermsError, also if the maker may not create more users, and PeopleError
   * @param maker the ID of the user whose limit counts; null for operators, who have no limit
   */
  async createUser(draft: UserDraft, by: Actor, maker: string | null = null): Promise<User> {
    checkUser(draft, null);
    const within = maker === null ? null : { maker, aDay: USERS_A_DAY_MAX };
    const isFull = async () =>
      within && (await this.store.people.countOfMaker(within.maker, this.now())) >= within.aDay;
    if (await isFull()) throw tooManyUsers();
    try {
      return await this.#commit(() => {
        this.#checkPerson(draft, null);
        const user: User = { ...draft, ...this.#fresh('user'), suspendedAt: null };
        const writes = this.#putUser(null, user, 'create', by, within);
        return { writes, result: () => this.user(user.id) ?? user };
      });
    } catch (cause) {
      // Other requests have created the last allowed users at the same time.
      if (cause instanceof PeopleError && cause.reason === 'busy' && (await isFull())) throw tooManyUsers();
      throw cause;
    }
  }

  /** Changes a user. @throws KeyTermsError, PeopleError */
  changeUser(id: string, alter: (before: User) => UserDraft, by: Actor, tags: Tags = null): Promise<User> {
    return this.#commit(() => {
      const before = this.#present(this.allUsers, id, tags);
      const draft = alter(before.row);
      checkUser(draft, before.row);
      this.#checkPerson(draft, id);
      const user: User = { ...before.row, ...draft };
      return { writes: this.#putUser(before, user, 'change', by), result: () => this.user(id) ?? user };
    });
  }

  /** Suspends a user, whose keys and logins are refused from then on, or resumes the user. Repeating the call changes nothing. */
  suspendUser(id: string, isSuspended: boolean, by: Actor): Promise<User> {
    return this.#commit(() => {
      const before = this.#present(this.allUsers, id);
      const suspendedAt = isSuspended ? (before.row.suspendedAt ?? this.now()) : null;
      const user = { ...before.row, suspendedAt };
      const action = isSuspended ? 'suspend' : 'resume';
      const writes = before.row.suspendedAt === suspendedAt ? [] : this.#putUser(before, user, action, by);
      return { writes, result: () => this.user(id) ?? user };
    });
  }

  /** Removes a user with its personal data and its terms. @throws PeopleError if the user still has unrevoked keys */
  removeUser(id: string, by: Actor, tags: Tags = null): Promise<User> {
    return this.#commit(() => {
      const before = this.#present(this.allUsers, id, tags);
      const words = { issuer: null, sub: null, name: '', email: null };
      const user: User = { ...before.row, ...words, terms: INHERITED, removedAt: this.now() };
      return { writes: this.#putUser(before, user, 'remove', by), result: () => user };
    });
  }

  /**
   * Creates or updates the user who signed in, or whose token was verified. Writes nothing if nothing has changed.
   * @throws KeyTermsError, PeopleError
   */
  putUser({ issuer, sub, name, email, ...more }: SignedPerson, by: Actor = SERVER): Promise<User> {
    return this.#commit(() => {
      const present = this.userOf(issuer, sub);
      const before = present && (this.allUsers.get(present.id) ?? null);
      const { team = present?.team ?? null, role = present?.role ?? 'member' } = more;
      const drafted = { terms: INHERITED, ...present, issuer, sub, name, email, team, role };
      checkUser(drafted, present);
      this.#checkPerson(drafted, present?.id ?? null);
      const user: User = { ...this.#fresh('user'), suspendedAt: null, ...drafted };
      const writes = this.#putUser(before, user, before ? 'change' : 'create', by);
      return { writes, result: () => this.user(user.id) ?? user };
    });
  }

  /**
   * Commits the writes that a plan makes from the current rows. If another change of the rows was committed first, the change is planned
   * again from the new rows.
   */
  async #commit<Result>(
    plan: () => { readonly writes: readonly Write[]; readonly result: () => Result },
  ): Promise<Result> {
    for (let tries = 1; ; tries++) {
      await this.refresh();
      const { writes, result } = plan();
      if (writes.length === 0) return result();
      if (!(await isMet(this.store.commit(writes)))) {
        if (tries < TRIES) continue;
        throw PeopleError.hindered();
      }
      // If the store cannot be read now, the committed change must still be reported as successful. The news of the store repeats the read.
      await this.refresh().catch(() => {});
      return result();
    }
  }

  #present<Row extends { readonly removedAt: number | null }>(
    rows: ReadonlyMap<string, VersionedRow<Row>>,
    id: string,
    tags: Tags = null,
  ): VersionedRow<Row> {
    const found = rows.get(id);
    if (!found || found.row.removedAt !== null) throw PeopleError.missing();
    if (tags && !tags.includes(this.tagOf(id))) throw PeopleError.stale(this.tagOf(id));
    return found;
  }

  #checkName(name: string, own: string | null): void {
    const taken = this.teamNamed(name);
    if (taken && taken.id !== own) throw PeopleError.nameTaken(taken);
  }

  #checkPerson({ issuer, sub, team }: UserDraft, own: string | null): void {
    const taken = issuer === null || sub === null ? null : this.userOf(issuer, sub);
    if (taken && taken.id !== own) throw PeopleError.personTaken(taken);
    if (team !== null && this.team(team)?.removedAt !== null) throw PeopleError.noTeam(team);
  }

  /**
   * The members of a new row. IDs grow with time, so that lists are sorted and can continue after any ID. No two IDs have the same time,
   * because several rows can be created in one millisecond.
   */
  #fresh(kind: keyof typeof ID_PREFIXES) {
    const createdAt = this.now();
    this.#idTime = Math.max(this.#idTime + 1, createdAt);
    const random = crypto.getRandomValues(new Uint8Array(8));
    const tail = [...random].map((byte) => (byte % 36).toString(36)).join('');
    return {
      id: `${ID_PREFIXES[kind]}${this.#idTime.toString(36).padStart(9, '0')}${tail}`,
      createdAt,
      removedAt: null,
    };
  }

  #putTeams(changes: readonly TeamChange[], by: Actor): readonly Write[] {
    const { people, trail } = this.store;
    return withNamesGivenUp(changes, this.allTeams.values()).flatMap(({ before, team, action }) => {
      const details = detailsOf(before && teamTermsBody(before.row), teamTermsBody(team), action);
      const put = people.putTeam(team, before?.version ?? null);
      // If another team has taken over a former name, the terms of this team have not changed.
      if (details === null) return before?.row.formerNames === team.formerNames ? [] : [put];
      const subject = { kind: 'team', id: team.id };
      return [put, trail.add({ time: this.now(), actor: by, action, subject, details })];
    });
  }

  #putUser(
    before: VersionedRow<User> | null,
    user: User,
    action: TrailAction,
    by: Actor,
    within: UserMaker | null = null,
  ): readonly Write[] {
    const details = detailsOf(before && userTermsBody(before.row), userTermsBody(user), action);
    if (details === null) return [];
    const { people, trail } = this.store;
    const subject = { kind: 'user', id: user.id };
    const event = { time: this.now(), actor: by, action, subject, details };
    return [people.putUser(user, before?.version ?? null, within), trail.add(event)];
  }
}

/** The details of a change for the audit trail; null if nothing changes. */
function detailsOf(before: TrailDetails | null, after: TrailDetails, action: TrailAction): TrailDetails | null {
  if (before === null) return after;
  if (action === 'remove') return { before };
  return action === 'change' ? differing(before, after) : {};
}
