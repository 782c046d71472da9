import type { Keys } from '../access/keys.ts';
import type { People, Tags } from '../access/people.ts';
import { type TeamDraft, teamBody, type UserDraft, userBody } from '../access/people-body.ts';
import { PeopleError } from '../access/people-terms.ts';
import { statedLimits } from '../access/terms.ts';
import { type KeyBudget, type KeyLimits, roleOf } from '../core/caller.ts';
import { SignalboxError } from '../core/errors.ts';
import { type HolderTerms, NO_TERMS, type UserRole } from '../core/people.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { Membership, Team, TeamOrigin, User } from '../store/people.ts';
import { type Page, pageOfList } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkNoOperatorKey } from './reach.ts';
import { checkAction, type Reach } from './roles.ts';

/** What the use cases of people work with. */
export interface PeopleDesk {
  readonly people: People;
  readonly keys: Pick<Keys, 'read' | 'revoke'>;
}

/** Terms as a request states them: an absent member stays, null removes it. */
export interface TermsPatch {
  readonly models?: readonly string[] | null;
  /** Those that are not named stay. */
  readonly limits?: Partial<KeyLimits> | null;
  readonly budgets?: readonly KeyBudget[] | null;
}

export interface TeamPatch extends TermsPatch {
  readonly name?: string;
  readonly memberDefaults?: TermsPatch | null;
  /** `policy` hands a team to the policy, `api` takes over one that the policy no longer has. */
  readonly origin?: 'api' | 'policy';
}

export interface UserPatch extends TermsPatch {
  readonly name?: string | null;
  readonly email?: string | null;
  readonly issuer?: string | null;
  readonly sub?: string | null;
  /** ID or name. */
  readonly team?: string | null;
  readonly role?: UserRole;
}

export const PEOPLE_LIMIT = 100;
export const PEOPLE_LIMIT_MAX = 1_000;

/** A page of a list in the order of IDs. */
export interface PeoplePageQuery {
  /** The last ID of the page before; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface TeamQuery extends PeoplePageQuery {
  readonly origin: TeamOrigin | null;
}

export interface UserQuery extends PeoplePageQuery {
  /** ID or name; null for any. */
  readonly team: string | null;
  readonly role: string | null;
  readonly isSuspended: boolean | null;
  /** A part of the name or the address, in any case; null for any. */
  readonly search: string | null;
}

type TeamBody = ReturnType<typeof teamBody>;
type UserBody = ReturnType<typeof userBody>;

/** Lists the teams that the principal may see. @throws SignalboxError */
export function listTeams(principal: Principal, { people }: PeopleDesk, query: TeamQuery): Page<Team, TeamBody> {
  const reach = checkAction(principal.caller, 'people.read');
  const own = principal.caller.team;
  const isWanted = ({ id, origin }: Team) =>
    (reach === 'all' || id === own) && (query.origin === null || query.origin === origin);
  const users = countUsers(people);
  return paged(people.teams().filter(isWanted), query, (team) => teamBody(team, { users: users(team.id) }));
}

/** Finds a team by its ID or name. @throws SignalboxError `not_found` */
export function showTeam(principal: Principal, desk: PeopleDesk, name: string): TeamBody {
  const reach = checkAction(principal.caller, 'people.read');
  const team = teamOf(desk.people, name);
  if (!team || (reach !== 'all' && team.id !== principal.caller.team)) throw noTeam();
  return teamBody(team, { users: countUsers(desk.people)(team.id) });
}

/** Makes a team. @throws SignalboxError, KeyTermsError, PeopleError */
export async function createTeam(
  { caller, actor }: Principal,
  { people }: PeopleDesk,
  patch: Omit<TeamPatch, 'origin'>,
) {
  checkAction(caller, 'teams.change');
  const draft = patchedTeam({ name: '', ...NO_TERMS, memberDefaults: NO_TERMS }, patch);
  return teamBody(await people.createTeam(draft, actor), { users: 0 });
}

/** Changes a team. @throws SignalboxError, KeyTermsError, PeopleError */
export async function changeTeam(
  { caller, actor }: Principal,
  { people }: PeopleDesk,
  name: string,
  patch: TeamPatch,
  tags: Tags = null,
): Promise<TeamBody> {
  checkAction(caller, 'teams.change');
  const { id } = teamOf(people, name) ?? refuse(noTeam());
  const team = await people.changeTeam(id, (before) => patchedTeam(before, patch), actor, tags);
  return teamBody(team, { users: countUsers(people)(id) });
}

