import type { KeyBudget, KeyLimits, Scope } from '../core/people/caller.ts';
import type { Write } from './store.ts';
import type { UserRoom } from './trail.ts';

/** The terms of an API key. The creator of a key states its terms and can change the terms. Times are ms since 1970. */
export interface KeyTerms {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that the key may use; null for all. */
  readonly models: readonly string[] | null;
  /** IDs of the models that the key may not use, whatever `models` allows; null for none. */
  readonly notModels: readonly string[] | null;
  readonly limits: KeyLimits | null;
  readonly budgets: readonly KeyBudget[];
  /** Addresses of the holders that requests with the key may name; null for all. */
  readonly holders: readonly string[] | null;
  /** When the key expires; null for never. */
  readonly expiresAt: number | null;
  /** ID of the key's team; null for none. */
  readonly team: string | null;
  /** ID of the key's user; null for none. */
  readonly user: string | null;
}

/** The value of each term of a key if the creator does not state the term, and after the term is changed to null. */
export const NO_KEY_TERMS: KeyTerms = {
  name: '',
  scopes: [],
  labels: {},
  models: null,
  notModels: null,
  limits: null,
  budgets: [],
  holders: null,
  expiresAt: null,
  team: null,
  user: null,
};

/** The member names of `KeyTerms`. The columns, the trail and the changes of a key are derived from this list. */
export const KEY_TERMS = Object.keys(NO_KEY_TERMS) as readonly (keyof KeyTerms)[];

/** The data of a key without its hashes. Times are ms since 1970. */
export interface KeyInfo extends KeyTerms {
  readonly id: string;
  /** Address of the holder whose balance the key spends; null for a key that has its own balance. */
  readonly holder: string | null;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** When the key was suspended; null unless it is suspended. */
  readonly suspendedAt: number | null;
  /** ID of the parent key, which created this child key; null for a key without a parent. */
  readonly parent: string | null;
  /** When the key was last used; null for never. The use of a key on another server is visible here up to a minute later. */
  readonly lastUsedAt: number | null;
  /** When the key was last rotated; null for never. */
  readonly rotatedAt: number | null;
  /** Until when the old secret stays valid after the last rotation; null if the key was never rotated. */
  readonly overlapEndsAt: number | null;
  /**
   * The effective state of a child key whose parent keys are known. The states of the parent keys narrow this state, which is not stored.
   */
  readonly inForce?: Pick<KeyInfo, 'revokedAt' | 'expiresAt' | 'suspendedAt'>;
}

/** A stored API key. Hashes are SHA-256 of whole keys; the keys themselves are not stored. */
export interface StoredKey {
  readonly info: Omit<KeyInfo, 'lastUsedAt'>;
  readonly hash: Uint8Array;
  /** Hash of the secret before the last rotation; null if the key was never rotated. */
  readonly previousHash: Uint8Array | null;
  /** Hash of the parent key's secret at the time when it created this key; null without a parent. */
  readonly parentHash: Uint8Array | null;
  /** Hash of the text with which the key was imported, which stays after a rotation; null if Signalbox created the key. */
  readonly importedHash: Uint8Array | null;
}

export interface KeyRow {
  readonly key: StoredKey;
  readonly lastUsedAt: number | null;
  /** A value that changes with every change of the key except its last use. */
  readonly version: number;
}

export interface KeyChanges {
  readonly rows: readonly KeyRow[];
  /** The number that a caller passes to `changedAfter` to read the next changes of keys. */
  readonly through: number;
}

/** Who created a key. */
export interface KeyOrigin {
  /** SHA-256 of the parent key as the caller presented it; absent or null without a parent. */
  readonly parentHash?: Uint8Array | null | undefined;
  /**
   * ID of the user who creates the key and whose limits apply; absent or null for another creator. A child key counts for the user of the
   * first key of its line. If the first key has no user, the child key counts for the creator of the first key.
   */
  readonly maker?: string | null;
  /** Whether the key has another form than the keys of Signalbox, so that it is found by its hash; absent for false. */
  readonly isImported?: boolean;
}

/** The numbers of a user's keys, without child keys. */
export interface UserKeyCounts {
  /** Unrevoked keys that belong to the user, and unrevoked keys without a user that this user created. */
  readonly unrevoked: number;
  /** Keys that the creator made within the last 24 hours. */
  readonly aDay: number;
}

