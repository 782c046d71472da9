import { type Caller, roleOf } from '../../core/caller.ts';
import { lazy } from '../../core/lazy.ts';
import { rowFor, type SignInPolicy } from '../../core/sign-in-policy.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Claims } from '../../core/token-issuer.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { Login } from '../../store/logins.ts';
import type { User } from '../../store/people.ts';
import { type Actor, SERVER } from '../../store/trail.ts';
import { checkAge } from '../../store/unwritten.ts';
import { hashOf, parseKey } from '../key.ts';
import type { Authentication } from '../key-entry.ts';
import type { Keys } from '../keys.ts';
import type { LoginDraft, Logins } from '../logins.ts';
import type { People, SignedPerson } from '../people.ts';
import { PeopleError } from '../people-terms.ts';
import { KeyTermsError } from '../terms.ts';
import type { Identity, IssuerClient } from './issuer.ts';
import { newTransaction, transactionOf } from './transaction.ts';

/**
 * Why nobody is signed in. `off`: the policy has no sign-in. `away`: the issuer does not answer. `stale`: the answer belongs to no sign-in
 * of this browser. `refused`: the answer does not fit, or the issuer says no. `nobody`: the person has no role, or is suspended.
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
  /** The policy in force. */
  policy(): Pick<PolicySnapshot, 'signIn' | 'console'>;
  /** The environment, in which `NAME_FILE` may stand for `NAME`. */
  env(name: string): string | undefined;
  readonly logins: Logins;
  readonly keys: Pick<Keys, 'authenticate' | 'authenticateBy'>;
  readonly people: Pick<People, 'user' | 'userOf' | 'teamNamed' | 'putUser' | 'ageMs'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** The browser that signs in. */
export interface SignInBrowser {
  /** What it says of itself. */
  readonly agent: string;
  readonly address: string | null;
  /** The value of the cookie of its login before; null for none. */
  readonly loginBefore: string | null;
  readonly requestId: string;
}

/** A browser that the issuer has sent back. */
interface ReturningBrowser extends SignInBrowser {
  /** The address of the page to which the issuer has sent it. */
  readonly redirectUri: string;
}

/** A login that a request bears. */
export interface PresentLogin {
  readonly login: Login;
  /** Null for that of a key. */
  readonly user: User | null;
  readonly caller: Caller;
}

/**
 * People sign in at the issuer of the policy, and their logins last while it states a role for them; keys sign in by themselves where
 * the console is on, and their logins last while the key works and has a scope for it. State: renewals.
 */
