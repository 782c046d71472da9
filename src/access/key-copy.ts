import { budgetsAt, type Caller, type KeyBudgets } from '../core/people/caller.ts';
import { DAY_MS } from '../core/time/clock.ts';
import type { Timer, Timers } from '../core/time/timers.ts';
import { processTimers } from '../host/telemetry/process-timers.ts';
import { registerForeignKey } from '../host/telemetry/secrets.ts';
import type { KeyInfo, KeyName, KeyOwner, KeyRow } from '../store/keys.ts';
import type { News } from '../store/news.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import { bearerOf, canBeForeign, hashOf, isKeyId, parseKey } from './key.ts';
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
  /**
   * How often the copy tries again to apply budgets that failed, and checks whether last uses are due, ms. If the interval is absent, the
   * owner of the copy calls `refresh`. Changes by other servers arrive through the news of the store.
   */
  readonly refreshMs?: number;
  /** The timers for regular work; by default the timers of the process. */
  readonly timers?: Timers;
  /**
   * Called when the budgets of keys change; `budgets()` returns them. A new key with budgets works only when the promise has resolved, so
   * that it cannot overspend. After a rejection, the next `refresh` calls `onChange` again.
   */
  readonly onChange?: () => void | Promise<void>;
  /**
   * Whether a user, given by ID, is suspended or removed, so that its keys are refused. The function must be cheap. If the function is
   * absent, no user counts as suspended or removed.
   */
  readonly isOut?: (user: string) => boolean;
}

/** Last uses are collected in memory, so that using a key causes no write. */
const USES_EVERY_MS = 60_000;
/** The time after which an ended key counts as long over. The time is longer than any correction of a clock. */
const LONG_OVER_MS = DAY_MS;
/**
 * The most ended keys in memory, with those that a start reads. Requests in progress need ended keys, and the record of a request with the
 * secret of an ended key names the key.
 */
const ENDED_MAX = 1_000;
/** A presented key: the ID of the key that it may be, '' for no key, and its hash. */
interface PresentedKey {
  readonly id: string;
  readonly hash: Uint8Array;
  /** Whether the text does not have the form of a Signalbox key, so that patterns do not find it in other texts. */
  readonly isForeign: boolean;
}

/** The form of a hash in which maps find it. */
const hashText = (hash: Uint8Array): string => Buffer.from(hash).toString('latin1');

/** How many IDs are looked up in the store at once. */
const NAMES_MAX = 500;

/** This instance's copy of the unrevoked keys, with their last uses and the keys that wait for their budgets. State: keys. */
export class KeyCopy {
  protected readonly store: KeysOptions['store'];
  protected readonly now: () => number;
  readonly #timer: Timer | null;
  readonly #deafen: () => void;
  readonly #onChange: KeysOptions['onChange'];
  readonly #isOut: (user: string) => boolean;
  /** This instance's copy of the store's unrevoked keys, without child keys of revoked keys. */
  readonly #entries = new Map<string, KeyEntry>();
  readonly #holders: HolderGrants = new Map(); // For every holder that ever had a key.
  /** The IDs of the keys that each key has created. */
  readonly #below = new Map<string, Set<string>>();
  /** The keys that left the copy most recently, oldest first, without the terms that only requests need. */
  readonly #ended = new Map<string, KeyEntry>();
  /** The IDs of the imported keys of `#entries`, `#waiting` and `#ended`, by the hash with which they were imported. */
  readonly #imported = new Map<string, string>();
  /** New keys whose budgets, or the budgets of the keys above them, are not active yet. */
  readonly #waiting = new Map<string, KeyEntry>();
  /** The budgets of unrevoked keys that have budgets. */
  readonly #budgets = new Map<string, KeyBudgets & Pick<KeyInfo, 'expiresAt'>>();
  /** Whether budgets have changed that no call of `onChange` has applied or will apply. */
  #mustCount = false;
  /** The number of the last news that the copy contains. */
  #through = -1;
  #isOpen = false;
  #usesWrittenAt: number;
  /** The imports that are running. */
  #imports = 0;
  /** The last admission of waiting keys. The last admission may still be running. */
  #admission: Promise<void> | null = null;