/** Removes a team that no user and no unrevoked key is of. @throws SignalboxError, PeopleError */
export async function removeTeam(
  { caller, actor }: Principal,
  { people, keys }: PeopleDesk,
  name: string,
  tags: Tags = null,
): Promise<Team> {
  checkAction(caller, 'teams.change');
  const team = teamOf(people, name) ?? refuse(noTeam());
  const count = (await unrevokedKeys(keys, 'team', team.id)).length;
  const members = people.users().filter(({ team: of }) => of === team.id).length;
  if (team.origin !== 'policy' && count > 0 && members === 0) throw PeopleError.inUse(team.name, count, 'key');
  return people.removeTeam(team.id, actor, tags);
}

/** Lists the users that the principal may see. @throws SignalboxError */
export function listUsers(principal: Principal, { people }: PeopleDesk, query: UserQuery): Page<User, UserBody> {
  const reach = checkAction(principal.caller, 'people.read');
  const team = query.team === null ? null : (teamOf(people, query.team) ?? refuse(noTeam()));
  const search = query.search?.toLowerCase() ?? null;
  const isWanted = (user: User) =>
    isWithin(reach, principal, user) &&
    (team === null || user.team === team.id) &&
    (query.role === null || user.role === query.role) &&
    (query.isSuspended === null || query.isSuspended === (user.suspendedAt !== null)) &&
    (search === null || [user.name, user.email ?? ''].some((text) => text.toLowerCase().includes(search)));
  return paged(people.users().filter(isWanted), query, (user) => shownUser(people, user));
}

/** Finds a user by its ID. @throws SignalboxError `not_found` */
export const showUser = (principal: Principal, { people }: Pick<PeopleDesk, 'people'>, id: string): UserBody =>
  shownUser(people, foundUser(principal, people, id, 'people.read'));

/** Makes a user. A lead makes members of its team. @throws SignalboxError, KeyTermsError, PeopleError */
export async function createUser(principal: Principal, { people }: PeopleDesk, patch: UserPatch): Promise<UserBody> {
  const reach = checkAction(principal.caller, 'people.change');
  const team = patch.team === undefined && reach === 'team' ? (principal.caller.team ?? null) : patch.team;
  checkPerson(reach, patch);
  const draft = patchedUser(people, NEW_USER, { ...patch, ...(team !== undefined && { team }) });
  checkGrant(principal, reach, draft);
  const { user, keyId } = principal.caller;
  return shownUser(people, await people.createUser(draft, principal.actor, reach === 'all' ? null : (user ?? keyId)));
}

/** Changes a user. @throws SignalboxError, KeyTermsError, PeopleError */
export async function changeUser(
  principal: Principal,
  { people, keys }: PeopleDesk,
  id: string,
  patch: UserPatch,
  tags: Tags = null,
): Promise<UserBody> {
  const reach = checkAction(principal.caller, 'people.change');
  const user = foundUser(principal, people, id, 'people.change');
  checkPerson(reach, patch);
  // They apply to every key of the user.
  const { models, limits, budgets } = patch;
  if (models !== undefined || limits !== undefined || budgets !== undefined) await checkKeysOf(principal, keys, user);
  const alter = (before: User) => {
    checkGrant(principal, reach, before);
    const draft = patchedUser(people, before, patch);
    checkGrant(principal, reach, draft);
    return draft;
  };
  return shownUser(people, await people.changeUser(id, alter, principal.actor, tags));
}

/** Suspends a user, whose keys and logins are then refused, or resumes it. @throws SignalboxError, PeopleError */
export async function suspendUser(
  principal: Principal,
  { people, keys }: PeopleDesk,
  id: string,
  isSuspended: boolean,
): Promise<UserBody> {
  const user = foundUser(principal, people, id, 'people.change');
  await checkKeysOf(principal, keys, user);
  return shownUser(people, await people.suspendUser(id, isSuspended, principal.actor));
}

