import type { Keys } from '../../access/keys.ts';
import type { People, Tags } from '../../access/people.ts';
import type { UserDraft } from '../../access/people-body.ts';
import { PeopleError } from '../../access/people-terms.ts';
import { refuse as refuseValue, SignalboxError } from '../../core/errors.ts';
import { type Caller, roleOf } from '../../core/people/caller.ts';
import type { UserRole } from '../../core/people/people.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Membership, Team, User } from '../../store/people.ts';
import type { Principal } from './principal.ts';
import { checkNoOperatorKey } from './reach.ts';
import { checkAction, type Reach, reachOf } from './roles.ts';

/** The services that use cases on people need. */
export interface PeopleDesk {
  readonly people: People;
  readonly keys: Pick<Keys, 'read' | 'revoke'>;
}

/** A caller, and how far the caller reaches with an action. */
export interface Reaching {
  readonly caller: Caller;
  readonly reach: Reach;
}

/**
 * Removes a user: first revokes its keys, then erases its personal data.
 * @param text the user's ID or email address
 * @throws SignalboxError, PeopleError
 */
export async function removeUser(
  { caller, actor }: Principal,
  { people, keys }: PeopleDesk,
  text: string,
  tags: Tags = null,
): Promise<{ readonly user: User; readonly revoked: number }> {
  const by = { caller, reach: checkAction(caller, 'people.change') };
  const found = foundUser(people, text, by);
  const { id } = found;
  await checkKeysOf(by, keys, found);
  if (tags && !tags.includes(people.tagOf(id))) throw PeopleError.stale(people.tagOf(id));
  // The user is suspended first, so that no new key is created for the user while the keys are revoked.
  await people.suspendUser(id, true, actor);
  try {
    const check = (key: KeyInfo) => checkNoOperatorKey(by.reach, key);
    const own = await unrevokedKeys(keys, 'user', id);
    own.forEach(check);
    for (const key of own) await keys.revoke(key.id, actor, check);
    return { user: await people.removeUser(id, actor), revoked: own.length };
  } catch (cause) {
    // An operator may have given the user a key with more rights at the same time. The new key must continue to work.
    const isRefused = cause instanceof SignalboxError && cause.code === 'insufficient_permissions';
    if (isRefused && found.suspendedAt === null) await people.suspendUser(id, false, actor);
    throw cause;
  }
}

/** Finds the team and the user of a new key by ID or name. A key of a user belongs to the team of the user. @throws PeopleError */
export function membershipOf(people: People, { team = null, user = null }: Partial<Membership>): Membership {
  const ofTeam = team === null ? null : (teamOf(people, team) ?? refuse(PeopleError.noTeam(team)));
  if (user === null) return { team: ofTeam?.id ?? null, user };
  const ofUser = people.user(user);
  if (ofUser?.removedAt !== null) throw PeopleError.noUser();
  if (ofTeam && ofTeam.id !== ofUser.team) throw PeopleError.otherTeam();
  return { team: ofUser.team, user };
}

/** Finds the team and the user for a change of a key. An absent member stays unchanged, null removes. @throws PeopleError */
export function membershipPatch(people: People, { team, user }: Partial<Membership>): Partial<Membership> {
  if (typeof user === 'string') return membershipOf(people, { team: team ?? null, user });
  return {
    ...(user === null && { user }),
    ...(team !== undefined && { team: membershipOf(people, { team }).team }),
  };
}

/**
 * Returns the ID of the user that a text names: an ID, or the email address of exactly one user. Other texts are returned unchanged.
 * @param isSeen whether the caller may see a user; an address finds only such users
 * @throws PeopleError
 */
export function userIdIn(
  people: Pick<People, 'user' | 'users'>,
  text: string,
  isSeen: (user: User) => boolean = () => true,
): string {
  if (!text.includes('@') || people.user(text) !== null) return text;
  const [user, ...others] = people
    .users()
    .filter((one) => one.email?.toLowerCase() === text.toLowerCase() && isSeen(one));
  if (others.length > 0) throw PeopleError.manyUsers(text, [user!, ...others]);
  return user?.id ?? text;
}

/** A team and a user named in a filter; absent or null for any. */
export type Owners = { readonly [Name in 'team' | 'user']?: string | null | undefined };

/** The IDs of a team and a user; absent for any. */
export type OwnerIds = { readonly [Name in 'team' | 'user']?: string };

/**
 * Returns the IDs of the owners that a filter names: a team by ID or name, a user by ID or email address. Other texts are returned
 * unchanged, because deleted teams and users still have recorded keys, charges and decisions.
 * @throws SignalboxError `invalid_value` if several users have the address
 */
