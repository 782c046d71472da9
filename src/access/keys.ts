import { FULL_SCOPES, type KeyBudgets } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
import type { Timer, Timers } from '../core/timers.ts';
import type { KeyInfo, KeyRow } from '../store/keys.ts';
import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import { type Store, StoreError, type Write } from '../store/store.ts';
import { type Actor, type KeyEvent, SERVER, type TrailEntry, type TrailQuery } from '../store/trail.ts';
import { processTimers } from '../telemetry/process-timers.ts';
import { bearerOf, hashOf, isStrong, keyOf, newKey, parseKey, SECRET_BYTES } from './key.ts';
import { termsBody } from './key-body.ts';
import {
  type Authentication,
  authenticationBy,
  checkInstalled,
  DENIED,
  type HolderGrants,
  holderOf,
  infoOf,
  type KeyEntry,
  keyEntryOf,
  keyStateOf,
} from './key-entry.ts';
import {
  checkHolder,
  checkTerms,
  checkText,
  HOLDER_LIMITS,
  type KeyGrant,
  KeyTermsError,
  normalizedHolders,
  OVERLAP_MAX_MS,
  tooManyKeys,
} from './terms.ts';

export interface KeysOptions {
  readonly store: Pick<Store, 'commit' | 'append'> & Pick<Repositories, 'keys' | 'trail'> & { readonly news: News };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The interval of `refresh`, ms. Absent: it is called from outside. Changes by others come with the news, too. */
  readonly refreshMs?: number;
  /** Sets its regular work; the process's own unless stated. */
  readonly timers?: Timers;
  /**
   * Called when the budgets of keys change; `budgets()` returns them. A new key with budgets is admitted only once the
   * promise resolves, so that it cannot overspend. After a rejection it is called again at the next `refresh`.
   */
  readonly onChange?: () => void | Promise<void>;
}

/** A new or rotated key. `key` is available only here: the store has its hash. */
export interface IssuedKey {
  readonly key: string;
  readonly info: KeyInfo;
}

/** Last uses are collected in memory, so that using a key costs no write. */
const USES_EVERY_MS = 60_000;
/** For changes that an expired key allows, too. */
const EVER = -1;

export async function openKeys(options: KeysOptions): Promise<Keys> {
  const keys = new StoredKeys(options);
  await keys.open();
  return keys;
}

/** The API keys. Every change is committed together with its entry in the trail. */
export type Keys = Omit<StoredKeys, 'open'>;

/** This instance’s copy of the keys, their last uses, and those that wait for their budgets. State: keys. */
class StoredKeys {
  readonly #store: KeysOptions['store'];
  readonly #now: () => number;
  readonly #timer: Timer | null;
  readonly #deafen: () => void;
  readonly #onChange: KeysOptions['onChange'];
  /** This instance's copy of the store's keys. */
  readonly #entries = new Map<string, KeyEntry>();
  readonly #holders: HolderGrants = new Map(); // Of every holder that ever had a key.
  /** New keys whose budgets are not in force yet. */
  readonly #waiting = new Map<string, KeyEntry>();
  /** Of unrevoked keys that have some. */
  readonly #budgets = new Map<string, KeyBudgets & Pick<KeyInfo, 'expiresAt'>>();
  /** Budgets have changed that `onChange` has not put in force, nor is about to. */
  #mustCount = false;
  /** The number of the news that the copy has. */
  #through = -1;
  #isOpen = false;
  #usesWrittenAt: number;
  /** The last admission of waiting keys, which may be under way. */
  #admission: Promise<void> | null = null;

