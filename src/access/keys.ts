import { FULL_SCOPES } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
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

/** A new or rotated key. `key` is available only here: the store has its hash. */
export interface IssuedKey {
  readonly key: string;
  readonly info: KeyInfo;
}

/** Returns a key as it is from `now` on, ms since 1970. */
type Alteration = (before: KeyInfo, now: number) => KeyInfo;
/** Tags, as `keyTag` returns them, of which the key must have one; null for any. */
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

/** The API keys. Every change is committed together with its entry in the trail. */
export type Keys = Omit<StoredKeys, 'open'>;

/** The changes of keys, with the copy that follows them. */
class StoredKeys extends KeyCopy {
  /**
   * Makes a key. Throws KeyTermsError, also for a maker without room for another key.
   * @param key made by `newKey`, for a caller that must store it before it becomes valid.
   * @param maker the ID of the user whose limits count; null for operators, who have none
   */
  async create(
    grant: KeyGrant,
    by: Actor = SERVER,
    { key = newKey(), maker = null }: { readonly key?: string; readonly maker?: string | null } = {},
  ): Promise<IssuedKey> {
    return { key, info: await this.#insert(key, grant, 'create', by, { maker }) };
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
    const grant: KeyGrant = { name, scopes: ['chat', 'route'] };
    return { key, info: await this.#insert(key, grant, 'create', by, { holder, first }) };
  }

  /**
   * Makes a key below another, which has at most its terms, at every moment, and ends with the secret that made it.
   * @param credentials of the key that makes it
   * @param grant with all scopes that can be given, but `delegate`, where it states none
   * @returns its terms as they are in force; null where the credentials are those of no valid key
   * @throws KeyTermsError and changes nothing: for terms beyond those of the key, or a line that has no room
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

  /** The keys that a key has made and that may still be used, or resumed, with their terms in force; oldest first. */
  async below(id: string): Promise<readonly KeyInfo[]> {
    await this.refresh();
    const all = this.entriesBelow(id).map((entry) => infoOf(entry, entry.inForce));
    const open = all.filter((info) => ['valid', 'suspended'].includes(keyStateOf(info, this.now())));
    return open.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** The valid keys of a holder (address in lower case), oldest first. */
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

  /** Selects the keys at commit time, so that one being made cannot slip through. */
  #revokeWrites(actor: Extract<Actor, { kind: 'wallet' }>, exceptId: string | null): readonly Write[] {
    const { name: holder } = actor;
    const time = this.now();
    const event = { time, actor, action: 'revoke', details: {} } as const;
    const { keys, trail } = this.store;
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
    // A revoked key is not in the copy.
    const row = await this.store.keys.find(id);
    if (!row) return this.#insert(key, { name: 'installed', scopes: FULL_SCOPES }, 'install', SERVER);
    const entry = this.entryOf(id) ?? keyEntryOf(row, undefined, new Map());
    checkInstalled(entry, hashOf(key), this.now());
    return infoOf(entry, entry.info);
  }

  /**
   * Gives a valid or suspended key another secret. The present one works for `overlapMs` more, an older one no longer.
   * @returns null for no such key.
   * @throws KeyTermsError.
   */
  async rotate(id: string, overlapMs: number, by: Actor = SERVER): Promise<IssuedKey | null> {
    if (!Number.isSafeInteger(overlapMs) || overlapMs < 0 || overlapMs > OVERLAP_MAX_MS) {
      throw new KeyTermsError('overlap_seconds', 'The old secret can stay valid for 0 seconds to 30 days.');
    }
    const before = await this.get(id);
    const now = this.now();
    // A secret that leaked is replaced before its suspended key is resumed.
    if (!before || !['valid', 'suspended'].includes(keyStateOf(before, now))) return null;
    const ends = now + overlapMs;
    const key = keyOf(id, crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
    const details = { overlap_ends_at: iso(ends) };
    const event = { time: now, actor: by, action: 'rotate', keyId: id, details } as const;
    const { keys, trail } = this.store;
    const isWritten = await this.#commit([trail.addIfValid(event, now), keys.rotate(id, hashOf(key), now, ends)]);
    // Not read again: a failed read must not lose the new secret.
    return isWritten ? { key, info: { ...before, rotatedAt: now, overlapEndsAt: ends } } : null;
  }

  /**
   * Revokes a key: here at once, in other processes within `refreshMs`. Returns false if there was none.
   * @throws KeyConflict for the last admin key, and what `check` throws for the key as the commit finds it
   */
  async revoke(id: string, by: Actor = SERVER, check: (before: KeyInfo) => void = () => {}): Promise<boolean> {
    const alter: Alteration = (before, time) => {
      check(before);
      return { ...before, revokedAt: time };
    };
    return (await this.#alter(id, 'revoke', alter, by, null)) !== null;
  }

  /**
   * Changes the terms of a key that is not revoked, here at once. The change is committed with its entry in the trail, which has the
   * terms before and after; one that changes nothing has none. Where two come at once, the later one is applied to the result of the
   * earlier.
   * @param alter returns the key with its new terms. It may be called several times.
   * @param tags the key must have one of these, as `keyTag` returns them; null for any
   * @returns the key; null without such a key
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

  /** Suspends a key until it is resumed. Suspending it again changes nothing. As `change`. */
  suspend(id: string, by: Actor = SERVER, tags: Tags = null): Promise<KeyInfo | null> {
    const alter: Alteration = (before, time) => ({ ...before, suspendedAt: before.suspendedAt ?? time });
    return this.#alter(id, 'suspend', alter, by, tags);
  }

  /** Ends the suspension of a key. As `change`. */
  resume(id: string, by: Actor = SERVER, tags: Tags = null): Promise<KeyInfo | null> {
    return this.#alter(id, 'resume', (before) => ({ ...before, suspendedAt: null }), by, tags);
  }

  /** Changes a key that is not revoked, on the condition that it is as it was read; else reads it again. */
  async #alter(
    id: string,
    action: 'change' | 'suspend' | 'resume' | 'revoke',
    alter: Alteration,
    actor: Actor,
    tags: Tags,
  ): Promise<KeyInfo | null> {
    const { keys, people, trail } = this.store;
    // A change that was made elsewhere is in force here, too, once this one is answered.
    await this.refresh();
    let refused = -1;
    let isMoved = false;
    for (;;) {
      const row = await keys.find(id);
      if (!row || row.key.info.revokedAt !== null) return null;
      // Of all conditions, only those on other admin keys and on its people can fail without a change of this one.
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
      if (await this.#commit([entry, ...member, isRevoked ? keys.revoke(id, time) : keys.change(after)])) {
        const inForce = after.parent === null ? null : this.entryOf(id)?.inForce;
        return { ...after, ...(inForce && { inForce }) };
      }
    }
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

  /** Reads keys, revoked ones too, oldest first, a batch at a time. Rejects with StoreError. */
  async *read(query: Omit<KeyPageQuery, 'limit'>): AsyncGenerator<KeyInfo> {
    await this.refresh();
    const rows = inBatches<KeyRow>((last, limit) =>
      this.store.keys.page({ ...query, ...(last && { after: last.key.info }), limit }),
    );
    for await (const row of rows) yield this.infoOf(row);
  }

  /** Changes of keys, newest first. */
  trail(query: TrailQuery): Promise<TrailEntry[]> {
    return this.store.trail.list(query);
  }

  /** `holder`: of the key. `place`: below another key. `maker`: a user with limits. `first`: writes for the same commit. Throws KeyTermsError. */
  async #insert(
    key: string,
    grant: KeyGrant,
    action: 'create' | 'install',
    actor: Actor,
    { holder = null, place = null, maker = null, first = [] }: NewKeyPlace = {},
  ): Promise<KeyInfo> {
    const parts = parseKey(key);
    if (!parts) throw new Error('a key was made that cannot be read');
    checkTerms(grant, place !== null);
    checkModelBytes('key', grant.models ?? null);
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
    if (await this.#commit(writes)) return info;
    if (place) throw tooManyBelow();
    if (holder !== null) throw tooManyKeys();
    throw owner ? await this.#refusalOf(owner, time) : noMember();
  }

  /** Why a user's key was not made: the user has no room for it, or is not the member that it was. */
  async #refusalOf(owner: UserRoom, time: number): Promise<KeyTermsError> {
    const counts = await this.store.keys.countOfUser(owner, time);
    const isFull = counts.unrevoked >= owner.unrevoked || counts.aDay >= owner.aDay;
    return isFull ? tooManyOfUser(counts, owner.owner === owner.maker) : noMember();
  }

  /** Commits a change. Returns false where its condition is not met. */
  async #commit(writes: readonly Write[]): Promise<boolean> {
    const isWritten = await isMet(this.store.commit(writes));
    // If the disk cannot be read now, the change must still not look undone; the news repeats the reading.
    await this.refresh().catch(() => {});
    return isWritten;
  }
}
