import type { Caller, KeyBudgets } from '../core/caller.ts';
import { DAY_MS } from '../core/clock.ts';
import type { Timer, Timers } from '../core/timers.ts';
import { processTimers } from '../host/telemetry/process-timers.ts';
import type { KeyInfo, KeyName, KeyOwner, KeyRow } from '../store/keys.ts';
import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import { bearerOf, hashOf, isKeyId, parseKey } from './key.ts';
import {
  type Authentication,
  authenticationBy,
  bringInLine,
  DENIED,
  endedEntry,
  type HolderGrants,
  type KeyEntry,
  keyEntryOf,
  keyStateOf,
  secretStateOf,
} from './key-entry.ts';
import { inForceAlone, LINE_LIMITS, linesOf } from './line.ts';

export interface KeysOptions {
  readonly store: Pick<Store, 'commit' | 'append'> &
    Pick<Repositories, 'keys' | 'people' | 'trail'> & { readonly news: News };
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
  /** Whether a user, by its ID, is suspended or removed, so that its keys are refused. Cheap. Absent: none is. */
  readonly isOut?: (user: string) => boolean;
}

/** Last uses are collected in memory, so that using a key costs no write. */
const USES_EVERY_MS = 60_000;
/** By more than any clock is set back. */
const LONG_OVER_MS = DAY_MS;
/** Ended keys that stay in memory, the last to leave the copy, for requests in progress and callers that still send them. */
const ENDED_MAX = 1_000;
/** IDs that are looked up in the store at once. */
const NAMES_MAX = 500;

/** This instance’s copy of the unrevoked keys, their last uses, and the keys that wait for their budgets. State: keys. */
export class KeyCopy {
  protected readonly store: KeysOptions['store'];
  protected readonly now: () => number;
  readonly #timer: Timer | null;
  readonly #deafen: () => void;
  readonly #onChange: KeysOptions['onChange'];
  readonly #isOut: (user: string) => boolean;
  /** This instance's copy of the store's unrevoked keys, without child keys of revoked ones. */
  readonly #entries = new Map<string, KeyEntry>();
  readonly #holders: HolderGrants = new Map(); // Of every holder that ever had a key.
  /** The IDs of the keys that each key has made. */
  readonly #below = new Map<string, Set<string>>();
  /** The last keys that left the copy, without the terms that only requests need; the oldest first. */
  readonly #ended = new Map<string, KeyEntry>();
  /** New keys whose budgets, or those above them, are not in force yet. */
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

  constructor({ store, now, refreshMs, timers = processTimers, onChange, isOut = () => false }: KeysOptions) {
    this.store = store;
    this.now = now;
    this.#onChange = onChange;
    this.#isOut = isOut;
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
    return this.authenticateBy(parts.id, hashOf(key));
  };

