import { hash } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import type { Caller } from '../../core/people/caller.ts';
import type { Claims, TokenIssuer } from '../../core/people/token-issuer.ts';
import { messageOf, orElse } from '../../core/thrown.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { TokenSubject } from '../../store/subjects.ts';
import { ALGORITHMS, readToken, type TokenClaim } from './claims.ts';
import { IssuerKeyStore, type SigningKeys } from './issuer-keys.ts';
import { readKeys } from './read-keys.ts';
import type { TokenRefusal } from './refusal.ts';
import { subjectCaller } from './subject.ts';

/** The most tokens that are remembered. The oldest token is forgotten first, and must then be checked again. */
const TOKENS_MAX = 10_000;
/** The most issuers whose keys are kept, including issuers of earlier policies. */
const ISSUERS_MAX = 200;

/** The result of a check. `unavailable`: the keys of the issuer cannot be read; `waitMs` until the next try. */
export type TokenCheck =
  | { readonly caller: Caller }
  | { readonly refusal: TokenRefusal }
  | { readonly refusal: 'unavailable'; readonly waitMs: number };

/** The existing teams. */
export interface TeamDirectory {
  /** Returns the ID of the team with a name; null for none. */
  idOf(name: string): string | null;
  /** Whether a team with an ID exists. */
  has(id: string): boolean;
}

export interface TokenChecksOptions {
  readonly teams: TeamDirectory;
  /** Returns ms that never go back. */
  readonly clock: () => number;
  /** Returns ms since 1970. */
  readonly now: () => number;
  readonly log: Log;
  /** Called for each token that was checked and accepted. */
  readonly onSubject: (subject: TokenSubject) => void;
}

/** A checked token. A checked token stays valid as long as its issuer and the keys with which it was checked are the same. */
interface CheckedToken {
  readonly caller: Caller;
  readonly issuer: string;
  readonly definition: string;
  readonly keys: SigningKeys;
  /** Ms since 1970. */
  readonly expiresAt: number;
}

const hashOf = (token: string): string => hash('sha256', token, 'base64');

/** The tokens that were checked, by their hashes, and the keys of their issuers. State: tokens. */
export class TokenChecks {
  readonly #options: TokenChecksOptions;
  readonly #checked = new Map<string, CheckedToken>();
  readonly #checks = new Map<string, Promise<TokenCheck>>();
  readonly #keys = new Map<string, IssuerKeyStore>();
  /** The keys by the issuer object of a policy. */
  readonly #keysOfPolicy = new WeakMap<TokenIssuer, IssuerKeyStore>();
  /** The last signature check for each address. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(options: TokenChecksOptions) {
    this.#options = options;
  }

  /** Returns the caller of a token that was checked before; null for any other token. Cheap. */
  find(token: string, issuers: readonly TokenIssuer[]): Caller | null {
    const name = hashOf(token);
    const known = this.#checked.get(name);
    if (!known) return null;
    const issuer = issuers.find((one) => one.issuer === known.issuer);
    const isValid =
      issuer?.definition === known.definition &&
      known.expiresAt > this.#options.now() &&
      this.#keysOf(issuer).current === known.keys &&
      (known.caller.team === undefined || this.#options.teams.has(known.caller.team));
    if (isValid) return known.caller;
    this.#checked.delete(name);
    return null;
  }

  /**
   * Checks a token. Two checks of the same token never run in parallel, and tokens from the same address are checked one after the other.
   * @param count called before the signature is checked; its errors are thrown
   * @returns never a caller whose token was refused; rejects with the errors of `count`
   */
  check(token: string, issuers: readonly TokenIssuer[], address: string, count: () => void): Promise<TokenCheck> {
    const name = hashOf(token);
    const running = `${name} ${address}`;
    const before = this.#checks.get(running);
    if (before) return before;
    const check = this.#check(token, name, issuers, address, count).finally(() => this.#checks.delete(running));
    this.#checks.set(running, check);
    return check;
  }

  async #check(token: string, name: string, issuers: readonly TokenIssuer[], address: string, count: () => void) {
    const read = readToken(token, issuers, this.#options.now());
    if (typeof read === 'string') return this.#refused(read, null);
    const store = this.#keysOf(read.issuer);
    if (!store.current) await store.refresh();
    const first = await this.#inTurn(address, () => this.#signatureOf(token, read, store.current, count));
    // If the key of a token is unknown, it may be new, so the keys are read again. No signature was checked yet.
    const isNew = first === 'key' && (await store.refresh());
    const keys = store.current;
    if (!keys) return { refusal: 'unavailable', waitMs: Math.max(1_000, store.waitMs) } as const;
    const fault = isNew ? await this.#inTurn(address, () => this.#signatureOf(token, read, keys, count)) : first;
    if (fault !== null) return this.#refused(fault, read.issuer);
    if (!holds(read)) return this.#refused('condition', read.issuer, read.claims.sub);
    const team = this.#teamOf(read);
    if (team === undefined) return this.#refused('team', read.issuer, read.claims.sub);
    return { caller: this.#admit(name, read, keys, team) };
  }

  /** For each address, checks one signature at a time. Parallel checks could exceed the number of failures that an address may have. */
  async #inTurn<T>(address: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(address) ?? Promise.resolve()).then(work, work);
    this.#turns.set(address, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(address) === turn) this.#turns.delete(address);
    }
  }