/** Removes a user: its keys are revoked first, and then its words erased. @throws SignalboxError, PeopleError */
export async function removeUser(
  principal: Principal,
  { people, keys }: PeopleDesk,
  id: string,
  tags: Tags = null,
): Promise<{ readonly user: User; readonly revoked: number }> {
  const found = foundUser(principal, people, id, 'people.change');
  await checkKeysOf(principal, keys, found);
  if (tags && !tags.includes(people.tagOf(id))) throw PeopleError.stale(people.tagOf(id));
  // No key is made with it from now on.
  await people.suspendUser(id, true, principal.actor);
  try {
    const revoked = await revokeKeysOf(principal, keys, id);
    return { user: await people.removeUser(id, principal.actor), revoked };
  } catch (cause) {
    // An operator has given it a key at the same time, which must go on working.
    const isRefused = cause instanceof SignalboxError && cause.code === 'insufficient_permissions';
    if (isRefused && found.suspendedAt === null) await people.suspendUser(id, false, principal.actor);
    throw cause;
  }
}

/** Revokes the keys of a user. @returns their number @throws SignalboxError for a key that the principal may not revoke, then or now */
async function revokeKeysOf(principal: Principal, keys: PeopleDesk['keys'], id: string): Promise<number> {
  const reach = checkAction(principal.caller, 'people.change');
  const check = (key: KeyInfo) => checkNoOperatorKey(reach, key);
  const own = await unrevokedKeys(keys, 'user', id);
  own.forEach(check);
  for (const key of own) await keys.revoke(key.id, principal.actor, check);
  return own.length;
}

/** The team and the user of a new key, by ID or name of the team. A key of a user is of the team of the user. @throws PeopleError */
export function membershipOf(people: People, { team = null, user = null }: Partial<Membership>): Membership {
  const ofTeam = team === null ? null : (teamOf(people, team) ?? refuse(PeopleError.noTeam(team)));
  if (user === null) return { team: ofTeam?.id ?? null, user };
  const ofUser = people.user(user);
  if (ofUser?.removedAt !== null) throw PeopleError.noUser();
  if (ofTeam && ofTeam.id !== ofUser.team) throw PeopleError.otherTeam();
  return { team: ofUser.team, user };
}

/** The same of a change of a key: an absent member stays, null removes. @throws PeopleError */
export function membershipPatch(people: People, { team, user }: Partial<Membership>): Partial<Membership> {
  if (typeof user === 'string') return membershipOf(people, { team: team ?? null, user });
  return {
    ...(user === null && { user }),
    ...(team !== undefined && { team: membershipOf(people, { team }).team }),
  };
}

/** The ID of a user that a text names: an ID, or the address of exactly one user. @throws PeopleError */
export function userIdIn(people: Pick<People, 'user' | 'users'>, text: string): string {
  if (!text.includes('@') || people.user(text) !== null) return text;
  const [user, ...others] = people
    .users()
    .filter(({ email }) => email !== null && email.toLowerCase() === text.toLowerCase());
  if (others.length > 0) throw PeopleError.manyUsers(text, [user!, ...others]);
  return user?.id ?? text;
}

/** The team of an ID or a name, removed ones apart. */
function teamOf(people: Pick<People, 'team' | 'teamNamed'>, name: string): Team | null {
  const team = people.team(name) ?? people.teamNamed(name);
  return team?.removedAt === null ? team : null;
}

const NEW_USER: UserDraft = {
  ...{ name: '', email: null, issuer: null, sub: null, team: null, role: 'member' },
  terms: { models: null, limits: null, budgets: null },
};

const NO_LIMITS: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrentStreams: null };

function patchedTerms(before: HolderTerms, { models, limits = {}, budgets }: TermsPatch): HolderTerms {
  return {
    models: models === undefined ? before.models : models,
    limits: patchedLimits(before.limits, limits),
    budgets: budgets === undefined ? before.budgets : (budgets ?? []),
  };
}

const patchedLimits = (before: KeyLimits | null, limits: Partial<KeyLimits> | null): KeyLimits | null =>
  limits === null ? null : statedLimits({ ...NO_LIMITS, ...before, ...limits });

