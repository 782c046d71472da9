import type { Levels } from '../../access/levels.ts';
import type { PresentLogin, SignIn } from '../../access/sign-in/sign-in.ts';
import { refuse, SignalboxError } from '../../core/errors.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { cookieIn, LOGIN_COOKIE } from './cookies.ts';
import { checkOrigin, type Site, siteOf } from './site.ts';

/** Checks login cookies on routes that accept them. */
export interface LoginDoor {
  /** Whether the console is on. */
  isOn(): boolean;
  /**
   * The site of a request to the console.
   * @throws SignalboxError `not_found` if sign-in is off, `wrong_host`
   */
  siteOf(request: Request): Site;
  /**
   * Refuses a request that was not sent by a page of the console.
   * @throws SignalboxError `not_found` if the console is off, `wrong_host`, `wrong_origin`
   */
  checkOwnPage(request: Request): void;
  /**
   * Returns the caller of the login cookie in a request.
   * @param hasKey whether the request also has an API key
   * @returns null without a login cookie, `ended` if its login does not exist; a promise if the issuer must confirm the login first
   * @throws SignalboxError for a wrong host or origin, and for a request that also has a key
   */
  admit(request: Request, hasKey: boolean): Caller | 'ended' | null | Promise<Caller | 'ended'>;
  /** The login of a request to the console, where a login is optional; null if there is none. */
  presentIn(request: Request): Promise<PresentLogin | null>;
  /** The login with which a request was admitted; null if there is none. */
  loginOf(request: Request): PresentLogin | null;
}

type DoorPolicy = Pick<PolicySnapshot, 'publicUrl' | 'console' | 'signIn'>;

/** @param levels adds the terms of their levels to callers; absent if the policy has no levels */
export function loginDoor(signIn: SignIn, policy: () => DoorPolicy, levels?: Pick<Levels, 'of'>): LoginDoor {
  const borne = new WeakMap<Request, PresentLogin>();
  const take = (request: Request, value: string): PresentLogin | null => {
    const found = signIn.of(value);
    if (!found) return null;
    const present = found.user || !levels ? found : { ...found, caller: levels.of(found.caller) };
    borne.set(request, present);
    return present;
  };
  return {
    isOn: () => policy().console.enabled,
    siteOf(request) {
      const { publicUrl } = policy();
      if (takesLogins(policy())) return siteOf(request, publicUrl);
      throw new SignalboxError(
        'not_found',
        'The policy switches the console off, and has no section `sign_in`. Signing in is not possible.',
      );
    },
    checkOwnPage(request) {
      const site = this.siteOf(request);
      if (!policy().console.enabled) throw new SignalboxError('not_found', 'The policy switches the console off.');
      checkOrigin(request, site);
    },
    admit(request, hasKey) {
      const { publicUrl } = policy();
      const value = takesLogins(policy()) ? cookieIn(request.headers, LOGIN_COOKIE) : null;
      if (value === null) return null;
      const site = siteOf(request, publicUrl);
      if (hasKey) {
        const message = 'The request has both an API key and a login cookie. Send only one of them.';
        refuse('Cookie', message);
      }
      checkOrigin(request, site);
      const present = take(request, value);
      if (!present) return 'ended';
      const renewal = signIn.renewal(value, present);
      return renewal ? renewal.then(() => take(request, value)?.caller ?? 'ended') : present.caller;
    },
    async presentIn(request) {
      const value = cookieIn(request.headers, LOGIN_COOKIE);
      const present = value === null ? null : signIn.of(value);
      if (value === null || !present) return null;
      await signIn.renewal(value, present);
      return take(request, value);
    },
    loginOf: (request) => borne.get(request) ?? null,
  };
}

const takesLogins = ({ console, signIn }: DoorPolicy): boolean => console.enabled || signIn !== null;

/** The error for a request whose login has ended. */
export const notSignedIn = (): SignalboxError =>
  new SignalboxError('not_signed_in', 'The login has ended. Sign in again at /console.');
