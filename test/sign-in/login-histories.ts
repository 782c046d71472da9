import fc from 'fast-check';
import { ResponseBodyError } from 'openid-client';
import { type Identity, IssuerAway } from '../../src/access/sign-in/issuer.ts';

/** Random histories of logins, and a model that knows whom each cookie admits. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const START = Date.UTC(2026, 10, 20, 9);

/** Cay’s issuer gives no refresh token. */
const SUBS = ['ada', 'bob', 'cay'] as const;
export type Sub = (typeof SUBS)[number];
const GROUPS = ['platform', 'staff', 'guests'] as const;
type Group = (typeof GROUPS)[number];
export const ROLES = { platform: 'admin', staff: 'member', guests: null } as const;

export type Step =
  | { readonly do: 'sign in'; readonly sub: Sub; readonly at: 0 | 1; readonly over: number }
  | { readonly do: 'use' | 'sign out'; readonly login: number; readonly at: 0 | 1 }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'group'; readonly sub: Sub; readonly group: Group }
  | { readonly do: 'revoke' | 'suspend' | 'resume' | 'delete'; readonly sub: Sub; readonly at: 0 | 1 }
  | { readonly do: 'issuer' | 'policy' };

const at = fc.constantFrom(0, 1);
const sub = fc.constantFrom(...SUBS);
/** The number of a login, counted from the first, or backwards from the last. */
const login = fc.integer({ min: -2, max: 3 });
const wait = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.constantFrom(10_000, 11 * MINUTE, HOUR, 7 * HOUR, 11.5 * HOUR, 12 * HOUR, 70 * HOUR),
});
const use = fc.record({ do: fc.constant('use' as const), login, at });
const signIn = fc.record({ do: fc.constant('sign in' as const), sub, at, over: login });
const signOut = fc.record({ do: fc.constant('sign out' as const), login, at });
const group = fc.record({ do: fc.constant('group' as const), sub, group: fc.constantFrom(...GROUPS) });
const change = fc.record({ do: fc.constantFrom('revoke' as const, 'suspend', 'resume', 'resume', 'delete'), sub, at });
const turn = fc.record({ do: fc.constantFrom('issuer' as const, 'policy') });

const single: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: signIn },
  { weight: 8, arbitrary: use },
  { weight: 5, arbitrary: wait },
  { weight: 2, arbitrary: signOut },
  { weight: 2, arbitrary: group },
  { weight: 3, arbitrary: change },
  { weight: 2, arbitrary: turn },
);
/** A person signs in, something happens to that person or to everyone, and the cookie is used, before or after the claims are too old. */
const turned = fc
  .tuple(signIn, fc.oneof(group, change, turn, signOut), fc.constantFrom(MINUTE, HOUR, 11 * HOUR), at)
  .map(([first, then, ms, place]): Step[] => [
    first,
    'sub' in then ? { ...then, sub: first.sub } : then,
    { do: 'wait', ms },
    { do: 'use', login: -1, at: place },
  ]);
/** Long lives need many uses in a row, which random steps would rarely contain. */
const life = fc.tuple(signIn, fc.integer({ min: 12, max: 16 })).map(([first, uses]): Step[] => [
  first,
  ...Array.from({ length: uses }, (): Step[] => [
    { do: 'wait', ms: 11.5 * HOUR },
    { do: 'use', login: -1, at: 1 },
  ]).flat(),
]);
export const history = fc
  .array(
    fc.oneof(
      { weight: 12, arbitrary: single.map((one) => [one]) },
      { weight: 4, arbitrary: turned },
      { weight: 1, arbitrary: life },
    ),
    { minLength: 4, maxLength: 20 },
  )
  .map((parts) => parts.flat());

/** The issuer's current state. The issuer accepts each refresh token once. */
export class Stated {
  isAway = false;
  readonly groups = new Map<Sub, Group>(SUBS.map((one) => [one, 'staff']));
  readonly #tokens = new Map<string, Sub>();
  #made = 0;

  identity(who: Sub): Identity {
    this.check();
    const refreshToken = who === 'cay' ? null : `token-${this.#made++}`;
    if (refreshToken !== null) this.#tokens.set(refreshToken, who);
    return { sub: who, claims: { groups: [this.groups.get(who)] }, refreshToken };
  }

  again(token: string): Identity {
    this.check();
    const who = this.#tokens.get(token);
    if (who === undefined || !this.#tokens.delete(token))
      throw refusal(this.#made % 2 === 0 ? 'invalid_grant' : 'interaction_required');
    return this.identity(who);
  }

  check(): void {
    if (this.isAway) throw new IssuerAway('away');
  }

  revoke(who: Sub): void {
    for (const [token, one] of this.#tokens) if (one === who) this.#tokens.delete(token);
  }
}

export const refusal = (error = 'invalid_grant') =>
  new ResponseBodyError('refused', {
    cause: { error },
    response: new Response(null, { status: 400 }),
  });

/** What the model knows of a cookie. */
export interface ModelLogin {
  readonly value: string;
  readonly sub: Sub;
  readonly user: string;
  readonly createdAt: number;
  usedAt: number;
  confirmedAt: number;
  /** The end of the half minute after a failed renewal. */
  pausedUntil: number;
  hasEnded: boolean;
  /** Whether the issuer still accepts its refresh token. */
  isRenewable: boolean;
}

interface ModelUser {
  readonly id: string;
  role: 'admin' | 'member';
  isSuspended: boolean;
}

const IDLE = 12 * HOUR;
const WHOLE = 7 * 24 * HOUR;
/** The precision with which the time of a use is stored. */
const GRAIN = 10 * MINUTE;

export class Model {
  readonly logins: ModelLogin[] = [];
  readonly users = new Map<Sub, ModelUser>();
  isOff = false;
  readonly #clock: { readonly now: number };
  readonly #stated: Stated;

  constructor(clock: { readonly now: number }, stated: Stated) {
    this.#clock = clock;
    this.#stated = stated;
  }

  lives({ hasEnded, createdAt, usedAt }: ModelLogin): boolean {
    const { now } = this.#clock;
    return !hasEnded && now < createdAt + WHOLE && now < usedAt + IDLE;
  }

  /** The role that a cookie has now; null if it does not admit. The function also records the consequences of the request. */
  use(login: ModelLogin): string | null {
    const { now } = this.#clock;
    if (!this.lives(login)) return null;
    if (now - login.usedAt >= GRAIN) login.usedAt = now;
    // A request that is refused because of the person still counts as a use of the cookie.
    if (this.isOff || !this.#served(login)) return null;
    if (now - login.confirmedAt >= HOUR && now >= login.pausedUntil) this.#renew(login);
    return login.hasEnded ? null : (this.#served(login)?.role ?? null);
  }

  /** The user of a login, if the user may be served. */
  #served({ sub: who, user }: ModelLogin): ModelUser | null {
    const found = this.users.get(who);
    return found?.id === user && !found.isSuspended ? found : null;
  }

  #renew(login: ModelLogin): void {
    const { now } = this.#clock;
    if (this.#stated.isAway) {
      login.pausedUntil = now + 30_000;
      return;
    }
    const role = ROLES[this.#stated.groups.get(login.sub)!];
    if (role === null || !login.isRenewable) {
      login.hasEnded = true;
      return;
    }
    login.confirmedAt = now;
    this.users.get(login.sub)!.role = role;
  }
}
