import { randomBytes } from 'node:crypto';
import { HOUR_MS, MINUTE_MS } from '../core/time/clock.ts';
import type { Login, LoginRow } from '../store/logins.ts';
import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import { isMet, type Store, type Write } from '../store/store.ts';
import type { Actor } from '../store/trail.ts';
import { AnswerSeal } from './idempotency/crypto.ts';
import { hashOf } from './key.ts';

/** A login that is not used for this time has ended. */
const IDLE_MAX_MS = 12 * HOUR_MS;
/** The longest life of a login, ms. */
export const LOGIN_MS = 7 * 24 * HOUR_MS;
/** How old the claims of a login may be before they must be renewed, ms. */
const CONFIRM_EVERY_MS = HOUR_MS;
/** The last use of a login is written at most this often, ms, so that most uses cause no write. */
const USE_EVERY_MS = 10 * MINUTE_MS;
/** The time that a server has to renew a login before another server tries, ms. */
const RENEWAL_MS = 30_000;

/** 256 random bits: 43 base64url characters. */
const VALUE_BYTES = 32;
const VALUE = /^[A-Za-z0-9_-]{43}$/;
/** How many characters of the browser's user agent are stored. */
const BROWSER_MAX = 200;

export interface LoginsOptions {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'logins' | 'trail'> & { readonly news: News };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Why a login was ended without a request to end it. */
type EndReason = 'refused by the issuer' | 'has no role' | 'needs a new sign-in' | 'signed in again';

/** A new login of a user, or of a key with the hash of its secret. */
export interface LoginDraft extends Pick<Login, 'user' | 'key' | 'keyHash'> {
  /** The user agent of the browser. */
  readonly browser: string;
  readonly from: string | null;
  /** The token with which the issuer renews the claims; null for none. */
  readonly refreshToken: string | null;
}

export async function openLogins(options: LoginsOptions): Promise<Logins> {
  const logins = new StoredLogins(options);
  await logins.refresh();
  return logins;
}

export type Logins = Pick<StoredLogins, keyof StoredLogins>;

/** This instance's copy of the logins. A change is committed together with its entry in the audit trail. State: logins. */
class StoredLogins {
  readonly #store: LoginsOptions['store'];
  readonly #now: () => number;
  readonly #deafen: () => void;
  /** Logins that have not ended, by the hash of the cookie's value in hex. */
  readonly #live = new Map<string, Login>();
  #through = -1;

  constructor({ store, now }: LoginsOptions) {
    this.#store = store;
    this.#now = now;
    this.#deafen = store.news.on('logins', () => this.refresh());
  }

  /** The age of the copy, ms. */
  get ageMs(): number {
    return this.#store.news.ageOf('logins');
  }

  /** Returns the login for the value of a cookie; null if it is unknown or has ended. Notes the use. */
  of(value: string): Login | null {
    if (!VALUE.test(value)) return null;
    const hash = hexOf(hashOf(value));
    const login = this.#live.get(hash);
    const now = this.#now();
    if (!login || !isLive(login, now)) return null;
    if (now - login.usedAt < USE_EVERY_MS) return login;
    const used = { ...login, usedAt: now };
    this.#live.set(hash, used);
    this.#store.append([this.#store.logins.use(login.id, now)], true);
    return used;
  }

