import { lazy } from '../../core/lazy.ts';
import { type Caller, roleOf } from '../../core/people/caller.ts';
import type { Claims } from '../../core/people/token-issuer.ts';
import { rowFor, type SignInPolicy } from '../../core/policy/sign-in.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { Login } from '../../store/logins.ts';
import type { User } from '../../store/people.ts';
import { type Actor, SERVER } from '../../store/trail.ts';
import { checkAge } from '../../store/unwritten.ts';
import type { Authentication } from '../key-entry.ts';
import type { Keys } from '../keys.ts';
import type { LoginDraft, Logins } from '../logins.ts';
import type { People, SignedPerson } from '../people.ts';
import { PeopleError } from '../people-terms.ts';
import { KeyTermsError } from '../terms.ts';
import type { Identity, IssuerClient } from './issuer.ts';
import { newTransaction, transactionOf } from './transaction.ts';

/**
 * Why a sign-in fails. `off`: the policy has no sign-in. `away`: the issuer does not answer. `stale`: the answer belongs to no sign-in of
 * this browser. `refused`: the answer does not match, or the issuer refuses. `nobody`: the person has no role, or is suspended.
 */
export type SignInFault = 'off' | 'away' | 'stale' | 'refused' | 'nobody';

/** The message is for the person at the browser. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly fault: SignInFault;

  constructor(fault: SignInFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

export interface SignInOptions {
  /** Returns the active policy. */
  policy(): Pick<PolicySnapshot, 'signIn' | 'console'>;
  /** Reads an environment variable. `NAME_FILE` may replace `NAME`. */
  env(name: string): string | undefined;
  readonly logins: Logins;
  readonly keys: Pick<Keys, 'authenticate' | 'authenticateBy' | 'find'>;
  readonly people: Pick<People, 'user' | 'userOf' | 'teamNamed' | 'putUser' | 'ageMs'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** The browser that signs in. */
export interface SignInBrowser {
  /** The user agent of the browser. */
  readonly agent: string;
  readonly address: string | null;
  /** The cookie value of the browser's previous login; null for none. */
  readonly loginBefore: string | null;
  readonly requestId: string;
}

/** A browser that returns from the issuer. */
interface ReturningBrowser extends SignInBrowser {
  /** The URL of the page to which the issuer sent the browser. */
  readonly redirectUri: string;
}

/** The login that a request uses. */
export interface PresentLogin {
  readonly login: Login;
  /** Null for the login of a key. */
  readonly user: User | null;
  readonly caller: Caller;
}

/**
 * Signs people in at the issuer of the policy. The logins of people last as long as the policy gives them a role. Keys can sign in by
 * themselves if the console is on. The logins of keys last as long as the key works and has a suitable scope. State: renewals.
 */