  constructor({ store, now, refreshMs, timers = processTimers, onChange, isOut = () => false }: KeysOptions) {
    this.store = store;
    this.now = now;
    this.#onChange = onChange;
    this.#isOut = isOut;
    this.#usesWrittenAt = now();
    const tick = () => {
      this.#writeDueUses();
      this.#admitInTurn();
    };
    this.#timer = refreshMs ? timers.every(refreshMs, tick) : null;
    this.#timer?.unref();
    // Do not wait for budgets here: the news may contain a revocation, which must apply at once. The next poll of the news repeats a failed
    // read, so no timer needs to read.
    this.#deafen = store.news.on('keys', async () => {
      await this.#read();
      this.#admitInTurn();
    });
  }

  /** Admits waiting keys, unless an import will admit its keys all at once. */
  #admitInTurn(): void {
    if (this.#imports === 0) this.#admit().catch(() => {});
  }

  /** Runs work that commits many keys, and admits them when the work ends, because each admission counts the budgets of all keys. */
  protected async admittedAtOnce<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#imports++;
    try {
      return await work();
    } finally {
      this.#imports--;
      this.#admitInTurn();
    }
  }

  /** Reads the keys. After that, the budgets of the keys must be applied. Rejects with StoreError. */
  async open(): Promise<void> {
    await this.#read();
    await this.#readEnded();
    this.#isOpen = true;
  }

  /** Checks an `Authorization` header without waiting. An unknown ID takes as long as a wrong secret, so that timing reveals nothing. */
  readonly authenticate = (header: string | null): Authentication => {
    if (!header) return DENIED.missing;
    const key = bearerOf(header);
    const presented = key === null ? null : this.find(key);
    if (key === null || !presented) return DENIED.malformed;
    const found = this.authenticateBy(presented.id, presented.hash);
    if (presented.isForeign && (found.caller ?? found.known)) registerForeignKey(key);
    return found;
  };

  /**
   * Finds the key that a text may be: by its ID, or, for a text of another form, by its hash. Returns null for a text that can be no key.
   * An unknown text takes as long as a wrong secret.
   */
  readonly find = (text: string): PresentedKey | null => {
    const parts = parseKey(text);
    if (parts) return { id: parts.id, hash: hashOf(text), isForeign: false };
    if (this.#imported.size === 0 || !canBeForeign(text)) return null;
    const hash = hashOf(text);
    return { id: this.#imported.get(hashText(hash)) ?? '', hash, isForeign: true };
  };

  /** Checks the hash of a key that was presented earlier. Apart from that, this function works like `authenticate`. */
  readonly authenticateBy = (id: string, hash: Uint8Array): Authentication => {
    const valid = authenticationBy(this.#entries.get(id) ?? this.#ended.get(id), hash, this.now());
    const { user, team } = valid.caller ?? {};
    const isOfPeople = user !== undefined || team !== undefined;
    const found = user !== undefined && this.#isOut(user) ? { ...DENIED.suspended, known: valid.caller! } : valid;
    const ageMs = Math.max(this.store.news.ageOf('keys'), isOfPeople ? this.store.news.ageOf('people') : 0);
    return ageMs === 0 ? found : { ...found, ageMs };
  };

  /**
   * Whether a secret, given by its hash, works or may work again, such as the secret of a suspended key. The check does not count as a use
   * of the key.
   */
  readonly lives = (id: string, hash: Uint8Array): boolean => {
    const state = secretStateOf(this.#entries.get(id), hash, this.now());
    return state === 'valid' || state === 'suspended';
  };

  /** Authenticates a caller who may send requests as a key without having its secret. The authentication counts as a use of the key. */
  readonly actAs = (id: string): Authentication => {
    const entry = this.#entries.get(id);
    return entry ? this.authenticateBy(id, entry.hash) : DENIED.unknown;
  };

  /** Returns a key from this instance's copy; null for keys that were revoked some time ago, which `named` finds. Cheap. */
  readonly known = (id: string): KeyEntry['info'] | null => (this.entryOf(id) ?? this.#ended.get(id))?.inForce ?? null;

  /**
   * Returns the facts about keys that reports show, including revoked keys, from this instance's copy or else from the store. Rejects with
   * StoreError.
   */
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

  /** Returns the caller that a key represents now; null if the key does not work. Cheap. */
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

  /** Returns the IDs of the keys above a key in memory, nearest first; null for a key that is not in memory. Cheap. */
  readonly lineOf = (id: string): readonly string[] | null => {
    const entry = this.entryOf(id) ?? this.#ended.get(id);
    return entry ? (entry.authentication.caller.line ?? []) : null;
  };

  /** Returns the IDs of the keys above a key, nearest first. Rejects with StoreError. */
  readonly above = async (id: string): Promise<readonly string[]> => (await linesOf([id], this.named))(id);

  /** Returns the IDs of the unrevoked keys in this instance's copy whose terms match. */
  readonly idsWhere = (matches: (info: KeyEntry['info']) => boolean): readonly string[] =>
    [...this.#entries.values()].flatMap(({ inForce }) => (matches(inForce) ? [inForce.id] : []));

  /** Returns from the store the IDs of the keys of owners, or with a name, including revoked keys. Rejects with StoreError. */
  readonly idsOf = (of: KeyOwner): Promise<readonly string[]> => this.store.keys.idsOf(of);

  /** Returns the IDs of at most `limit` keys that descend from a key, including revoked keys. Rejects with StoreError. */
  readonly idsBelow = (id: string, limit: number): Promise<readonly string[]> => this.store.keys.idsBelow(id, limit);

  /** Returns the keys of this instance's copy that expire after a time, ms since 1970. */
  expiringAfter(time: number): readonly KeyEntry['info'][] {
    const infos = [...this.#entries.values()].map(({ info }) => info);
    return infos.filter(({ expiresAt }) => expiresAt !== null && expiresAt > time);
  }

  /** Finds the entry of the key in the credentials, whether it is valid or not, and the hash of the presented key; null for none. */
  protected presented(credentials: string | null): { readonly entry: KeyEntry; readonly hash: Uint8Array } | null {
    const key = credentials === null ? null : bearerOf(credentials);
    const presented = key === null ? null : this.find(key);
    const entry = presented ? this.#entries.get(presented.id) : undefined;
    return presented && entry ? { entry, hash: presented.hash } : null;
  }

  /** Returns the keys that a key has created, in the order in which this instance read them. */
  protected entriesBelow(id: string): KeyEntry[] {
    return [...(this.#below.get(id) ?? [])].flatMap((below) => this.entryOf(below) ?? []);
  }

  /**
   * Returns the budgets of all valid keys that have budgets. Cheap.
   * @param at the earliest moment for which the result must be right, ms since 1970
   */
  budgets(at = 0): readonly KeyBudgets[] {
    const now = Math.max(at, this.now());
    return [...this.#budgets.values()]
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
      .map(({ keyId, budgets }) => ({ keyId, budgets: budgetsAt(budgets, now) }));
  }

  /** Reads the changes of other servers, such as a revocation, without waiting for new budgets. Rejects with StoreError. */
  readonly readChanges = (): Promise<void> => this.#read();

  /** Reads the changes of other servers and applies new budgets. Writes last uses once a minute. */
  async refresh(): Promise<void> {
    this.#writeDueUses();
    await this.#read();
    await this.#admit();
  }

  /** Resolves when every change that was committed before the call is active, including new budgets. */
  async putInForce(): Promise<void> {
    await this.refresh();
    await this.admission();
  }

  /**
   * Resolves when the budgets that the last reads found are active, because another read may have found the change of this caller and may
   * still wait for its budgets. Rejects if they could not be applied.
   */
  protected async admission(): Promise<void> {
    await this.#admission;
  }

  /** Stops the regular refresh and writes last uses. The server calls `close` before it closes the store. */
  close(): void {
    this.#timer?.close();
    this.#deafen();
    this.#writeUses();
  }

  protected entryOf(id: string): KeyEntry | undefined {
    return this.#entries.get(id) ?? this.#waiting.get(id);
  }

  /**
   * Returns a key as the store has it, with the last use that this process knows. A child key that is not in memory was revoked together
   * with a key above it.
   */
  protected infoOf({ key: { info }, lastUsedAt }: KeyRow): KeyInfo {
    const entry = this.entryOf(info.id) ?? this.#ended.get(info.id);
    const usedAt = Math.max(entry?.usedAt ?? 0, lastUsedAt ?? 0);
    const isAbsent = info.parent !== null && !entry && !this.#isLongOver(info);
    const inForce = info.parent === null ? null : isAbsent ? inForceAlone(info) : entry?.inForce;
    return { ...info, lastUsedAt: usedAt === 0 ? null : usedAt, ...(inForce && { inForce }) };
  }

  #writeDueUses(): void {
    if (this.now() - this.#usesWrittenAt >= USES_EVERY_MS) this.#writeUses();
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

  /** Updates the copy from the store. Rejects with StoreError and then has changed nothing. */
  async #read(): Promise<void> {
    const after = this.#through;
    const { rows, through } = await this.store.keys.changedAfter(after, this.now() - LONG_OVER_MS);
    // A read of the keys that began before another read may end after it, and then has nothing new.
    if (through <= this.#through) return;
    // A first read leaves out revoked keys, so it cannot end a key that another first read has put into the copy.
    if (after < 0 && this.#through >= 0) return this.#read();
    this.#through = through;
    for (const row of rows) this.#put(row);
    for (const { key } of rows) {
      const { id, parent, revokedAt } = key.info;
      const entry = this.entryOf(id);
      const isOrphan = parent !== null && !this.entryOf(parent);
      if (entry && (revokedAt !== null || isOrphan || this.#isForgotten(entry))) this.#leave(entry);
    }
  }

  /** Reads the keys that ended before this process, as if they had ended while it runs. Rejects with StoreError. */
  async #readEnded(): Promise<void> {
    const rows = await this.store.keys.ended(ENDED_MAX, this.now() - LONG_OVER_MS);
    // A key that is in the copy changes with its news, which may have moved its expiry since.
    const ended = rows.filter(({ key }) => !this.entryOf(key.info.id));
    // The line of a child key is computed from the older keys above it, so all keys enter the copy before one leaves it.
    for (const row of ended) this.#put(row);
    for (const { key } of ended) {
      const entry = this.entryOf(key.info.id);
      if (entry) this.#leave(entry);
    }
  }

  /**
   * Whether a child key expired long ago, together with all keys below it. Agents leave thousands of expired child keys. A later expiry
   * time brings a key back.
   */
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
    // If the parent was never in memory, the line of the child key is unknown.
    if (parent !== null && !entry.authentication.caller.line) return;
    this.#ended.set(id, endedEntry(entry));
    if (this.#ended.size <= ENDED_MAX) return;
    const [first] = this.#ended.values();
    if (!first) return;
    this.#ended.delete(first.info.id);
    if (first.importedHash) this.#imported.delete(hashText(first.importedHash));
  }

  /** Updates the copy with a changed key. A new key with budgets must wait for its budgets. */
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
    // An admission that is already running does not know this key.
    if (mustWait) this.#mustCount = true;
    if (entry.importedHash) this.#imported.set(hashText(entry.importedHash), id);
    if (parent !== null) this.#below.getOrInsertComputed(parent, () => new Set()).add(id);
    this.#bringInLine(entry);
  }

  /** Whether a key can become valid again only by a change of its own terms. */
  #isLongOver({ revokedAt, expiresAt }: KeyEntry['info']): boolean {
    return revokedAt !== null || (expiresAt !== null && expiresAt < this.now() - LONG_OVER_MS);
  }

  /** Computes the effective terms of a key from the key above it, and then the effective terms of the keys below the key. */
  #bringInLine(entry: KeyEntry, depth = 0): void {
    const { id, parent } = entry.info;
    if (parent !== null) bringInLine(entry, this.entryOf(parent));
    if (depth >= LINE_LIMITS.depth) return;
    for (const below of this.entriesBelow(id)) if (!this.#isLongOver(below.info)) this.#bringInLine(below, depth + 1);
  }

  /** Applies changed budgets, and then admits the keys that wait for them. */
  async #admit(): Promise<void> {
    if (!this.#mustCount) return;
    this.#mustCount = false;
    this.#admission = this.#admitWaiting([...this.#waiting.keys()]);
    await this.#admission;
  }

  /**
   * Admits waiting keys once the budgets of the keys count. Uses the current state of the keys, because a later read may have changed or
   * revoked them.
   */
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