const patchedTeam = (before: TeamDraft, { name, memberDefaults, origin, ...terms }: TeamPatch): TeamDraft => ({
  name: name ?? before.name,
  ...patchedTerms(before, terms),
  memberDefaults: memberDefaults === null ? NO_TERMS : patchedTerms(before.memberDefaults, memberDefaults ?? {}),
  ...(origin !== undefined && { origin }),
});

function patchedUser(people: People, before: UserDraft, { limits = {}, ...patch }: UserPatch): UserDraft {
  const { name = before.name, email = before.email, issuer = before.issuer, sub = before.sub } = patch;
  const { role = before.role, team, models = before.terms.models, budgets = before.terms.budgets } = patch;
  const terms = { models, limits: patchedLimits(before.terms.limits, limits), budgets };
  return { name: name ?? '', email, issuer, sub, role, terms, team: teamIdOf(people, before, team) };
}

function teamIdOf(people: People, before: UserDraft, team: string | null | undefined): string | null {
  if (team === undefined) return before.team;
  return team === null ? null : (teamOf(people, team) ?? refuse(PeopleError.noTeam(team))).id;
}

const isWithin = (reach: Reach, { caller }: Principal, { id, team }: User): boolean =>
  reach === 'all' || (reach === 'team' && team !== null && team === caller.team) || id === caller.user;

function foundUser(principal: Principal, people: People, id: string, action: 'people.read' | 'people.change'): User {
  const reach = checkAction(principal.caller, action);
  const user = people.user(id);
  if (user?.removedAt === null && isWithin(reach, principal, user)) return user;
  throw new SignalboxError('not_found', 'No user has this ID.');
}

const HIGH: ReadonlySet<UserRole> = new Set(['owner', 'admin']);

/** Refuses what would give, take or use more than one has: owners alone change owners and admins, and a lead the members of its team. */
function checkGrant({ caller }: Principal, reach: Reach, { role, team }: Pick<UserDraft, 'role' | 'team'>): void {
  if (HIGH.has(role) && roleOf(caller) !== 'owner') {
    throw new SignalboxError('insufficient_permissions', 'Only an owner changes users with the roles owner and admin.');
  }
  if (reach !== 'all' && (role !== 'member' || team === null || team !== caller.team)) {
    throw new SignalboxError('insufficient_permissions', 'A lead changes the members of its own team alone.');
  }
}

/** Refuses a lead who names the person behind a user: it would be that of another team. */
function checkPerson(reach: Reach, { issuer, sub }: UserPatch): void {
  if (reach === 'all' || (issuer === undefined && sub === undefined)) return;
  throw new SignalboxError('insufficient_permissions', 'A lead does not state the issuer and sub of a user.');
}

/** Refuses to change or end the keys of a user to a principal who may not change the user, or not each of these keys. */
async function checkKeysOf(principal: Principal, keys: PeopleDesk['keys'], user: User): Promise<void> {
  const reach = checkAction(principal.caller, 'people.change');
  checkGrant(principal, reach, user);
  if (reach === 'all') return;
  for (const key of await unrevokedKeys(keys, 'user', user.id)) checkNoOperatorKey(reach, key);
}

/** The unrevoked keys of a team or a user, by ID, without child keys: they end with the first key of their line. */
async function unrevokedKeys(keys: Pick<Keys, 'read'>, member: 'team' | 'user', id: string): Promise<KeyInfo[]> {
  const own: KeyInfo[] = [];
  const all = keys.read({ after: null, of: { member, id }, isUnrevoked: true });
  for await (const key of all) if (key.parent === null) own.push(key);
  return own;
}

const shownUser = (people: People, user: User): UserBody =>
  userBody(user, user.team === null ? null : (people.team(user.team)?.name ?? null));

function countUsers(people: People): (team: string) => number {
  const counts = Map.groupBy(people.users(), ({ team }) => team);
  return (team) => counts.get(team)?.length ?? 0;
}

function paged<Row extends { readonly id: string }, Body>(
  rows: readonly Row[],
  { after, limit }: PeoplePageQuery,
  body: (row: Row) => Body,
): Page<Row, Body> {
  return pageOfList(after === null ? rows : rows.filter(({ id }) => id > after), limit, body);
}

const noTeam = () => new SignalboxError('not_found', 'No team has this ID or name.');

function refuse(error: Error): never {
  throw error;
}
