import { FULL_SCOPES } from '../core/people/caller.ts';
import { iso } from '../core/time/clock.ts';
import { inBatches } from '../store/batches.ts';
import { type KeyInfo, type KeyPageQuery, type KeyRow, NO_KEY_TERMS } from '../store/keys.ts';
import { isMet, type Write } from '../store/store.ts';
import {
  type Actor,
  type KeyEvent,
  type PlaceBelow,
  SERVER,
  type TrailEntry,
  type TrailQuery,
  type UserRoom,
} from '../store/trail.ts';
import { hashOf, isStrong, keyOf, newKey, parseKey, SECRET_BYTES } from './key.ts';
import { termsBody } from './key-body.ts';
import { KeyCopy, type KeysOptions } from './key-copy.ts';
import { authenticationBy, checkInstalled, holderOf, infoOf, keyEntryOf, keyStateOf } from './key-entry.ts';
import { type ImportedKey, importKeys, type KeyImport } from './key-import.ts';
import { adminLossAt, checkChange, differenceOf, KeyConflict, keyTag } from './key-patch.ts';
import { checkBelow, LINE_LIMITS, scopesFor, tooManyBelow } from './line.ts';
import {
  checkHolder,
  checkModelBytes,
  checkTerms,
  checkText,
  HOLDER_LIMITS,
  type KeyGrant,
  KeyTermsError,
  noMember,
  OVERLAP_MAX_MS,
  statedTerms,
  tooManyKeys,
  tooManyOfUser,
  USER_LIMITS,
} from './terms.ts';

/** A new or rotated key. `key` is available only here, because the store has only its hash. */
export interface IssuedKey {
  readonly key: string;
  readonly info: KeyInfo;
}

/** Returns a key with the terms that the key has from `now` (ms since 1970) on. */
type Alteration = (before: KeyInfo, now: number) => KeyInfo;
/** Tags from `keyTag`. The key must have one of them; null accepts any. */
export type Tags = readonly string[] | null;

/** Where a new key belongs. */
interface NewKeyPlace {
  readonly holder?: string | null;
  readonly place?: PlaceBelow | null;
  readonly maker?: string | null;
  readonly first?: readonly Write[];
}

export async function openKeys(options: KeysOptions): Promise<Keys> {
  const keys = new StoredKeys(options);
  await keys.open();
  return keys;
}

/** The API keys. Every change is committed together with its entry in the audit trail. */
export type Keys = Omit<StoredKeys, 'open'>;

