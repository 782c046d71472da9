import type { Keys } from '../../access/keys.ts';
import type { Logins } from '../../access/logins.ts';
import type { People } from '../../access/people.ts';
import { refuse } from '../../core/errors.ts';
import { roleOf } from '../../core/people/caller.ts';
import type { Login } from '../../store/logins.ts';
import { pageOfList } from './pages.ts';
import type { Principal } from './principal.ts';
import { ACTION_NAMES, checkAction, reachOf } from './roles.ts';

/** Logins, with the users and keys that they belong to. */
export interface LoginDesk {
  readonly logins: Pick<Logins, 'list' | 'end'>;
  readonly people: Pick<People, 'user' | 'team'>;
  readonly keys: Pick<Keys, 'known' | 'lives'>;
}

export interface LoginQuery {
  /** ID of a user or of a key; null for all. */
  readonly user: string | null;
  /** ID of the last login of the previous page; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** The most logins of a page, and the default. */
export const LOGINS_LIMIT = 100;
export const LOGINS_LIMIT_MAX = 1_000;

/**
 * Lists the logins that the principal may see, newest first. The list leaves out a login that has ended, and a login whose user was removed
 * or whose key has ended.
 */
export function listLogins({ caller }: Principal, desk: LoginDesk, { user, after, limit }: LoginQuery) {
  const reach = checkAction(caller, 'logins.read');
  const isShown = (login: Login) => (reach === 'all' || holderOf(login) === caller.keyId) && hasHolder(login, desk);
  const all = desk.logins.list().filter(isShown);
  const wanted = user === null ? all : all.filter((login) => holderOf(login) === user);
  const start = after === null ? 0 : wanted.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    const message = '`after` must be the ID of a login that has not ended. Start again from the first page.';
    refuse('after', message);
  }
  return pageOfList(wanted.slice(start), limit, (login) => loginOf(login, desk));
}

/**
 * Ends a login.
 * @returns the login, or null if there is no login that the principal may end. Rejects with StoreError.
 */
export async function endLogin({ caller, actor }: Principal, desk: LoginDesk, id: string) {
  const reach = checkAction(caller, 'logins.end');
  const login = desk.logins.list().find((one) => one.id === id && (reach === 'all' || holderOf(one) === caller.keyId));
  const isEnded = login !== undefined && (await desk.logins.end(login, actor));
  return isEnded ? login : null;
}

/** The ID of the user or key that a login belongs to. */
const holderOf = ({ user, key }: Login): string | null => user ?? key;

/**
 * Whether the login's user was not removed, or its key has not ended. Suspended users and keys are included, because they can be resumed.
 */
function hasHolder({ user, key, keyHash }: Login, { people, keys }: LoginDesk): boolean {
  if (user !== null) return people.user(user)?.removedAt === null;
  return key !== null && keyHash !== null && keys.lives(key, keyHash);
}

/** Returns the caller as the server sees it, with all actions that the caller may take. */
export function meOf({ caller, actor }: Principal, desk: LoginDesk) {
  checkAction(caller, 'me.read');
  const role = roleOf(caller);
  const id = 'login' in actor ? actor.login : undefined;
  const login = desk.logins.list().find((one) => one.id === id) ?? null;
  const user = login?.user == null ? null : desk.people.user(login.user);
  return {
    role,
    name: user?.name ?? desk.keys.known(caller.keyId)?.name ?? null,
    keyId: user ? null : caller.keyId,
    user: user && { ...user, teamName: user.team === null ? null : (desk.people.team(user.team)?.name ?? null) },
    login: login && loginOf(login, desk),
    actions: Object.fromEntries(
      ACTION_NAMES.flatMap((action) => {
        const reach = reachOf(role, action);
        return reach === null ? [] : [[action, reach]];
      }),
    ),
  };
}

/** Returns a login with the names of its user and its key. */
export const loginOf = (login: Login, { people, keys }: Pick<LoginDesk, 'keys' | 'people'>) => ({
  ...login,
  userName: (login.user === null ? null : people.user(login.user)?.name) ?? null,
  keyName: (login.key === null ? null : keys.known(login.key)?.name) ?? null,
});