  /** @returns null for a correct signature */
  async #signatureOf(token: string, { issuer }: TokenClaim, keys: SigningKeys | null, count: () => void) {
    if (!keys) return null;
    const { issuer: iss, audiences } = issuer;
    const find: SigningKeys['find'] = async (header, jws) => {
      const key = await keys.find(header, jws);
      count();
      return key;
    };
    const expected = { algorithms: ALGORITHMS, issuer: iss, audience: [...audiences], clockTolerance: 60 };
    try {
      await jwtVerify(token, find, { ...expected, currentDate: new Date(this.#options.now()) });
      return null;
    } catch (cause) {
      if (!(cause instanceof errors.JOSEError)) throw cause;
      if (cause instanceof errors.JWTExpired) return 'expired';
      return cause instanceof errors.JWSSignatureVerificationFailed ? 'signature' : 'key';
    }
  }

  /** Returns the ID of a subject's team, null for none; undefined if the team does not exist. */
  #teamOf({ issuer, claims }: TokenClaim): string | null | undefined {
    const { team } = issuer;
    if (team === null) return null;
    const name = orElse(() => team(claims), '');
    return this.#options.teams.idOf(name) ?? undefined;
  }

  #admit(name: string, { issuer, claims, expiresAt }: TokenClaim, keys: SigningKeys, team: string | null): Caller {
    const caller = subjectCaller(issuer, claims, team);
    if (this.#checked.size >= TOKENS_MAX) this.#checked.delete(this.#checked.keys().next().value!);
    this.#checked.set(name, { caller, issuer: issuer.issuer, definition: issuer.definition, keys, expiresAt });
    this.#options.onSubject({ id: caller.keyId, issuer: issuer.issuer, sub: claims.sub, name: issuer.name });
    return caller;
  }

  /** Logs the reason. The content of a token is logged only if its issuer has signed it. */
  #refused(refusal: TokenRefusal, issuer: TokenIssuer | null, sub?: string): TokenCheck {
    this.#options.log.info('a token was refused', { reason: refusal, issuer: issuer?.name, subject: sub });
    return { refusal };
  }

  #keysOf(issuer: TokenIssuer): IssuerKeyStore {
    const known = this.#keysOfPolicy.get(issuer);
    if (known) return known;
    const key = JSON.stringify([issuer.issuer, issuer.keys]);
    const store = this.#keys.get(key) ?? this.#openKeys(key, issuer);
    this.#keysOfPolicy.set(issuer, store);
    return store;
  }

  #openKeys(key: string, { issuer, name, keys }: TokenIssuer): IssuerKeyStore {
    const { clock, log } = this.#options;
    const onFault = (error: unknown) =>
      log.warn('the keys of an issuer cannot be read', { issuer: name, problem: messageOf(error) });
    if (keys.from === 'policy' && keys.set === null) onFault(new Error('the variable with the keys is not set'));
    const read = keys.from === 'policy' ? null : () => readKeys(keys, issuer);
    const store = new IssuerKeyStore(keys.from === 'policy' ? keys.set : null, { read, clock, onFault });
    if (this.#keys.size >= ISSUERS_MAX) this.#keys.delete(this.#keys.keys().next().value!);
    this.#keys.set(key, store);
    return store;
  }
}

/** If the condition fails with an error, the token is refused. */
function holds({ issuer, claims }: { readonly issuer: TokenIssuer; readonly claims: Claims }): boolean {
  try {
    return issuer.when(claims);
  } catch {
    return false;
  }
}
