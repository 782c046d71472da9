import type { Logins } from '../access/logins.ts';
import type { People } from '../access/people.ts';
import type { PresentLogin } from '../access/sign-in/sign-in.ts';
import { roleOf } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
import type { Login } from '../store/logins.ts';
import type { User } from '../store/people.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** Logins, with those who have them. */
export interface LoginDesk {
  readonly logins: Pick<Logins, 'list' | 'end'>;
  readonly people: Pick<People, 'user' | 'team'>;
}

export interface LoginQuery {
  /** ID of a user; null for all. */
  readonly user: string | null;
  /** ID of the last login of the page before; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** Logins of a page, as it is asked for. */
export const LOGINS_LIMIT = 100;
export const LOGINS_LIMIT_MAX = 1_000;

/** Lists the logins that have not ended and that the principal may see, the newest first. */
export function listLogins({ caller }: Principal, { logins, people }: LoginDesk, { user, after, limit }: LoginQuery) {
  const reach = checkAction(caller, 'logins.read');
  const all = logins.list().filter((login) => reach === 'all' || login.user === caller.user);
  const wanted = user === null ? all : all.filter((login) => login.user === user);
  const rest = after === null ? wanted : wanted.slice(wanted.findIndex(({ id }) => id === after) + 1);
  const data = rest.slice(0, limit).map((login) => loginBody(login, people.user(login.user)));
  return { object: 'list' as const, data, has_more: rest.length > limit };
}

/**
 * Ends a login.
 * @returns its body, or null where there is none that the principal may end. Rejects with StoreError.
 */
export async function endLogin({ caller, actor }: Principal, { logins, people }: LoginDesk, id: string) {
  const reach = checkAction(caller, 'logins.end');
  const login = logins.list().find((one) => one.id === id && (reach === 'all' || one.user === caller.user));
  const isEnded = login !== undefined && (await logins.end(login, actor));
  return isEnded ? loginBody(login, people.user(login.user)) : null;
}

/** Who asks, as the server sees it. @param present its login; null for a key */
export function meBody({ caller }: Principal, present: PresentLogin | null, people: Pick<People, 'team'>) {
  checkAction(caller, 'me.read');
  return {
    object: 'me' as const,
    role: roleOf(caller),
    key_id: present ? null : caller.keyId,
    user: present && personBody(present.user, people),
    login: present && loginBody(present.login, present.user),
  };
}

const personBody = ({ id, issuer, sub, name, email, team }: User, people: Pick<People, 'team'>) => ({
  ...{ id, issuer, sub, name, email },
  team_id: team,
  team: team === null ? null : (people.team(team)?.name ?? null),
});

const loginBody = (login: Login, user: Pick<User, 'name'> | null) => ({
  id: login.id,
  object: 'login' as const,
  user_id: login.user,
  user_name: user?.name ?? null,
  browser: login.browser,
  from: login.from,
  created_at: iso(login.createdAt),
  last_used_at: iso(login.usedAt),
  confirmed_at: iso(login.confirmedAt),
  expires_at: iso(login.expiresAt),
});