export class SignIn {
  readonly #options: SignInOptions;
  /** With the library of OpenID Connect, which most servers never need. */
  readonly #protocol: () => Promise<Protocol>;
  /** Of each row of a user: limits know their caller by the object. */
  readonly #callers = new WeakMap<User, Caller>();
  /** Renewals under way, by the login's ID. */
  readonly #renewals = new Map<string, Promise<void>>();

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#protocol = lazy(() => openProtocol(options.now));
  }

  /** The issuer of the policy in force; null where nobody signs in. */
  get issuer(): string | null {
    return this.#options.policy().signIn?.issuer ?? null;
  }

  /**
   * Begins a sign-in.
   * @returns where the browser goes, and the cookie by which it is known when it comes back
   * @throws SignInError
   */
  async begin(redirectUri: string, returnTo: string): Promise<{ readonly url: URL; readonly value: string }> {
    const client = this.#client();
    const value = newTransaction(returnTo, this.#options.now());
    const transaction = transactionOf(value, this.#options.now());
    if (!transaction) throw new SignInError('stale', 'This address is too long to return to.');
    const protocol = await this.#protocol();
    try {
      return { url: await protocol.issuer.authorizationUrl(client, redirectUri, transaction), value };
    } catch (cause) {
      throw this.#failed(cause, client, protocol);
    }
  }

  /**
   * Ends a sign-in by the answer of the issuer: the person gets a login, new also where the browser had one.
   * @param query of the address to which the issuer has sent the browser
   * @param value of the cookie of `begin`; null for none
   * @returns the value of the cookie of the login, and the path that the person wanted to see
   * @throws SignInError
   */
  async finish(query: string, value: string | null, browser: ReturningBrowser) {
    const client = this.#client();
    const transaction = value === null ? null : transactionOf(value, this.#options.now());
    if (!transaction) {
      throw new SignInError('stale', 'This sign-in has ended, or began in another browser. Sign in again.');
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
   * Signs a key in that may see anything of the console: one with the scope `admin` or `report`.
   * @returns the value of the cookie of the login; null for any other text
   */
  async byKey(text: string, browser: SignInBrowser): Promise<string | null> {
    const parts = parseKey(text);
    if (!parts || !this.#callerBy(this.#options.keys.authenticate(`Bearer ${text}`))) return null;
    const holder = { user: null, key: parts.id, keyHash: hashOf(text), refreshToken: null };
    return (await this.#begin(holder, browser)).value;
  }

  /** Begins a login, and ends the one that the browser had before. */
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
   * Ends the login of a cookie, also while its user or key is not served: a copy of the cookie must not count once it is again.
   * Rejects with StoreError.
   */
  async signOut(value: string, { address, requestId }: Pick<SignInBrowser, 'address' | 'requestId'>): Promise<void> {
    const { logins } = this.#options;
    const login = logins.of(value);
    if (login) await logins.end(login, actorOf(login, { requestId, from: address }));
  }

  /** The login of a cookie, whose claims may be too old; null where it has ended, or its user or key is no longer served. */
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
    if (key === null || keyHash === null || !policy().console) return null;
    const caller = this.#callerBy(keys.authenticateBy(key, keyHash));
    return caller && { login, user: null, caller };
  }

  /** @throws SignalboxError where the keys cannot be read */
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
   * Has old claims stated again by the issuer.
   * @returns null where they need not be, or cannot be since the issuer is away: the login stays as it is
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
        // Without a refresh token the person signs in again, which needs an issuer that answers.
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
        log.warn('a login could not be confirmed at the issuer, and stays', {
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

  /** The person of an identity, with the role and team that its claims give. @throws SignInError for one that may not sign in */
  async #member({ sub, claims }: Identity): Promise<User> {
    const { people, log } = this.#options;
    const policy = this.#policy();
    const present = people.userOf(policy.issuer, sub);
    const row = rowFor(policy, claims);
    if (present?.suspendedAt != null) throw this.#nobody(sub, 'the user is suspended', 'Your account is suspended.');
    const isOwner = present?.role === 'owner';
    if (!row && !isOwner) {
      log.info('the claims of a person', { sub, claims: Object.keys(claims).sort().join(' ') });
      throw this.#nobody(sub, 'no row of sign_in.roles holds', 'You have no role here.');
    }
    const team = row?.team == null ? null : people.teamNamed(row.team);
    if (row?.team != null && !team) {
      throw this.#nobody(sub, `there is no team ${row.team}`, `Your team, “${row.team}”, does not exist here.`);
    }
    // An owner stays one, whatever the claims say: only an owner or an admin key changes that.
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
      throw isOfTerms ? this.#nobody(sub, cause.message, 'Your account cannot be a user here.') : cause;
    });
  }

  #nobody(sub: string, reason: string, message: string): SignInError {
    this.#options.log.warn('a person may not sign in', { issuer: this.issuer, sub, reason });
    return new SignInError('nobody', `${message} Ask who runs this gateway. You are “${sub}” at ${this.issuer}.`);
  }

  #policy(): SignInPolicy {
    const { signIn } = this.#options.policy();
    if (!signIn) throw new SignInError('off', 'This gateway has no sign-in.');
    return signIn;
  }

  #client(): IssuerClient {
    const { clientSecretEnv, ...policy } = this.#policy();
    const secret = clientSecretEnv === null ? null : this.#options.env(clientSecretEnv)?.trim() || undefined;
    if (secret !== undefined) return { ...policy, secret };
    this.#options.log.warn('nobody can sign in: the variable with the secret of the client is not set', {
      variable: clientSecretEnv,
    });
    throw new SignInError('away', 'Sign-in is not set up completely. The log of the gateway says what is missing.');
  }

  /** The error for the person; the log has the reason. */
  #failed(cause: unknown, { issuer }: IssuerClient, { IssuerAway, faultText }: Protocol): SignInError {
    const isAway = cause instanceof IssuerAway;
    this.#options.log.warn(isAway ? 'the issuer of sign-in is away' : 'a sign-in was refused', {
      issuer,
      error: faultText(cause),
    });
    return isAway
      ? new SignInError(
          'away',
          `${new URL(issuer).host} does not answer. Try again in a minute. People who are signed in stay so.`,
        )
      : new SignInError(
          'refused',
          'The answer of the issuer was refused. Sign in again. If it happens again, the log of the gateway says why.',
        );
  }
}

/** The part that asks the issuer, and explains its failures. */
type Protocol = Awaited<ReturnType<typeof openProtocol>>;

async function openProtocol(now: () => number) {
  const { Issuer, ...more } = await import('./issuer.ts');
  return { ...more, issuer: new Issuer(now) };
}

/** The holder of a login, as the trail names it. */
const actorOf = (
  { user, key }: Pick<Login, 'user' | 'key'>,
  more: { readonly requestId: string; readonly from: string | null },
): Actor => (user === null ? { kind: 'key', name: key ?? '', ...more } : { kind: 'user', name: user, ...more });

const NO_SCOPES: Caller['scopes'] = new Set();

/** Characters of a name or address that are kept. */
const SHOWN_MAX = 128;

/** What is shown of a person. It proves nothing. */
function shownOf({ name, preferred_username: username, email }: Claims, sub: string) {
  const [shown = ''] = [name, username, email, sub].map(shownText).filter(Boolean);
  return { name: shown, email: shownText(email) || null };
}

/** A text on one line; empty for another value. */
const shownText = (value: unknown): string =>
  typeof value === 'string'
    ? value
        .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
        .slice(0, SHOWN_MAX)
        .trim()
    : '';
