import type { PresentLogin, SignIn } from '../../access/sign-in/sign-in.ts';
import type { Caller } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { cookieIn, LOGIN_COOKIE } from './cookies.ts';
import { checkOrigin, type Site, siteOf } from './site.ts';

/** A login of a request, and the value of its cookie. */
interface BorneLogin {
  readonly value: string;
  readonly present: PresentLogin;
}

/** Judges the cookies of logins, where a route takes them. */
export class LoginDoor {
  readonly #signIn: SignIn;
  readonly #policy: () => Pick<PolicySnapshot, 'publicUrl' | 'signIn'>;
  readonly #borne = new WeakMap<Request, BorneLogin>();

  constructor(signIn: SignIn, policy: () => Pick<PolicySnapshot, 'publicUrl' | 'signIn'>) {
    this.#signIn = signIn;
    this.#policy = policy;
  }

  /** The site of a request to the console. @throws SignalboxError `not_found` where nobody signs in, `wrong_host` */
  siteOf(request: Request): Site {
    const { signIn, publicUrl } = this.#policy();
    if (!signIn) throw new SignalboxError('not_found', 'Nobody signs in here: the policy has no section `sign_in`.');
    return siteOf(request, publicUrl);
  }

  /**
   * The caller of the login that a request bears.
   * @param hasKey whether it has an API key, too
   * @returns null without the cookie of a login, `ended` for that of no login
   * @throws SignalboxError for another host or origin, and for a key beside it
   */
  admit(request: Request, hasKey: boolean): Caller | 'ended' | null {
    const { signIn, publicUrl } = this.#policy();
    const value = signIn && cookieIn(request.headers, LOGIN_COOKIE);
    if (value === null) return null;
    const site = siteOf(request, publicUrl);
    if (hasKey) {
      const message = 'The request has both an API key and the cookie of a login. Send one of them.';
      throw new SignalboxError('invalid_value', message, { param: 'Cookie' });
    }
    checkOrigin(request, site);
    const present = this.#signIn.of(value);
    if (!present) return 'ended';
    this.#borne.set(request, { value, present });
    return present.caller;
  }

  /** The login of a request to the console, which needs none; null for none. */
  presentIn(request: Request): PresentLogin | null {
    const value = cookieIn(request.headers, LOGIN_COOKIE);
    const present = value === null ? null : this.#signIn.of(value);
    if (value !== null && present) this.#borne.set(request, { value, present });
    return present;
  }

  /** The login of a request that was admitted by one. */
  loginOf(request: Request): PresentLogin | null {
    return this.#borne.get(request)?.present ?? null;
  }

  /**
   * Has the claims of the request's login stated again where they are old.
   * @returns null where nothing is to be done; else the login, or null where it has ended
   */
  confirm(request: Request): Promise<PresentLogin | null> | null {
    const borne = this.#borne.get(request);
    const renewal = borne && this.#signIn.renewal(borne.value, borne.present);
    if (!renewal) return null;
    return renewal.then(() => {
      const present = this.#signIn.of(borne.value);
      if (present) this.#borne.set(request, { ...borne, present });
      else this.#borne.delete(request);
      return present;
    });
  }
}

/** The error of a request whose login has ended. */
export const notSignedIn = (): SignalboxError =>
  new SignalboxError('not_signed_in', 'The login has ended. Sign in again at /console/sign-in.');