  constructor({ store, now, refreshMs, timers = processTimers, onChange }: KeysOptions) {
    this.#store = store;
    this.#now = now;
    this.#onChange = onChange;
    this.#usesWrittenAt = now();
    // A failed read is repeated at the next tick; meanwhile the keys stay as they were.
    this.#timer = refreshMs ? timers.every(refreshMs, () => void this.refresh().catch(() => {})) : null;
    this.#timer?.unref();
    // Budgets are not waited for: a revocation may come meanwhile.
    this.#deafen = store.news.on('keys', async () => {
      await this.#read();
      this.#admit().catch(() => {});
    });
  }

  /** Reads the keys, whose budgets the caller has yet to put in force. Rejects with StoreError. */
  async open(): Promise<void> {
    await this.#read();
    this.#isOpen = true;
  }

  /** Checks an `Authorization` header at once. An unknown ID takes as long as a wrong secret. */
  readonly authenticate = (header: string | null): Authentication => {
    if (!header) return DENIED.missing;
    const key = bearerOf(header);
    const parts = key === null ? null : parseKey(key);
    if (key === null || !parts) return DENIED.malformed;
    const found = authenticationBy(this.#entries.get(parts.id), hashOf(key), this.#now());
    const ageMs = this.#store.news.ageOf('keys');
    return ageMs === 0 ? found : { ...found, ageMs };
  };

  /**
   * Makes a key. Throws KeyTermsError.
   * @param key made by `newKey`, for a caller that must store it before it becomes valid.
   */
  async create(grant: KeyGrant, by: Actor = SERVER, key = newKey()): Promise<IssuedKey> {
    return { key, info: await this.#insert(key, grant, 'create', by) };
  }

  /**
   * Makes a key that spends a holder's balance, with the scopes chat and route, without expiry or limits.
   * @param isAlone whether all other keys of the holder are revoked in the same commit.
   * @param from the caller's address, for the trail
   * @throws KeyTermsError and changes nothing: for an invalid name, 20 valid keys, or 50 new keys in 24 hours.
   */
  async createForHolder(
    address: string,
    name: string,
    { isAlone = false, from = null }: { readonly isAlone?: boolean; readonly from?: string | null } = {},
  ): Promise<IssuedKey> {
    const holder = checkHolder(address);
    const by: Actor = { kind: 'wallet', name: holder, from };
    const first = isAlone ? this.#revokeWrites(by, null) : [];
    const key = newKey();
    return { key, info: await this.#insert(key, { name, scopes: ['chat', 'route'] }, 'create', by, holder, first) };
  }

  /** The valid keys of a holder (address in lower case), oldest first. */
  async ofHolder(holder: string): Promise<readonly KeyInfo[]> {
    await this.refresh();
    const own = (await this.#store.keys.ofHolder(holder)).map((row) => this.#infoOf(row));
    return own.filter((info) => keyStateOf(info, this.#now()) === 'valid');
  }

  /** Revokes all keys of a holder, except one if given. Returns their number. */
  async revokeOfHolder(holder: string, exceptId: string | null): Promise<number> {
    const others = (await this.ofHolder(holder)).filter(({ id }) => id !== exceptId);
    await this.#commit(this.#revokeWrites({ kind: 'wallet', name: holder }, exceptId));
    return others.length;
  }

  /** Selects the keys at commit time, so that one being made cannot slip through. */
  #revokeWrites(actor: Extract<Actor, { kind: 'wallet' }>, exceptId: string | null): readonly Write[] {
    const { name: holder } = actor;
    const time = this.#now();
    const event = { time, actor, action: 'revoke', details: {} } as const;
    const { keys, trail } = this.#store;
    return [trail.addOfHolder(event, holder, exceptId), keys.revokeOfHolder(holder, exceptId, time)];
  }

  /**
   * Makes a given key valid, with the full scopes. Repeating it changes nothing.
   * @throws an Error of one sentence for a malformed, weak, expired, revoked or rotated key, or a taken ID.
   */
  async install(key: string): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('The key to install does not have the form sb_live_<id>_<secret>.');
    const { id } = parts;
    if (!isStrong(parts)) {
      throw new Error(
        `The secret of key ${id} is too short. It needs at least 22 base64url characters, 128 random bits.`,
      );
    }
    await this.refresh();
    const entry = this.#entryOf(id);
    if (!entry) return this.#insert(key, { name: 'installed', scopes: FULL_SCOPES }, 'install', SERVER);
    checkInstalled(entry, hashOf(key), this.#now());
    return infoOf(entry);
  }

  /**
   * Gives a valid key another secret. The present one works for `overlapMs` more, an older one no longer.
   * @returns null for no valid key.
   * @throws KeyTermsError.
   */
  async rotate(id: string, overlapMs: number, by: Actor = SERVER): Promise<IssuedKey | null> {
    if (!Number.isSafeInteger(overlapMs) || overlapMs < 0 || overlapMs > OVERLAP_MAX_MS) {
      throw new KeyTermsError('overlap_seconds', 'The old secret can stay valid for 0 seconds to 30 days.');
    }
    const before = await this.get(id);
    const now = this.#now();
    if (!before || keyStateOf(before, now) !== 'valid') return null;
    const ends = now + overlapMs;
    const key = keyOf(id, crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
    const details = { overlap_ends_at: iso(ends) };
    const event = { time: now, actor: by, action: 'rotate', keyId: id, details } as const;
    const { keys, trail } = this.#store;
    const isWritten = await this.#commit([trail.addIfValid(event, now), keys.rotate(id, hashOf(key), now, ends)]);
    // Not read again: a failed read must not lose the new secret.
    return isWritten ? { key, info: { ...before, rotatedAt: now, overlapEndsAt: ends } } : null;
  }

  /** Revokes a key: here at once, in other processes within `refreshMs`. Returns false if there was none. */
  async revoke(id: string, by: Actor = SERVER): Promise<boolean> {
    const time = this.#now();
    const event = { time, actor: by, action: 'revoke', keyId: id, details: {} } as const;
    return this.#commit([this.#store.trail.addIfValid(event, EVER), this.#store.keys.revoke(id, time)]);
  }

  /**
   * Grants Credits to a valid key. Returns false without such a key. Throws KeyTermsError.
   * @param write makes the grant for the balance's holder: the key's own if it has one, else the key.
   */
  async grant(
    id: string,
    write: (holder: string) => Write,
    details: { credits: number; note: string },
    by: Actor,
  ): Promise<boolean> {
    checkText('note', details.note);
    const info = await this.get(id);
    if (!info) return false;
    const time = this.#now();
    const recorded = info.holder === null ? details : { ...details, wallet: info.holder };
    const event = { time, actor: by, action: 'grant', keyId: id, details: recorded } as const;
    return this.#commit([this.#store.trail.addIfValid(event, time), write(holderOf(info))]);
  }

  async get(id: string): Promise<KeyInfo | null> {
    await this.refresh();
    const row = await this.#store.keys.find(id);
    return row && this.#infoOf(row);
  }

  /** A key as this instance's copy has it, revoked or not. Cheap. */
  readonly known = (id: string): KeyEntry['info'] | null => this.#entryOf(id)?.info ?? null;

  /** The IDs of all keys of a name in this instance's copy, revoked ones too. */
  named(name: string): readonly string[] {
    return [...this.#entries.values()].flatMap(({ info }) => (info.name === name ? [info.id] : []));
  }

  /** All keys, revoked ones too, oldest first. */
  async list(): Promise<KeyInfo[]> {
    return (await this.#store.keys.all()).map((row) => this.#infoOf(row));
  }

  /** The budgets of all valid keys that have some. Cheap. */
  budgets(): readonly KeyBudgets[] {
    const now = this.#now();
    return [...this.#budgets.values()].filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  }

  /** Changes of keys, newest first. */
  trail(query: TrailQuery): Promise<TrailEntry[]> {
    return this.#store.trail.list(query);
  }

  /** Reads what others have changed, and puts new budgets in force; writes last uses once a minute. */
  async refresh(): Promise<void> {
    if (this.#now() - this.#usesWrittenAt >= USES_EVERY_MS) this.#writeUses();
    await this.#read();
    await this.#admit();
  }

  /** Resolves once every change committed before the call is in force, new budgets included. */
  async putInForce(): Promise<void> {
    await this.refresh();
    // Another reading may have found the changes, and still wait for their budgets.
    await this.#admission;
  }

  /** Stops the regular refresh and writes last uses. Call it before the store is closed. */
  close(): void {
    this.#timer?.close();
    this.#deafen();
    this.#writeUses();
  }

  #entryOf(id: string): KeyEntry | undefined {
    return this.#entries.get(id) ?? this.#waiting.get(id);
  }

  /** As it is stored, with the last use that this process knows of. */
  #infoOf({ key: { info }, lastUsedAt }: KeyRow): KeyInfo {
    const usedAt = Math.max(this.#entryOf(info.id)?.usedAt ?? 0, lastUsedAt ?? 0);
    return { ...info, lastUsedAt: usedAt === 0 ? null : usedAt };
  }

  #writeUses(): void {
    this.#usesWrittenAt = this.#now();
    const used = [...this.#entries.values()].filter(({ usedAt, writtenAt }) => usedAt > writtenAt);
    if (used.length === 0) return;
    const uses = Object.fromEntries(used.map(({ info, usedAt }) => [info.id, usedAt]));
    this.#store.append([this.#store.keys.putUses(uses)]);
    for (const entry of used) entry.writtenAt = entry.usedAt;
  }

  /** `holder`: of the key; null for none. `first`: writes for the same commit. Throws KeyTermsError. */
  async #insert(
    key: string,
    grant: KeyGrant,
    action: 'create' | 'install',
    actor: Actor,
    holder: string | null = null,
    first: readonly Write[] = [],
  ): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('a key was made that cannot be read');
    checkTerms(grant);
    const { name, scopes, labels = {}, models = null, expiresAt = null, limits = null, budgets = [] } = grant;
    const holders = grant.holders ? normalizedHolders(grant.holders) : null;
    const time = this.#now();
    const terms = { name, scopes, labels, models, limits, budgets, holders, holder, createdAt: time, expiresAt };
    const past = { revokedAt: null, suspendedAt: null, lastUsedAt: null, rotatedAt: null, overlapEndsAt: null };
    const info: KeyInfo = { id: parts.id, ...terms, ...past, parent: null, team: null, user: null };
    const event: KeyEvent = { time, actor, action, keyId: info.id, details: termsBody(info) };
    const { keys, trail } = this.#store;
    const subject = { kind: 'key', id: info.id };
    const line = holder === null ? trail.add({ ...event, subject }) : trail.addIfRoom(event, holder, HOLDER_LIMITS);
    if (!(await this.#commit([...first, line, keys.insert(info, hashOf(key))]))) throw tooManyKeys();
    return info;
  }

  /** Commits a change. Returns false where its condition is not met. */
  async #commit(writes: readonly Write[]): Promise<boolean> {
    let isWritten = true;
    try {
      await this.#store.commit(writes);
    } catch (cause) {
      if (!(cause instanceof StoreError && cause.reason === 'unmet')) throw cause;
      isWritten = false;
    }
    // If the disk cannot be read now, the change must still not look undone; the news repeats the reading.
    await this.refresh().catch(() => {});
    return isWritten;
  }

  /** Brings the copy up to the store. Rejects with StoreError, and has then changed nothing. */
  async #read(): Promise<void> {
    const { rows, through } = await this.#store.keys.changedAfter(this.#through);
    // A reading that began earlier may end later: it has nothing new.
    if (through <= this.#through) return;
    this.#through = through;
    for (const row of rows) this.#put(row);
  }

  /** Takes over a key that has changed. A new one with budgets waits for them. */
  #put(row: KeyRow): void {
    const { id, budgets, revokedAt, expiresAt } = row.key.info;
    const entry = keyEntryOf(row, this.#entryOf(id), this.#holders);
    const own = revokedAt === null && budgets.length > 0 ? { keyId: id, budgets, expiresAt } : null;
    const before = this.#budgets.get(id);
    if (own) this.#budgets.set(id, own);
    else this.#budgets.delete(id);
    if (JSON.stringify(before?.budgets) !== JSON.stringify(own?.budgets)) this.#mustCount = this.#isOpen;
    const mustWait = own !== null && this.#isOpen && this.#onChange !== undefined && !this.#entries.has(id);
    if (mustWait) this.#waiting.set(id, entry);
    else this.#waiting.delete(id);
    if (!mustWait) this.#entries.set(id, entry);
  }

  /** Puts changed budgets in force, and then admits the keys that wait for them. */
  async #admit(): Promise<void> {
    if (!this.#mustCount) return;
    this.#mustCount = false;
    this.#admission = this.#admitWaiting([...this.#waiting.keys()]);
    await this.#admission;
  }

  /** Admits keys once their budgets count, as they are by then: a later reading may have changed or revoked them. */
  async #admitWaiting(ids: readonly string[]): Promise<void> {
    try {
      await this.#onChange?.();
    } catch (cause) {
      this.#mustCount = true;
      throw cause;
    }
    for (const id of ids) {
      const entry = this.#waiting.get(id);
      if (entry) this.#entries.set(id, entry);
      this.#waiting.delete(id);
    }
  }
}
