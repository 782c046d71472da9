import type { Keys } from '../../access/keys.ts';
import type { Logins } from '../../access/logins.ts';
import type { People } from '../../access/people.ts';
import { roleOf } from '../../core/caller.ts';
import { refuse } from '../../core/errors.ts';
import type { Login } from '../../store/logins.ts';
import { pageOfList } from './pages.ts';
import type { Principal } from './principal.ts';
import { ACTION_NAMES, checkAction, reachOf } from './roles.ts';

/** Logins, with those who have them. */
export interface LoginDesk {
  readonly logins: Pick<Logins, 'list' | 'end'>;
  readonly people: Pick<People, 'user' | 'team'>;
  readonly keys: Pick<Keys, 'known' | 'lives'>;
}

export interface LoginQuery {
  /** ID of a user, or of a key; null for all. */
  readonly user: string | null;
  /** ID of the last login of the page before; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** Logins of a page, as it is asked for. */
export const LOGINS_LIMIT = 100;
export const LOGINS_LIMIT_MAX = 1_000;

/** Lists the logins that have not ended, by themselves or with their user or key, and that the principal may see, the newest first. */
export function listLogins({ caller }: Principal, desk: LoginDesk, { user, after, limit }: LoginQuery) {
  const reach = checkAction(caller, 'logins.read');
  const isShown = (login: Login) => (reach === 'all' || holderOf(login) === caller.keyId) && hasHolder(login, desk);
  const all = desk.logins.list().filter(isShown);
  const wanted = user === null ? all : all.filter((login) => holderOf(login) === user);
  const start = after === null ? 0 : wanted.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) {
    const message = '`after` must be the ID of a login that has not ended. Read the list again.';
    refuse('after', message);
  }
  return pageOfList(wanted.slice(start), limit, (login) => loginOf(login, desk));
}

/**
 * Ends a login.
 * @returns the login, or null where there is none that the principal may end. Rejects with StoreError.
 */
export async function endLogin({ caller, actor }: Principal, desk: LoginDesk, id: string) {
  const reach = checkAction(caller, 'logins.end');
  const login = desk.logins.list().find((one) => one.id === id && (reach === 'all' || holderOf(one) === caller.keyId));
  const isEnded = login !== undefined && (await desk.logins.end(login, actor));
  return isEnded ? login : null;
}

/** The ID of the user or the key that a login belongs to: its caller's. */
const holderOf = ({ user, key }: Login): string | null => user ?? key;

/** Whether its user was not removed, or its key has not ended. Those that are suspended come back. */
function hasHolder({ user, key, keyHash }: Login, { people, keys }: LoginDesk): boolean {
  if (user !== null) return people.user(user)?.removedAt === null;
  return key !== null && keyHash !== null && keys.lives(key, keyHash);
}

/** Who asks, as the server sees it, and all that it may do. */
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

/** A login with the names of its user and its key. */
export const loginOf = (login: Login, { people, keys }: Pick<LoginDesk, 'keys' | 'people'>) => ({
  ...login,
  userName: (login.user === null ? null : people.user(login.user)?.name) ?? null,
  keyName: (login.key === null ? null : keys.known(login.key)?.name) ?? null,
});
