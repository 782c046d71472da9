import type { Keys } from '../access/keys.ts';
import type { Logins } from '../access/logins.ts';
import type { People } from '../access/people.ts';
import type { PresentLogin } from '../access/sign-in/sign-in.ts';
import { roleOf } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Login } from '../store/logins.ts';
import type { User } from '../store/people.ts';
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
    throw new SignalboxError('invalid_value', message, { param: 'after' });
  }
  const { data, hasMore } = pageOfList(wanted.slice(start), limit, (login) => loginBody(login, desk));
  return { object: 'list' as const, data, has_more: hasMore };
}

/**
 * Ends a login.
 * @returns its body, or null where there is none that the principal may end. Rejects with StoreError.
 */
export async function endLogin({ caller, actor }: Principal, desk: LoginDesk, id: string) {
  const reach = checkAction(caller, 'logins.end');
  const login = desk.logins.list().find((one) => one.id === id && (reach === 'all' || holderOf(one) === caller.keyId));
  const isEnded = login !== undefined && (await desk.logins.end(login, actor));
  return isEnded ? loginBody(login, desk) : null;
}

/** The ID of the user or the key that a login belongs to: its caller's. */
const holderOf = ({ user, key }: Login): string | null => user ?? key;

/** Whether its user was not removed, or its key has not ended. Those that are suspended come back. */
function hasHolder({ user, key, keyHash }: Login, { people, keys }: LoginDesk): boolean {
  if (user !== null) return people.user(user)?.removedAt === null;
  return key !== null && keyHash !== null && keys.lives(key, keyHash);
}

/** Who asks, as the server sees it, and all that it may do. @param present its login; null for none */
export function meBody({ caller }: Principal, present: PresentLogin | null, desk: Pick<LoginDesk, 'keys' | 'people'>) {
  checkAction(caller, 'me.read');
  const role = roleOf(caller);
  const user = present?.user ?? null;
  return {
    object: 'me' as const,
    role,
    name: user?.name ?? desk.keys.known(caller.keyId)?.name ?? null,
    key_id: user ? null : caller.keyId,
    user: user && personBody(user, desk.people),
    login: present && loginBody(present.login, desk),
    actions: Object.fromEntries(
      ACTION_NAMES.flatMap((action) => {
        const reach = reachOf(role, action);
        return reach === null ? [] : [[action, reach]];
      }),
    ),
  };
}

const personBody = ({ id, issuer, sub, name, email, team }: User, people: Pick<People, 'team'>) => ({
  ...{ id, issuer, sub, name, email },
  team_id: team,
  team: team === null ? null : (people.team(team)?.name ?? null),
});

const loginBody = (login: Login, { people, keys }: Pick<LoginDesk, 'keys' | 'people'>) => ({
  id: login.id,
  object: 'login' as const,
  user_id: login.user,
  user_name: (login.user === null ? null : people.user(login.user)?.name) ?? null,
  key_id: login.key,
  key_name: (login.key === null ? null : keys.known(login.key)?.name) ?? null,
  browser: login.browser,
  from: login.from,
  created_at: iso(login.createdAt),
  last_used_at: iso(login.usedAt),
  confirmed_at: iso(login.confirmedAt),
  expires_at: iso(login.expiresAt),
});