/** The data of a key that reports show. */
export interface KeyName extends Pick<KeyInfo, 'id' | 'name' | 'parent' | 'team' | 'user'> {
  /** The labels of the key; null if the labels are not known, for example of a child key whose parent is not in memory. */
  readonly labels: KeyInfo['labels'] | null;
}

/** Selects keys by the ID of a team or of a user (either matches), or by the name of the key. */
export type KeyOwner = { readonly team: string | null; readonly user: string | null } | { readonly name: string };

/** Selects a page of keys in the order of `KeyTable.all`. */
export interface KeyPageQuery {
  /** The last key of the previous page; null for the first page. */
  readonly after: Pick<KeyInfo, 'createdAt' | 'id'> | null;
  readonly limit: number;
  /** Selects only keys with this team, user or parent, given by ID; null for all keys. */
  readonly of: { readonly member: 'team' | 'user' | 'parent'; readonly id: string } | null;
  readonly isUnrevoked: boolean;
}

/** The API keys. Keys are never deleted. Every write, except the write of a last use, raises the news `keys`. State: keys. */
export interface KeyTable {
  /** Returns all keys, oldest first. */
  all(): Promise<KeyRow[]>;
  /** Returns the key with an ID; null if no key has the ID. */
  find(id: string): Promise<KeyRow | null>;
  /** Returns the keys that have, or were imported with, one of the hashes, in any order. The result includes revoked keys. */
  withHashes(hashes: readonly Uint8Array[]): Promise<KeyRow[]>;
  /** Returns the keys of a holder, given by its address, oldest first. */
  ofHolder(holder: string): Promise<KeyRow[]>;
  /** Returns a page of the keys, oldest first. */
  page(query: KeyPageQuery): Promise<KeyRow[]>;
  /** Returns the data that reports show of keys, in any order. Unknown IDs are left out. */
  names(ids: readonly string[]): Promise<KeyName[]>;
  /** Returns the IDs of the keys that belong to a team or a user, or have a name, in any order. The result includes revoked keys. */
  idsOf(of: KeyOwner): Promise<string[]>;
  /** Returns the IDs of a key's descendants, at most `limit`. The result includes revoked keys. */
  idsBelow(id: string, limit: number): Promise<string[]>;
  /**
   * Returns the keys that changed since a number of the news `keys` (last uses do not count), oldest first, and the number up to which the
   * caller then knows all changes. With the number -1, the method returns all unrevoked keys. With -1, the result leaves out child keys
   * that ended because a parent key was revoked, and keys that expired before `endedBefore` and have no unrevoked child key. A revoked key
   * in the result has no list of models.
   */
  changedAfter(number: number, endedBefore?: number): Promise<KeyChanges>;
  /**
   * Returns keys that `changedAfter(-1, endedBefore)` leaves out, oldest first: at most `limit`, those that changed last. A revoked key in
   * the result has no list of models.
   */
  ended(limit: number, endedBefore: number): Promise<KeyRow[]>;
  /**
   * Adds a key. Two keys cannot be imported with the same hash. A child key gets the team and the user that the first key of its line has at the time of the commit.
   * @param hash SHA-256 of the whole key
   */
  insert(info: KeyInfo, hash: Uint8Array, origin?: KeyOrigin): Write;
  /** Counts the keys that the limits of a user apply to. @param time ms since 1970 */
  countOfUser(user: Pick<UserRoom, 'owner' | 'maker'>, time: number): Promise<UserKeyCounts>;
  /** Gives a key a new secret. The current secret works until `overlapEndsAt`; any older secret stops working. */
  rotate(id: string, hash: Uint8Array, time: number, overlapEndsAt: number): Write;
  /**
   * Writes the terms of a key, its suspension, its team and its user, and leaves all other data of the key unchanged. All keys of the key's
   * line, revoked or not, get the same team and user.
   */
  change(info: KeyInfo): Write;
  revoke(id: string, time: number): Write;
  /** Revokes all keys of a holder that are unrevoked at the time of the commit, except `exceptId`; null: no exception. */
  revokeOfHolder(holder: string, exceptId: string | null, time: number): Write;
  /** Writes last uses: ms since 1970 by key ID. If a later time is already stored for a key, the later time stays. */
  putUses(uses: Readonly<Record<string, number>>): Write;
}