  /** Checks the hash of a key that was presented before. As `authenticate`. */
  readonly authenticateBy = (id: string, hash: Uint8Array): Authentication => {
    const valid = authenticationBy(this.#entries.get(id) ?? this.#ended.get(id), hash, this.now());
    const { user, team } = valid.caller ?? {};
    const isOfPeople = user !== undefined || team !== undefined;
    const found = user !== undefined && this.#isOut(user) ? DENIED.suspended : valid;
    const ageMs = Math.max(this.store.news.ageOf('keys'), isOfPeople ? this.store.news.ageOf('people') : 0);
    return ageMs === 0 ? found : { ...found, ageMs };
  };

  /** Whether a secret, by its hash, works or may work again, as that of a suspended key. Notes no use. */
  readonly lives = (id: string, hash: Uint8Array): boolean => {
    const state = secretStateOf(this.#entries.get(id), hash, this.now());
    return state === 'valid' || state === 'suspended';
  };

  /** The authentication of a key by its state, for somebody who may send as it without its secret. Notes the use. */
  readonly actAs = (id: string): Authentication => {
    const entry = this.#entries.get(id);
    return entry ? this.authenticateBy(id, entry.hash) : DENIED.unknown;
  };

  /** A key as this instance's copy has it; null for keys that were revoked a while ago, which `named` finds. Cheap. */
  readonly known = (id: string): KeyEntry['info'] | null => (this.entryOf(id) ?? this.#ended.get(id))?.inForce ?? null;

  /** The facts about keys that reports show, revoked keys included: from this instance's copy, else from the store. Rejects with StoreError. */
  readonly named = async (ids: Iterable<string>): Promise<ReadonlyMap<string, KeyName>> => {
    const found = new Map<string, KeyName>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const known = this.known(id);
      if (known) found.set(id, known);
      else if (isKeyId(id)) missing.push(id);
    }
    for (let at = 0; at < missing.length; at += NAMES_MAX) {
      for (const name of await this.store.keys.names(missing.slice(at, at + NAMES_MAX))) found.set(name.id, name);
    }
    return found;
  };

  /** The caller that a key stands for now; null for a key that does not work. Cheap. */
  readonly callerOf = (id: string): Caller | null => {
    const entry = this.#entries.get(id);
    if (!entry || keyStateOf(entry.inForce, this.now()) !== 'valid') return null;
    const { caller } = entry.authentication;
    return caller.user !== undefined && this.#isOut(caller.user) ? null : caller;
  };

  /** The labels of unrevoked keys: name → values. */
  readonly labels = (): ReadonlyMap<string, ReadonlySet<string>> => {
    const labels = new Map<string, Set<string>>();
    for (const { info } of this.#entries.values()) {
      for (const [name, value] of Object.entries(info.labels))
        labels.getOrInsertComputed(name, () => new Set()).add(value);
    }
    return labels;
  };

  /** The IDs of the teams with unrevoked keys. */
  readonly teamsWithKeys = (): ReadonlySet<string> =>
    new Set([...this.#entries.values()].flatMap(({ info }) => info.team ?? []));

  /** The IDs of the keys above a key in memory, the nearest first; null for a key that is not. Cheap. */
  readonly lineOf = (id: string): readonly string[] | null => {
    const entry = this.entryOf(id) ?? this.#ended.get(id);
    return entry ? (entry.authentication.caller.line ?? []) : null;
  };

  /** The IDs of the keys above a key, the nearest first. Rejects with StoreError. */
  readonly above = async (id: string): Promise<readonly string[]> => (await linesOf([id], this.named))(id);

  /** The IDs of the unrevoked keys in this instance's copy whose terms match. */
  readonly idsWhere = (matches: (info: KeyEntry['info']) => boolean): readonly string[] =>
    [...this.#entries.values()].flatMap(({ inForce }) => (matches(inForce) ? [inForce.id] : []));

  /** The IDs of the keys of owners, or of a name, revoked or not, as the store has them. Rejects with StoreError. */
  readonly idsOf = (of: KeyOwner): Promise<readonly string[]> => this.store.keys.idsOf(of);

  /** The IDs of keys that descend from a key, revoked or not, at most `limit`. Rejects with StoreError. */
  readonly idsBelow = (id: string, limit: number): Promise<readonly string[]> => this.store.keys.idsBelow(id, limit);

  /** The keys of this instance's copy that expire after a time, ms since 1970. */
  expiringAfter(time: number): readonly KeyEntry['info'][] {
    const infos = [...this.#entries.values()].map(({ info }) => info);
    return infos.filter(({ expiresAt }) => expiresAt !== null && expiresAt > time);
  }

  /** The entry of the key that credentials are of, valid or not, with the hash of what was presented; null for none. */
  protected presented(credentials: string | null): { readonly entry: KeyEntry; readonly hash: Uint8Array } | null {
    const key = credentials === null ? null : bearerOf(credentials);
    const parts = key === null ? null : parseKey(key);
    const entry = parts ? this.#entries.get(parts.id) : undefined;
    return key !== null && entry ? { entry, hash: hashOf(key) } : null;
  }

  /** The keys that a key has made, in the order in which this instance has read them. */
  protected entriesBelow(id: string): KeyEntry[] {
    return [...(this.#below.get(id) ?? [])].flatMap((below) => this.entryOf(below) ?? []);
  }

  /** The budgets of all valid keys that have some. Cheap. */
  budgets(): readonly KeyBudgets[] {
    const now = this.now();
    return [...this.#budgets.values()].filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  }

  /** Reads what others have changed, and puts new budgets in force; writes last uses once a minute. */
  async refresh(): Promise<void> {
    if (this.now() - this.#usesWrittenAt >= USES_EVERY_MS) this.#writeUses();
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

  protected entryOf(id: string): KeyEntry | undefined {
    return this.#entries.get(id) ?? this.#waiting.get(id);
  }

  /** As it is stored, with the last use that this process knows of. A child key that is not in memory was revoked with a key above it. */
  protected infoOf({ key: { info }, lastUsedAt }: KeyRow): KeyInfo {
    const entry = this.entryOf(info.id) ?? this.#ended.get(info.id);
    const usedAt = Math.max(entry?.usedAt ?? 0, lastUsedAt ?? 0);
    const isAbsent = info.parent !== null && !entry && !this.#isLongOver(info);
    const inForce = info.parent === null ? null : isAbsent ? inForceAlone(info) : entry?.inForce;
    return { ...info, lastUsedAt: usedAt === 0 ? null : usedAt, ...(inForce && { inForce }) };
  }

  #writeUses(): void {
    this.#usesWrittenAt = this.now();
    const used = [...this.#entries.values()].filter(({ usedAt, writtenAt }) => usedAt > writtenAt);
    for (const entry of this.#entries.values()) if (this.#isForgotten(entry)) this.#leave(entry);
    if (used.length === 0) return;
    const uses = Object.fromEntries(used.map(({ info, usedAt }) => [info.id, usedAt]));
    this.store.append([this.store.keys.putUses(uses)]);
    for (const entry of used) entry.writtenAt = entry.usedAt;
  }

  /** Brings the copy up to the store. Rejects with StoreError, and has then changed nothing. */
  async #read(): Promise<void> {
    const { rows, through } = await this.store.keys.changedAfter(this.#through, this.now() - LONG_OVER_MS);
    // A reading that began earlier may end later: it has nothing new.
    if (through <= this.#through) return;
    this.#through = through;
    for (const row of rows) this.#put(row);
    for (const { key } of rows) {
      const { id, parent, revokedAt } = key.info;
      const entry = this.entryOf(id);
      const isOrphan = parent !== null && !this.entryOf(parent);
      if (entry && (revokedAt !== null || isOrphan || this.#isForgotten(entry))) this.#leave(entry);
    }
  }

  /** Whether a child key expired long ago, with all below it: agents leave thousands of them. A later end brings one back. */
  #isForgotten({ info }: KeyEntry): boolean {
    return info.parent !== null && this.#isLongOver(info) && !this.#below.get(info.id)?.size;
  }

  /** Removes an ended key and its child keys from the copy. */
  #leave(entry: KeyEntry): void {
    const { id, parent } = entry.info;
    for (const below of this.entriesBelow(id)) this.#leave(below);
    if (entry.usedAt > entry.writtenAt) this.store.append([this.store.keys.putUses({ [id]: entry.usedAt })]);
    this.#entries.delete(id);
    this.#waiting.delete(id);
    this.#below.delete(id);
    if (parent !== null) this.#below.get(parent)?.delete(id);
    if (this.#budgets.delete(id)) this.#mustCount = this.#isOpen;
    // The line of a child key is not known if its parent was never in memory.
    if (parent !== null && !entry.authentication.caller.line) return;
    this.#ended.set(id, endedEntry(entry));
    if (this.#ended.size > ENDED_MAX) this.#ended.delete(this.#ended.keys().next().value!);
  }

  /** Takes over a key that has changed. A new one with budgets waits for them. */
  #put(row: KeyRow): void {
    const { id, parent, budgets, revokedAt, expiresAt } = row.key.info;
    const entry = keyEntryOf(row, this.entryOf(id), this.#holders);
    const own = revokedAt === null && budgets.length > 0 ? { keyId: id, budgets, expiresAt } : null;
    const before = this.#budgets.get(id);
    if (own) this.#budgets.set(id, own);
    else this.#budgets.delete(id);
    if (JSON.stringify(before?.budgets) !== JSON.stringify(own?.budgets)) this.#mustCount = this.#isOpen;
    const isNew = this.#isOpen && this.#onChange !== undefined && !this.#entries.has(id);
    const mustWait = isNew && (own !== null || (parent !== null && !this.#entries.has(parent)));
    if (mustWait) this.#waiting.set(id, entry);
    else this.#waiting.delete(id);
    if (!mustWait) this.#entries.set(id, entry);
    // An admission that is under way does not know of it.
    if (mustWait) this.#mustCount = true;
    if (parent !== null) this.#below.getOrInsertComputed(parent, () => new Set()).add(id);
    this.#bringInLine(entry);
  }

  /** Whether a key can only come back by a change of its own. */
  #isLongOver({ revokedAt, expiresAt }: KeyEntry['info']): boolean {
    return revokedAt !== null || (expiresAt !== null && expiresAt < this.now() - LONG_OVER_MS);
  }

  /** Brings a key in line with the one above it, and then those below it. */
  #bringInLine(entry: KeyEntry, depth = 0): void {
    const { id, parent } = entry.info;
    if (parent !== null) bringInLine(entry, this.entryOf(parent));
    if (depth >= LINE_LIMITS.depth) return;
    for (const below of this.entriesBelow(id)) if (!this.#isLongOver(below.info)) this.#bringInLine(below, depth + 1);
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
