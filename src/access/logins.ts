import { randomBytes } from 'node:crypto';
import { HOUR_MS, MINUTE_MS } from '../core/clock.ts';
import type { Login, LoginRow } from '../store/logins.ts';
import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import { isMet, type Store, type Write } from '../store/store.ts';
import type { Actor } from '../store/trail.ts';
import { AnswerSeal } from './idempotency/crypto.ts';
import { hashOf } from './key.ts';

/** A login that is not used for so long has ended. */
const IDLE_MAX_MS = 12 * HOUR_MS;
/** The whole life of a login, ms. */
export const LOGIN_MS = 7 * 24 * HOUR_MS;
/** The oldest claims that a login is served by. */
const CONFIRM_EVERY_MS = HOUR_MS;
/** How exactly the last use is known: a use costs no write but one of these. */
const USE_EVERY_MS = 10 * MINUTE_MS;
/** How long an instance may take to renew a login before another tries. */
const RENEWAL_MS = 30_000;

/** 256 random bits: 43 base64url characters. */
const VALUE_BYTES = 32;
const VALUE = /^[A-Za-z0-9_-]{43}$/;
/** Characters of a browser's own words that are kept. */
const BROWSER_MAX = 200;

export interface LoginsOptions {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'logins' | 'trail'> & { readonly news: News };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Why a login was ended that nobody has asked to end. */
type EndReason = 'refused by the issuer' | 'has no role' | 'needs a new sign-in' | 'signed in again';

/** A login that begins: of a user, or of a key with the hash of its secret. */
export interface LoginDraft extends Pick<Login, 'user' | 'key' | 'keyHash'> {
  /** What the browser says of itself. */
  readonly browser: string;
  readonly from: string | null;
  /** By which the issuer renews the claims; null for none. */
  readonly refreshToken: string | null;
}

export async function openLogins(options: LoginsOptions): Promise<Logins> {
  const logins = new StoredLogins(options);
  await logins.refresh();
  return logins;
}

export type Logins = Pick<StoredLogins, keyof StoredLogins>;

/** This instance's copy of the logins. A change is committed together with its entry in the trail. State: logins. */
class StoredLogins {
  readonly #store: LoginsOptions['store'];
  readonly #now: () => number;
  readonly #deafen: () => void;
  /** By the hash of the cookie's value, hex; of those that have not ended. */
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

  /** The login of a cookie's value; null where it is unknown or has ended. Notes the use. */
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

  /** Those that have not ended, the newest first. */
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
   * @param reason for the trail; absent: somebody has asked for it
   * @returns false where it has ended before, or never was
   */
  async end(login: Pick<Login, 'id' | 'user' | 'key'>, by: Actor, reason?: EndReason): Promise<boolean> {
    const { id } = login;
    const time = this.#now();
    const details = { ...detailsOf(login), ...(reason && { reason }) };
    const line = this.#store.trail.add({ time, actor: by, action: 'end', subject: subjectOf(id), details });
    return this.#commit([this.#store.logins.end(id, time), line]);
  }

  /** Whether the claims of a login are too old to serve it by. */
  isDue({ confirmedAt }: Login): boolean {
    return this.#now() - confirmedAt >= CONFIRM_EVERY_MS;
  }

  /** Takes it upon this instance to renew a login. @returns false where another one does, or has done so */
  claim({ id, confirmedAt }: Login): Promise<boolean> {
    const now = this.#now();
    return this.#commit([this.#store.logins.claim({ id, confirmedAt, now, until: now + RENEWAL_MS })]);
  }

  /** The refresh token, opened by the value of the cookie; null for none. Rejects with StoreError. */
  async tokenOf({ id }: Login, value: string): Promise<string | null> {
    const token = await this.#store.logins.tokenOf(id);
    return token && sealOf(id, value).open(token, id);
  }

  /** Notes that the issuer has stated the claims now. */
  async confirm({ id }: Login, value: string, refreshToken: string | null): Promise<void> {
    const token = refreshToken === null ? null : sealed(refreshToken, id, value);
    await this.#commit([this.#store.logins.confirm(id, this.#now(), token)]);
  }

  /** Brings the copy up to the store. Rejects with StoreError, and has then changed nothing. */
  async refresh(): Promise<void> {
    const { rows, through } = await this.#store.logins.changedAfter(this.#through);
    // A reading that began earlier may end later: it has nothing new.
    if (through <= this.#through) return;
    this.#through = through;
    for (const row of rows) this.#put(row);
  }

  close(): void {
    this.#deafen();
  }

  #put({ login, hash }: LoginRow): void {
    const key = hexOf(hash);
    // The use that was noted last may not be written yet.
    const usedAt = Math.max(login.usedAt, this.#live.get(key)?.usedAt ?? 0);
    if (login.endedAt === null) this.#live.set(key, { ...login, usedAt });
    else this.#live.delete(key);
  }

  /** @returns false where a condition is not met */
  async #commit(writes: readonly Write[]): Promise<boolean> {
    if (!(await isMet(this.#store.commit(writes)))) return false;
    // If the disk cannot be read now, the change must still not look undone; the news repeats the reading.
    await this.refresh().catch(() => {});
    return true;
  }
}

const isLive = ({ usedAt, expiresAt, endedAt }: Login, now: number): boolean =>
  endedAt === null && now < expiresAt && now < usedAt + IDLE_MAX_MS;

const detailsOf = ({ user, key }: Pick<Login, 'user' | 'key'>) => (user === null ? { key } : { user });

const subjectOf = (id: string) => ({ kind: 'login', id });

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** A copy of the database opens no refresh token: the value of the cookie is not in it. */
const sealOf = (id: string, value: string): AnswerSeal => new AnswerSeal(value, hashOf(id));
const sealed = (refreshToken: string, id: string, value: string): Uint8Array =>
  sealOf(id, value).seal(refreshToken, id);

/** One line without what could pretend to be more. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '').slice(0, BROWSER_MAX);