export function ownersIn(
  people: Pick<People, 'teamNamed' | 'user' | 'users'>,
  { caller }: Principal,
  { team, user }: Owners,
): OwnerIds {
  const reach = reachOf(roleOf(caller), 'people.read');
  const isSeen = (one: User) => reach !== null && isReached({ caller, reach }, one);
  try {
    return {
      ...(team != null && { team: people.teamNamed(team)?.id ?? team }),
      ...(user != null && { user: userIdIn(people, user, isSeen) }),
    };
  } catch (cause) {
    if (cause instanceof PeopleError) refuseValue('user', cause.message);
    throw cause;
  }
}

/** Finds a team by ID or name. Ignores removed teams. */
function teamOf(people: Pick<People, 'team' | 'teamNamed'>, name: string): Team | null {
  const team = people.team(name) ?? people.teamNamed(name);
  return team?.removedAt === null ? team : null;
}

/**
 * Finds a team by its ID or name.
 *
 * @param only the ID of the team that the caller may see; null for all
 * @throws SignalboxError `not_found`
 */
export function foundTeam(people: Pick<People, 'team' | 'teamNamed'>, name: string, only: string | null = null): Team {
  const team = teamOf(people, name);
  if (team && (only === null || team.id === only)) return team;
  throw new SignalboxError('not_found', 'No team has this ID or name.');
}

export const isReached = ({ caller, reach }: Reaching, { id, team }: User): boolean =>
  reach === 'all' || (reach === 'team' && team !== null && team === caller.team) || id === caller.user;

/**
 * Finds a user that the caller may see.
 * @param text the user's ID, or the email address of exactly one user
 * @throws SignalboxError `not_found`
 */
export function foundUser(people: Pick<People, 'user' | 'users'>, text: string, by: Reaching): User {
  const known = people.user(text);
  const address = text.toLowerCase();
  const named = known === null ? people.users().filter(({ email }) => email?.toLowerCase() === address) : [known];
  const [user, ...others] = named.filter((one) => one.removedAt === null && isReached(by, one));
  if (!user) throw new SignalboxError('not_found', 'No user has this ID or address.');
  if (others.length === 0) return user;
  throw new SignalboxError('not_found', PeopleError.manyUsers(text, [user, ...others]).message);
}

const HIGH: ReadonlySet<UserRole> = new Set(['owner', 'admin']);

/**
 * Refuses a change of a user that exceeds the caller's own rights: only owners may change owners and admins, and a lead only members of its
 * team.
 */
export function checkGrant({ caller, reach }: Reaching, { role, team }: Pick<UserDraft, 'role' | 'team'>): void {
  if (HIGH.has(role) && roleOf(caller) !== 'owner') {
    throw new SignalboxError(
      'insufficient_permissions',
      'Only an owner can change users with the role owner or admin.',
    );
  }
  if (reach !== 'all' && (role !== 'member' || team === null || team !== caller.team)) {
    throw new SignalboxError('insufficient_permissions', 'A lead can change only members of its own team.');
  }
}

/** Refuses a lead who sets the issuer and sub of a user: the person could belong to another team. */
export function checkPerson(
  { reach }: Reaching,
  { issuer, sub }: { readonly [Name in 'issuer' | 'sub']?: string | null | undefined },
): void {
  if (reach === 'all' || (issuer === undefined && sub === undefined)) return;
  throw new SignalboxError('insufficient_permissions', 'A lead cannot set the issuer and sub of a user.');
}

/** Refuses to change or revoke the keys of a user if the caller may not change the user, or not each of the keys. */
export async function checkKeysOf(by: Reaching, keys: PeopleDesk['keys'], user: User): Promise<void> {
  checkGrant(by, user);
  if (by.reach === 'all') return;
  for (const key of await unrevokedKeys(keys, 'user', user.id)) checkNoOperatorKey(by.reach, key);
}

/**
 * Returns the keys of a team or a user that are not revoked, by ID. Child keys are left out, because they stop working with the first key
 * of their line.
 */
export async function unrevokedKeys(
  keys: Pick<Keys, 'read'>,
  member: 'team' | 'user',
  id: string,
): Promise<readonly KeyInfo[]> {
  const own: KeyInfo[] = [];
  const all = keys.read({ after: null, of: { member, id }, isUnrevoked: true });
  for await (const key of all) if (key.parent === null) own.push(key);
  return own;
}

function refuse(error: Error): never {
  throw error;
}