export class SignIn {
  readonly #options: SignInOptions;
  /** Loads the OpenID Connect library, which most servers never need. */
  readonly #protocol: () => Promise<Protocol>;
  /** Each row of a user has one caller object, because limits identify a caller by its object. */
  readonly #callers = new WeakMap<User, Caller>();
  /** Running renewals, by ID of the login. */
  readonly #renewals = new Map<string, Promise<void>>();

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#protocol = lazy(() => openProtocol(options.now));
  }

  /** The issuer of the active policy; null if people cannot sign in. */
  get issuer(): string | null {
    return this.#options.policy().signIn?.issuer ?? null;
  }

  /**
   * Begins a sign-in.
   * @returns the URL for the browser, and the cookie that identifies the browser when it returns
   * @throws SignInError
   */
  async begin(redirectUri: string, returnTo: string): Promise<{ readonly url: URL; readonly value: string }> {
    const client = this.#client();
    const value = newTransaction(returnTo, this.#options.now());
    const transaction = transactionOf(value, this.#options.now());
    if (!transaction) throw new SignInError('stale', 'The address to return to after the sign-in is too long.');
    const protocol = await this.#protocol();
    try {
      return { url: await protocol.issuer.authorizationUrl(client, redirectUri, transaction), value };
    } catch (cause) {
      throw this.#failed(cause, client, protocol);
    }
  }

  /**
   * Completes a sign-in with the answer of the issuer. The person gets a new login, even if the browser already had one.
   * @param query of the URL to which the issuer sent the browser
   * @param value of the cookie from `begin`; null for none
   * @returns the value of the login's cookie, and the path that the person wanted to see
   * @throws SignInError
   */
  async finish(query: string, value: string | null, browser: ReturningBrowser) {
    const client = this.#client();
    const transaction = value === null ? null : transactionOf(value, this.#options.now());
    if (!transaction) {
      throw new SignInError('stale', 'This sign-in has expired, or was started in another browser. Sign in again.');
    }
    const url = new URL(browser.redirectUri);
    url.search = query;
    const protocol = await this.#protocol();
    const identity = await protocol.issuer.identityBy(client, url, transaction).catch((cause) => {
      throw this.#failed(cause, client, protocol);
    });
    const user = await this.#member(identity);
    const holder = { user: user.id, key: null, keyHash: null, refreshToken: identity.refreshToken };
    return { ...(await this.#begin(holder, browser)), returnTo: transaction.returnTo };
  }

  /**
   * Signs in with a key that may see anything in the console: a key with the scope `admin` or `report`.
   * @returns the value of the login's cookie; null for any other text
   */
  async byKey(text: string, browser: SignInBrowser): Promise<string | null> {
    const { keys } = this.#options;
    const found = keys.find(text);
    if (!found || !this.#callerBy(keys.authenticate(`Bearer ${text}`))) return null;
    const holder = { user: null, key: found.id, keyHash: found.hash, refreshToken: null };
    return (await this.#begin(holder, browser)).value;
  }

  /** Begins a login, and ends the browser's previous login. */
  async #begin(
    holder: Omit<LoginDraft, 'browser' | 'from'>,
    { agent, address, loginBefore, requestId }: SignInBrowser,
  ) {
    const { logins } = this.#options;
    const by = actorOf(holder, { requestId, from: address });
    const before = loginBefore === null ? null : logins.of(loginBefore);
    if (before) await logins.end(before, by, 'signed in again');
    return logins.begin({ ...holder, browser: agent, from: address }, by);
  }

  /**
   * Ends the login of a cookie, even while its user or key is suspended. If the login of a suspended user or key did not end, a copy of the
   * cookie would work again after a resume. Rejects with StoreError.
   */
  async signOut(value: string, { address, requestId }: Pick<SignInBrowser, 'address' | 'requestId'>): Promise<void> {
    const { logins } = this.#options;
    const login = logins.of(value);
    if (login) await logins.end(login, actorOf(login, { requestId, from: address }));
  }

  /**
   * Returns the login of a cookie. The claims of the login may be outdated. Returns null if the login has ended, or if its user or key may
   * no longer be served.
   */
  of(value: string): PresentLogin | null {
    const { logins, people } = this.#options;
    checkAge(Math.max(logins.ageMs, people.ageMs), 'logins');
    const login = logins.of(value);
    if (!login) return null;
    return login.user === null ? this.#ofKey(login) : this.#ofUser(login, login.user);
  }

  #ofKey(login: Login): PresentLogin | null {
    const { keys, policy } = this.#options;
    const { key, keyHash } = login;
    if (key === null || keyHash === null || !policy().console.enabled) return null;
    const caller = this.#callerBy(keys.authenticateBy(key, keyHash));
    return caller && { login, user: null, caller };
  }

  /** @throws SignalboxError if the keys cannot be read */
  #callerBy({ caller, ageMs }: Authentication): Caller | null {
    checkAge(ageMs, 'API keys');
    return caller && roleOf(caller) !== 'caller' ? caller : null;
  }

  #ofUser(login: Login, id: string): PresentLogin | null {
    const user = this.#options.people.user(id);
    if (!user || user.suspendedAt !== null || user.removedAt !== null || user.issuer !== this.issuer) return null;
    return { login, user, caller: this.#callerOf(user) };
  }

  /**
   * Lets the issuer confirm outdated claims.
   * @returns null if the claims are recent, or if the issuer is unavailable, in which case the login continues
   */
  renewal(value: string, { login, user }: PresentLogin): Promise<void> | null {
    if (!user || !this.#options.logins.isDue(login)) return null;
    const known = this.#renewals.get(login.id);
    if (known) return known;
    const renewal = this.#renew(value, login, user).finally(() => this.#renewals.delete(login.id));
    this.#renewals.set(login.id, renewal);
    return renewal;
  }

  async #renew(value: string, login: Login, { issuer, sub }: User): Promise<void> {
    const { logins, log } = this.#options;
    if (issuer === null || sub === null || !(await logins.claim(login))) return;
    const protocol = await this.#protocol();
    try {
      const client = this.#client();
      const token = await logins.tokenOf(login, value);
      if (token === null) {
        // Without a refresh token the person must sign in again, which is possible only if the issuer answers.
        await protocol.issuer.check(client);
        await logins.end(login, SERVER, 'needs a new sign-in');
        return;
      }
      const identity = await protocol.issuer.identityAgain(client, token, sub);
      await this.#member(identity);
      await logins.confirm(login, value, identity.refreshToken);
    } catch (cause) {
      const isNobody = cause instanceof SignInError && cause.fault === 'nobody';
      if (isNobody || protocol.isRefusal(cause))
        await logins.end(login, SERVER, isNobody ? 'has no role' : 'refused by the issuer');
      else
        log.warn('the issuer could not confirm a login, so the login stays valid', {
          login: login.id,
          error: protocol.faultText(cause),
        });
    }
  }

  #callerOf(user: User): Caller {
    const known = this.#callers.get(user);
    if (known) return known;
    const { id, role, team } = user;
    const terms = { labels: {}, models: null, limits: null, budgets: [] };
    const caller: Caller = { keyId: id, scopes: NO_SCOPES, ...terms, role, user: id, ...(team !== null && { team }) };
    this.#callers.set(user, caller);
    return caller;
  }

  /** Returns the user of an identity, with the role and team that its claims give. @throws SignInError for a person who may not sign in */
  async #member({ sub, claims }: Identity): Promise<User> {
    const { people, log } = this.#options;
    const policy = this.#policy();
    const present = people.userOf(policy.issuer, sub);
    const row = rowFor(policy, claims);
    if (present?.suspendedAt != null) throw this.#nobody(sub, 'the user is suspended', 'Your account is suspended.');
    const isOwner = present?.role === 'owner';
    if (!row && !isOwner) {
      log.info('no role matches the claims of a person', { sub, claims: Object.keys(claims).sort().join(' ') });
      throw this.#nobody(sub, 'no row of sign_in.roles matches', 'You have no role on this gateway.');
    }
    const team = row?.team == null ? null : people.teamNamed(row.team);
    if (row?.team != null && !team) {
      throw this.#nobody(
        sub,
        `there is no team ${row.team}`,
        `Your team, “${row.team}”, does not exist on this gateway.`,
      );
    }
    // An owner stays an owner, whatever the claims say. Only an owner or an admin key can change the role of an owner.
    const role = isOwner ? 'owner' : row?.role;
    const namesTeams = policy.roles.some((one) => one.team !== null);
    const person: SignedPerson = {
      issuer: policy.issuer,
      sub,
      ...shownOf(claims, sub),
      ...(role && { role }),
      ...(namesTeams && { team: team?.id ?? null }),
    };
    return people.putUser(person).catch((cause) => {
      const isOfTerms = cause instanceof KeyTermsError || cause instanceof PeopleError;
      throw isOfTerms ? this.#nobody(sub, cause.message, 'Your account cannot become a user of this gateway.') : cause;
    });
  }

  #nobody(sub: string, reason: string, message: string): SignInError {
    this.#options.log.warn('a person was refused at sign-in', { issuer: this.issuer, sub, reason });
    return new SignInError(
      'nobody',
      `${message} Contact the operator of this gateway. You are “${sub}” at ${this.issuer}.`,
    );
  }

  #policy(): SignInPolicy {
    const { signIn } = this.#options.policy();
    if (!signIn)
      throw new SignInError('off', 'People cannot sign in to this gateway, because its policy has no sign-in.');
    return signIn;
  }

  #client(): IssuerClient {
    const { clientSecretEnv, ...policy } = this.#policy();
    const secret = clientSecretEnv === null ? null : this.#options.env(clientSecretEnv)?.trim() || undefined;
    if (secret !== undefined) return { ...policy, secret };
    this.#options.log.warn('sign-in is not possible: the variable with the client secret is not set', {
      variable: clientSecretEnv,
    });
    throw new SignInError('away', 'Sign-in is not completely set up. The log of the gateway says what is missing.');
  }

  /** Returns an error for the person. The reason is only in the log. */
  #failed(cause: unknown, { issuer }: IssuerClient, { IssuerAway, faultText }: Protocol): SignInError {
    const isAway = cause instanceof IssuerAway;
    this.#options.log.warn(isAway ? 'the issuer of sign-in cannot be reached' : 'a sign-in was refused', {
      issuer,
      error: faultText(cause),
    });
    return isAway
      ? new SignInError(
          'away',
          `${new URL(issuer).host} does not answer. Try again in a minute. People who are already signed in stay signed in.`,
        )
      : new SignInError(
          'refused',
          'The answer of the issuer was refused. Sign in again. If the problem persists, see the log of the gateway.',
        );
  }
}

/** The part that sends requests to the issuer and explains its failures. */
type Protocol = Awaited<ReturnType<typeof openProtocol>>;

async function openProtocol(now: () => number) {
  const { Issuer, ...more } = await import('./issuer.ts');
  return { ...more, issuer: new Issuer(now) };
}

/** The holder of a login, as the audit trail names it. */
const actorOf = (
  { user, key }: Pick<Login, 'user' | 'key'>,
  more: { readonly requestId: string; readonly from: string | null },
): Actor => (user === null ? { kind: 'key', name: key ?? '', ...more } : { kind: 'user', name: user, ...more });

const NO_SCOPES: Caller['scopes'] = new Set();

/** How many characters of a name or address are stored. */
const SHOWN_MAX = 128;

/** The name and address to show for a person. The name and address do not identify the person. */
function shownOf({ name, preferred_username: username, email }: Claims, sub: string) {
  const [shown = ''] = [name, username, email, sub].map(shownText).filter(Boolean);
  return { name: shown, email: shownText(email) || null };
}

/** Returns a text on one line, or an empty text for values that are not texts. */
const shownText = (value: unknown): string =>
  typeof value === 'string'
    ? value
        .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
        .slice(0, SHOWN_MAX)
        .trim()
    : '';