/** Changes keys, and keeps the copy up to date. */
class StoredKeys extends KeyCopy {
  /**
   * Creates a key. Throws KeyTermsError, also if the maker may not create another key.
   * @param key from `newKey`, for a caller that must store it before it becomes valid
   * @param maker the ID of the user whose limits count; null for operators, who have no limits
   */
  async create(
    grant: KeyGrant,
    by: Actor = SERVER,
    { key = newKey(), maker = null }: { readonly key?: string; readonly maker?: string | null } = {},
  ): Promise<IssuedKey> {
    return { key, info: await this.#insert(key, grant, 'create', by, { maker }) };
  }

  /**
   * Creates a key that spends a holder's balance. The new key has the scopes `chat` and `route`, and neither expiry nor limits.
   * @param isAlone whether the same commit revokes all other keys of the holder
   * @param from the caller's address, for the audit trail
   * @throws KeyTermsError and changes nothing, for an invalid name, or if the holder has 20 valid keys or has created 50 keys within 24
   * hours
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
    const grant: KeyGrant = { name, scopes: ['chat', 'route'] };
    return { key, info: await this.#insert(key, grant, 'create', by, { holder, first }) };
  }

  /**
   * Creates a child key. A child key always has at most the current terms of its parent, and the child stops working together with the
   * secret that created it.
   * @param credentials of the parent
   * @param grant if it states no scopes, the child gets all scopes that can be given except `delegate`
   * @returns the effective terms; null if the credentials are not a valid key
   * @throws KeyTermsError and changes nothing, for terms that the parent does not have, or if the line has too many keys
   */
  async createBelow(
    credentials: string | null,
    grant: Omit<KeyGrant, 'scopes'> & Partial<Pick<KeyGrant, 'scopes'>>,
    by: Actor,
  ): Promise<IssuedKey | null> {
    const above = this.presented(credentials);
    const isValid = () => above && authenticationBy(above.entry, above.hash, this.now()).caller !== null;
    if (!above || !isValid()) return null;
    const { inForce } = above.entry;
    const { id: parent, team, user } = inForce;
    const terms = { ...grant, scopes: grant.scopes ?? scopesFor(inForce), team, user };
    checkTerms(terms, true);
    checkBelow(terms, inForce);
    const place = { ...LINE_LIMITS, parent, hash: above.hash };
    const key = newKey();
    try {
      const info = await this.#insert(key, terms, 'create', by, { place });
      const entry = this.entryOf(info.id);
      return { key, info: entry ? infoOf(entry, entry.inForce) : info };
    } catch (cause) {
      if (cause instanceof KeyTermsError && !isValid()) return null;
      throw cause;
    }
  }

  /** Returns the keys that a key has created and that work or can be resumed, with their effective terms; oldest first. */
  async below(id: string): Promise<readonly KeyInfo[]> {
    await this.refresh();
    const all = this.entriesBelow(id).map((entry) => infoOf(entry, entry.inForce));
    const open = all.filter((info) => ['valid', 'suspended'].includes(keyStateOf(info, this.now())));
    return open.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** Returns the valid keys of a holder (address in lower case), oldest first. */
  async ofHolder(holder: string): Promise<readonly KeyInfo[]> {
    await this.refresh();
    const own = (await this.store.keys.ofHolder(holder)).map((row) => this.infoOf(row));
    return own.filter((info) => keyStateOf(info, this.now()) === 'valid');
  }

  /** Revokes all keys of a holder, except one if given. Returns their number. */
  async revokeOfHolder(holder: string, exceptId: string | null): Promise<number> {
    const others = (await this.ofHolder(holder)).filter(({ id }) => id !== exceptId);
    await this.#commit(this.#revokeWrites({ kind: 'wallet', name: holder }, exceptId));
    return others.length;
  }

  /** The commit selects the keys, so that a key that is being created at the same time is revoked, too. */
  #revokeWrites(actor: Extract<Actor, { kind: 'wallet' }>, exceptId: string | null): readonly Write[] {
    const { name: holder } = actor;
    const time = this.now();
    const event = { time, actor, action: 'revoke', details: {} } as const;
    const { keys, trail } = this.store;
    return [trail.addOfHolder(event, holder, exceptId), keys.revokeOfHolder(holder, exceptId, time)];
  }

  /**
   * Imports keys of other gateways, as `importKeys` describes.
   * @param by null to change nothing
   */
  import(keys: readonly ImportedKey[], by: Actor | null): Promise<readonly KeyImport[]> {
    const infoOf = (row: KeyRow) => this.infoOf(row);
    const parts = { store: this.store, now: this.now, infoOf, apply: () => this.putInForce() };
    return this.admittedAtOnce(() => importKeys(keys, by, parts));
  }

  /**
   * Makes a given key valid, with all scopes. Repeating the call changes nothing.
   * @throws an Error of one sentence for a malformed, weak, expired, revoked or rotated key, or for an ID that is already used
   */
  async install(key: string): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('The key to install does not have the form sb_live_<id>_<secret>.');
    const { id } = parts;
    if (!isStrong(parts)) {
      throw new Error(
        `The secret of the key ${id} is too short. It needs at least 22 base64url characters, which are 128 random bits.`,
      );
    }
    await this.refresh();
    // Read the store, because the copy does not contain revoked keys.
    const row = await this.store.keys.find(id);
    if (!row) return this.#insert(key, { name: 'installed', scopes: FULL_SCOPES }, 'install', SERVER);
    const entry = this.entryOf(id) ?? keyEntryOf(row, undefined, new Map());
    checkInstalled(entry, hashOf(key), this.now());
    return infoOf(entry, entry.info);
  }

