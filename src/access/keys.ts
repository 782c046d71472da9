import { hash, timingSafeEqual } from 'node:crypto';
import { type Caller, SCOPES, type Scope } from '../core/caller.ts';
import type { Store } from '../store/store.ts';
import { isStrong, KEY_RANDOM_BYTES, makeKey, parseKey } from './key.ts';
import { insertKey, type KeyInfo, type KeyRow, keyInfo, revokeKey, SELECT_KEYS } from './tables.ts';

export interface KeysOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How often to look whether another process has changed the keys, in milliseconds; absent: only on `refresh`. */
  readonly refreshMs?: number;
}

/** What a new key may do. */
export interface KeyGrant {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly labels?: Readonly<Record<string, string>>;
  /** IDs of the models that it may use; null or absent for all. */
  readonly models?: readonly string[] | null;
  /** Milliseconds since 1970; null or absent for never. */
  readonly expiresAt?: number | null;
}

/** Why a request is not let in. For the log: callers are told only that the key is not valid. */
export type DenialReason = 'missing' | 'malformed' | 'unknown' | 'expired' | 'revoked';

export type Authentication =
  | { readonly caller: Caller; readonly reason: null }
  | { readonly caller: null; readonly reason: DenialReason };

export interface Keys {
  /** Checks the value of an `Authorization` header. Takes well under a microsecond, as long for an unknown ID as for a wrong secret. */
  authenticate(header: string | null): Authentication;
  /** Makes a key. The only time that `key` is seen: what is kept is its hash. */
  create(grant: KeyGrant): Promise<{ readonly key: string; readonly info: KeyInfo }>;
  /**
   * Makes a given key valid, with all scopes. Doing it again changes nothing. Throws an Error of one clear
   * sentence when it has not the form of a key, is weak, was revoked, or its ID is another key's.
   */
  install(key: string): Promise<KeyInfo>;
  /** Revokes a key, at once here and within the refresh interval in other processes. False when there is no such valid key. */
  revoke(id: string): Promise<boolean>;
  /** All keys, the revoked ones too, oldest first. */
  list(): Promise<KeyInfo[]>;
  /** Takes over what another process has changed. */
  refresh(): Promise<void>;
  /** Stops the regular refresh. */
  close(): void;
}

/** Opens the keys: all of them are held in memory, by hash. */
export async function openKeys(options: KeysOptions): Promise<Keys> {
  const keys = new StoredKeys(options);
  await keys.refresh();
  return keys;
}

interface Known {
  readonly hash: Uint8Array;
  readonly info: KeyInfo;
  readonly granted: Authentication;
}

/** Compared with when the ID is unknown, so that this takes as long. No key has this hash. */
const NO_HASH = new Uint8Array(32);
const denied = (reason: DenialReason): Authentication => Object.freeze({ caller: null, reason });
const DENIED = {
  missing: denied('missing'),
  malformed: denied('malformed'),
  unknown: denied('unknown'),
  expired: denied('expired'),
  revoked: denied('revoked'),
};

const BEARER = /^bearer +/i;

class StoredKeys implements Keys {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #timer: ReturnType<typeof setInterval> | null;
  #known: ReadonlyMap<string, Known> = new Map();
  /** Of the store, when the keys were last read. */
  #version: number | null = null;

  constructor({ store, now, refreshMs }: KeysOptions) {
    this.#store = store;
    this.#now = now;
    // A read that fails is tried again at the next tick; meanwhile the keys stay as they were.
    this.#timer = refreshMs ? setInterval(() => this.refresh().catch(() => {}), refreshMs) : null;
    this.#timer?.unref();
  }

  authenticate(header: string | null): Authentication {
    if (!header) return DENIED.missing;
    const scheme = BEARER.exec(header);
    if (!scheme) return DENIED.malformed;
    const key = header.slice(scheme[0].length);
    const parts = parseKey(key);
    if (!parts) return DENIED.malformed;
    const known = this.#known.get(parts.id);
    const matches = timingSafeEqual(hashOf(key), known ? known.hash : NO_HASH);
    if (!known || !matches) return DENIED.unknown;
    const { revokedAt, expiresAt } = known.info;
    if (revokedAt !== null) return DENIED.revoked;
    if (expiresAt !== null && expiresAt <= this.#now()) return DENIED.expired;
    return known.granted;
  }

  async create(grant: KeyGrant): Promise<{ key: string; info: KeyInfo }> {
    const key = makeKey(crypto.getRandomValues(new Uint8Array(KEY_RANDOM_BYTES)));
    return { key, info: await this.#insert(key, grant) };
  }

  async install(key: string): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('The key to install does not have the form sb_live_<id>_<secret>.');
    if (!isStrong(parts)) {
      throw new Error(`The secret of key ${parts.id} is too short: it needs 22 base64url characters, 128 random bits.`);
    }
    await this.#load();
    const known = this.#known.get(parts.id);
    if (!known) return this.#insert(key, { name: 'installed', scopes: SCOPES });
    if (!timingSafeEqual(hashOf(key), known.hash)) {
      throw new Error(`A key with the ID ${parts.id} exists and has another secret: give the new key another ID.`);
    }
    if (known.info.revokedAt !== null) throw new Error(`The key ${parts.id} was revoked: install a new one.`);
    return known.info;
  }

  async revoke(id: string): Promise<boolean> {
    await this.#load();
    const known = this.#known.get(id);
    if (!known || known.info.revokedAt !== null) return false;
    await this.#store.commit([revokeKey(id, this.#now())]);
    await this.#load();
    return true;
  }

  async list(): Promise<KeyInfo[]> {
    await this.#load();
    return [...this.#known.values()].map(({ info }) => info);
  }

  async refresh(): Promise<void> {
    if ((await this.#store.version()) !== this.#version) await this.#load();
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  async #insert(key: string, grant: KeyGrant): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('a key was made that cannot be read');
    const { name, scopes, labels = {}, models = null, expiresAt = null } = grant;
    const info = { id: parts.id, name, scopes, labels, models, createdAt: this.#now(), expiresAt, revokedAt: null };
    await this.#store.commit([insertKey(info, hashOf(key))]);
    await this.#load();
    return info;
  }

  async #load(): Promise<void> {
    // Asked before the rows are read: a change in between is then seen again, not missed.
    const version = await this.#store.version();
    const rows = await this.#store.query<KeyRow>(SELECT_KEYS);
    this.#known = new Map(rows.map((row) => [row.id, knownOf(row)]));
    this.#version = version;
  }
}

function knownOf(row: KeyRow): Known {
  const info = keyInfo(row);
  const caller: Caller = {
    keyId: info.id,
    scopes: new Set(info.scopes),
    labels: info.labels,
    models: info.models && new Set(info.models),
  };
  return { hash: row.hash, info, granted: { caller, reason: null } };
}

/** One unsalted SHA-256 is enough for secrets of 128 random bits and more: there is nothing to guess. */
function hashOf(key: string): Uint8Array {
  return hash('sha256', key, 'buffer');
}