  /** Returns the logins that have not ended, newest first. */
  list(): readonly Login[] {
    const now = this.#now();
    const order = (one: Login, other: Login) => other.createdAt - one.createdAt || (one.id < other.id ? 1 : -1);
    return [...this.#live.values()].filter((login) => isLive(login, now)).sort(order);
  }

  /** @returns the login, and the value of its cookie, which is available only here */
  async begin({ browser, from, refreshToken, ...holder }: LoginDraft, by: Actor) {
    const value = randomBytes(VALUE_BYTES).toString('base64url');
    const id = `login_${randomBytes(10).toString('hex')}`;
    const now = this.#now();
    const times = { createdAt: now, usedAt: now, confirmedAt: now, expiresAt: now + LOGIN_MS, endedAt: null };
    const login: Login = { id, ...holder, ...times, browser: plain(browser), from };
    const { logins, trail } = this.#store;
    const line = trail.add({
      time: now,
      actor: by,
      action: 'sign_in',
      subject: subjectOf(id),
      details: detailsOf(login),
    });
    const row = { login, hash: hashOf(value) };
    await this.#commit([line, logins.insert(row, refreshToken === null ? null : sealed(refreshToken, id, value))]);
    return { login, value };
  }

  /**
   * Ends a login.
   * @param reason for the audit trail; absent if a person asked to end the login
   * @returns false if the login has already ended or never existed
   */
  async end(login: Pick<Login, 'id' | 'user' | 'key'>, by: Actor, reason?: EndReason): Promise<boolean> {
    const { id } = login;
    const time = this.#now();
    const details = { ...detailsOf(login), ...(reason && { reason }) };
    const line = this.#store.trail.add({ time, actor: by, action: 'end', subject: subjectOf(id), details });
    return this.#commit([this.#store.logins.end(id, time), line]);
  }

  /** Whether the claims of a login are too old and must be renewed. */
  isDue({ confirmedAt }: Login): boolean {
    return this.#now() - confirmedAt >= CONFIRM_EVERY_MS;
  }

  /** Reserves the renewal of a login for this instance. @returns false if another instance renews it, or has renewed it */
  claim({ id, confirmedAt }: Login): Promise<boolean> {
    const now = this.#now();
    return this.#commit([this.#store.logins.claim({ id, confirmedAt, now, until: now + RENEWAL_MS })]);
  }

  /** Returns the refresh token, decrypted with the value of the cookie; null for none. Rejects with StoreError. */
  async tokenOf({ id }: Login, value: string): Promise<string | null> {
    const token = await this.#store.logins.tokenOf(id);
    return token && sealOf(id, value).open(token, id);
  }

  /** Notes that the issuer has confirmed the claims now. */
  async confirm({ id }: Login, value: string, refreshToken: string | null): Promise<void> {
    const token = refreshToken === null ? null : sealed(refreshToken, id, value);
    await this.#commit([this.#store.logins.confirm(id, this.#now(), token)]);
  }

  /** Updates the copy from the store. Rejects with StoreError and then has changed nothing. */
  async refresh(): Promise<void> {
    const { rows, through } = await this.#store.logins.changedAfter(this.#through);
    // A read of the logins that began before another read may end after it, and then has nothing new.
    if (through <= this.#through) return;
    this.#through = through;
    for (const row of rows) this.#put(row);
  }

  close(): void {
    this.#deafen();
  }

  #put({ login, hash }: LoginRow): void {
    const key = hexOf(hash);
    // The most recent use may not be written to the store yet.
    const usedAt = Math.max(login.usedAt, this.#live.get(key)?.usedAt ?? 0);
    if (login.endedAt === null) this.#live.set(key, { ...login, usedAt });
    else this.#live.delete(key);
  }

  /** @returns false if a condition of a write does not hold */
  async #commit(writes: readonly Write[]): Promise<boolean> {
    if (!(await isMet(this.#store.commit(writes)))) return false;
    // If the store cannot be read now, the committed change must still be reported as successful. The news of the store repeats the read.
    await this.refresh().catch(() => {});
    return true;
  }
}

const isLive = ({ usedAt, expiresAt, endedAt }: Login, now: number): boolean =>
  endedAt === null && now < expiresAt && now < usedAt + IDLE_MAX_MS;

const detailsOf = ({ user, key }: Pick<Login, 'user' | 'key'>) => (user === null ? { key } : { user });

const subjectOf = (id: string) => ({ kind: 'login', id });

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The database does not contain the value of the cookie, so a copy of the database cannot decrypt refresh tokens. */
const sealOf = (id: string, value: string): AnswerSeal => new AnswerSeal(value, hashOf(id));
const sealed = (refreshToken: string, id: string, value: string): Uint8Array =>
  sealOf(id, value).seal(refreshToken, id);

/** Returns the text on one line, without characters that could fake further text. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '').slice(0, BROWSER_MAX);