  /**
   * Gives a valid or suspended key a new secret. The current secret works for another `overlapMs`. An older secret stops working.
   * @returns null if there is no such key
   * @throws KeyTermsError
   */
  async rotate(id: string, overlapMs: number, by: Actor = SERVER): Promise<IssuedKey | null> {
    if (!Number.isSafeInteger(overlapMs) || overlapMs < 0 || overlapMs > OVERLAP_MAX_MS) {
      throw new KeyTermsError('overlap_seconds', 'The old secret can stay valid for 0 seconds to 30 days.');
    }
    const before = await this.get(id);
    const now = this.now();
    // A suspended key can be rotated, too, so that a leaked secret is replaced before the key is resumed.
    if (!before || !['valid', 'suspended'].includes(keyStateOf(before, now))) return null;
    const ends = now + overlapMs;
    const key = keyOf(id, crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
    const details = { overlap_ends_at: iso(ends) };
    const event = { time: now, actor: by, action: 'rotate', keyId: id, details } as const;
    const { keys, trail } = this.store;
    const isWritten = await this.#commit([trail.addIfValid(event, now), keys.rotate(id, hashOf(key), now, ends)]);
    // The rotated key is not read again, because the new secret would be lost if the read failed.
    return isWritten ? { key, info: { ...before, rotatedAt: now, overlapEndsAt: ends } } : null;
  }

  /**
   * Revokes a key: at once on this server, within `refreshMs` on others. Returns false if there was no key.
   * @throws KeyConflict for the last admin key, and the error that `check` throws for the key at the time of the commit
   */
  async revoke(id: string, by: Actor = SERVER, check: (before: KeyInfo) => void = () => {}): Promise<boolean> {
    const alter: Alteration = (before, time) => {
      check(before);
      return { ...before, revokedAt: time };
    };
    return (await this.#alter(id, 'revoke', alter, by, null)) !== null;
  }

  /**
   * Changes the terms of a key that is not revoked. The change applies on this server at once. A change is committed together with its
   * entry in the audit trail, which has the old and new terms. A change without effect has no entry. If two changes arrive at the same
   * time, the second one is applied to the result of the first.
   * @param alter returns the key with its new terms; may be called several times
   * @param tags from `keyTag`; the key must have one of them; null accepts any
   * @returns the key; null if there is no such key
   * @throws KeyTermsError for terms that a key cannot have, and KeyConflict for another tag or the last admin key
   */
  change(
    id: string,
    alter: (before: KeyInfo) => KeyInfo,
    by: Actor = SERVER,
    tags: Tags = null,
  ): Promise<KeyInfo | null> {
    const checked: Alteration = (before, now) => {
      const after = alter(before);
      checkChange(before, after, now);
      return after;
    };
    return this.#alter(id, 'change', checked, by, tags);
  }

  /** Suspends a key until it is resumed. Suspending a suspended key changes nothing. Apart from that, this function works like `change`. */
  suspend(id: string, by: Actor = SERVER, tags: Tags = null): Promise<KeyInfo | null> {
    const alter: Alteration = (before, time) => ({ ...before, suspendedAt: before.suspendedAt ?? time });
    return this.#alter(id, 'suspend', alter, by, tags);
  }

  /** Ends the suspension of a key. Apart from that, this function works like `change`. */
  resume(id: string, by: Actor = SERVER, tags: Tags = null): Promise<KeyInfo | null> {
    return this.#alter(id, 'resume', (before) => ({ ...before, suspendedAt: null }), by, tags);
  }

  /**
   * Changes a key that is not revoked, if it has not changed since it was read. If the key has changed, reads the key again and repeats the
   * change.
   */
  async #alter(
    id: string,
    action: 'change' | 'suspend' | 'resume' | 'revoke',
    alter: Alteration,
    actor: Actor,
    tags: Tags,
  ): Promise<KeyInfo | null> {
    const { keys, people, trail } = this.store;
    // When this change is confirmed, changes that other servers made before the confirmation must also be active on this server.
    await this.refresh();
    let refused = -1;
    let isMoved = false;
    for (;;) {
      const row = await keys.find(id);
      if (!row || row.key.info.revokedAt !== null) return null;
      // The row has not changed, so the condition that failed was about other admin keys or about the key's team and user.
      if (row.version === refused) throw isMoved ? noMember() : new KeyConflict('last_admin_key');
      refused = row.version;
      const { inForce: _, ...before } = this.infoOf(row);
      if (tags && !tags.includes(keyTag(before))) throw new KeyConflict('stale', keyTag(before));
      const time = this.now();
      const after = alter(before, time);
      const isRevoked = after.revokedAt !== null;
      const details = isRevoked ? {} : differenceOf(before, after);
      if (details === null) return before;
      isMoved = after.team !== before.team || after.user !== before.user;
      const member = isMoved ? [people.requireMembership(after)] : [];
      const condition = { version: row.version, otherAdminAt: adminLossAt(before, after, time) };
      const entry = trail.addIfUnchanged({ time, actor, action, keyId: id, details }, condition);
      // The answer to a revocation does not wait for the budgets of other keys.
      if (await this.#commit([entry, ...member, isRevoked ? keys.revoke(id, time) : keys.change(after)], !isRevoked)) {
        const inForce = after.parent === null ? null : this.entryOf(id)?.inForce;
        return { ...after, ...(inForce && { inForce }) };
      }
    }
  }

  /**
   * Grants Credits to a valid key. Returns false if there is no such key. Throws KeyTermsError.
   * @param write creates the grant for the holder of the balance: the key's holder if it has one, else the key
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
    const time = this.now();
    const recorded = info.holder === null ? details : { ...details, wallet: info.holder };
    const event = { time, actor: by, action: 'grant', keyId: id, details: recorded } as const;
    return this.#commit([this.store.trail.addIfValid(event, time), write(holderOf(info))]);
  }

  async get(id: string): Promise<KeyInfo | null> {
    await this.refresh();
    const row = await this.store.keys.find(id);
    return row && this.infoOf(row);
  }

  /** Whether the store never had a key. Rejects with StoreError. */
  async isEmpty(): Promise<boolean> {
    return (await this.store.keys.page({ after: null, limit: 1, of: null, isUnrevoked: false })).length === 0;
  }

  /** Reads keys in batches, including revoked keys, oldest first. Rejects with StoreError. */
  async *read(query: Omit<KeyPageQuery, 'limit'>): AsyncGenerator<KeyInfo> {
    await this.refresh();
    const rows = inBatches<KeyRow>((last, limit) =>
      this.store.keys.page({ ...query, ...(last && { after: last.key.info }), limit }),
    );
    for await (const row of rows) yield this.infoOf(row);
  }

  /** Returns changes of keys, newest first. */
  trail(query: TrailQuery): Promise<TrailEntry[]> {
    return this.store.trail.list(query);
  }

  /**
   * Inserts a key. `holder` pays for it, `place` is its place below another key, `maker` is a user with limits, and `first` are writes for
   * the same commit. Throws KeyTermsError.
   */
  async #insert(
    key: string,
    grant: KeyGrant,
    action: 'create' | 'install',
    actor: Actor,
    { holder = null, place = null, maker = null, first = [] }: NewKeyPlace = {},
  ): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('a new key has an unreadable form');
    checkTerms(grant, place !== null);
    checkModelBytes('key', grant.models ?? null);
    checkModelBytes('key', grant.notModels ?? null, null, 'not_models');
    const time = this.now();
    const terms = { ...NO_KEY_TERMS, ...statedTerms(grant) };
    const past = { revokedAt: null, suspendedAt: null, lastUsedAt: null, rotatedAt: null, overlapEndsAt: null };
    const info: KeyInfo = { id: parts.id, ...terms, ...past, holder, createdAt: time, parent: place?.parent ?? null };
    const { team, user } = info;
    const event: KeyEvent = { time, actor, action, keyId: info.id, details: termsBody(info) };
    const { keys, people, trail } = this.store;
    const member = team === null && user === null ? [] : [people.requireMembership({ team, user })];
    const subject = { kind: 'key', id: info.id };
    const owner = maker === null ? null : { owner: user ?? maker, maker, ...USER_LIMITS };
    const ofUser = () => (owner ? trail.addIfRoomOfUser(event, owner) : trail.add({ ...event, subject }));
    const ofHolder = () => (holder === null ? ofUser() : trail.addIfRoom(event, holder, HOLDER_LIMITS));
    const line = place ? trail.addIfRoomBelow(event, place) : ofHolder();
    const writes = [...first, ...member, line, keys.insert(info, hashOf(key), { parentHash: place?.hash, maker })];
    if (await this.#commit(writes, true)) return info;
    if (place) throw tooManyBelow();
    if (holder !== null) throw tooManyKeys();
    throw owner ? await this.#refusalOf(owner, time) : noMember();
  }

  /** Finds out why a user's key was not created: the user may not create more keys, or is no longer a member. */
  async #refusalOf(owner: UserRoom, time: number): Promise<KeyTermsError> {
    const counts = await this.store.keys.countOfUser(owner, time);
    const isFull = counts.unrevoked >= owner.unrevoked || counts.aDay >= owner.aDay;
    return isFull ? tooManyOfUser(counts, owner.owner === owner.maker) : noMember();
  }

  /**
   * Commits a change. Returns false if the condition of a write does not hold.
   * @param hasBudgets whether the change may concern budgets, which must count before the change is reported
   */
  async #commit(writes: readonly Write[], hasBudgets = false): Promise<boolean> {
    const isWritten = await isMet(this.store.commit(writes));
    // If the store cannot be read now, the committed change must still be reported as successful. The news of the store repeats the read.
    await (hasBudgets ? this.putInForce() : this.refresh()).catch(() => {});
    return isWritten;
  }
}
