import type { KeyBudget, KeyLimits, Scope } from '../core/caller.ts';
import type { Write } from './store.ts';
import type { UserRoom } from './trail.ts';

/** The terms of a key, which its maker states and may change. Times are milliseconds since 1970. */
export interface KeyTerms {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that it may use; null for all. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits | null;
  readonly budgets: readonly KeyBudget[];
  /** Holders that requests with it may name, by their addresses; null for all. */
  readonly holders: readonly string[] | null;
  /** Null for never. */
  readonly expiresAt: number | null;
  /** ID of its team; null for none. */
  readonly team: string | null;
  /** ID of its user; null for none. */
  readonly user: string | null;
}

/** What each term is where none is stated, and after a change to null. */
export const NO_KEY_TERMS: KeyTerms = {
  name: '',
  scopes: [],
  labels: {},
  models: null,
  limits: null,
  budgets: [],
  holders: null,
  expiresAt: null,
  team: null,
  user: null,
};

/** The members of `KeyTerms`, by which the columns of a key, its trail and its changes are made. */
export const KEY_TERMS = Object.keys(NO_KEY_TERMS) as readonly (keyof KeyTerms)[];

/** The data of a key without its hashes. Times are milliseconds since 1970. */
export interface KeyInfo extends KeyTerms {
  readonly id: string;
  /** Address of the holder whose balance it spends; null for a key with its own. */
  readonly holder: string | null;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** Null unless it is suspended. */
  readonly suspendedAt: number | null;
  /** ID of the key that made it; null for a key of its own. */
  readonly parent: string | null;
  /** Null for never. Uses in another process appear up to a minute late. */
  readonly lastUsedAt: number | null;
  /** Null for never. */
  readonly rotatedAt: number | null;
  /** The end of the old secret's validity after the last rotation; null if never rotated. */
  readonly overlapEndsAt: number | null;
  /** Of a child key, where the keys above it are known: its state, as theirs narrow it. Not stored. */
  readonly inForce?: Pick<KeyInfo, 'revokedAt' | 'expiresAt' | 'suspendedAt'>;
}

/** A key as it is stored. Hashes are SHA-256 of whole keys; the keys themselves are not stored. */
export interface StoredKey {
  readonly info: Omit<KeyInfo, 'lastUsedAt'>;
  readonly hash: Uint8Array;
  /** Of the key before the last rotation; null if never rotated. */
  readonly previousHash: Uint8Array | null;
  /** Of the key that made it, by the secret that it had then; null for a key of its own. */
  readonly parentHash: Uint8Array | null;
}

export interface KeyRow {
  readonly key: StoredKey;
  readonly lastUsedAt: number | null;
  /** Another after each change of more than the last use. */
  readonly version: number;
}

export interface KeyChanges {
  readonly rows: readonly KeyRow[];
  /** For the next reading. */
  readonly through: number;
}

/** The way in which a key was made. */
export interface KeyOrigin {
  /** SHA-256 of the key which makes it, as it is presented; absent or null without a parent. */
  readonly parentHash?: Uint8Array | null | undefined;
  /**
   * The ID of the user who makes it within the limits of users; absent or null for any other maker. A child key counts for the user of
   * its line's first key, or else for that key's maker.
   */
  readonly maker?: string | null;
}

/** Keys of a user; child keys are not counted. */
export interface UserKeyCounts {
  /** The user's unrevoked keys: its own, and those without a user that it has made. */
  readonly unrevoked: number;
  /** Keys that the maker has made within 24 hours. */
  readonly aDay: number;
}

/** What reports show of a key. */
export interface KeyName extends Pick<KeyInfo, 'id' | 'name' | 'parent' | 'team' | 'user'> {
  /** Null where they are not known, as those of a child key whose parent is not in memory. */
  readonly labels: KeyInfo['labels'] | null;
}

/** Selects keys by any of two owners, by ID, or by their name. */
export type KeyOwner = { readonly team: string | null; readonly user: string | null } | { readonly name: string };

/** Keys in the order of `all`, from a place on. */
export interface KeyPageQuery {
  /** The last key of the page before; null for the first page. */
  readonly after: Pick<KeyInfo, 'createdAt' | 'id'> | null;
  readonly limit: number;
  /** Only keys with this team, user or parent, by ID; null for all. */
  readonly of: { readonly member: 'team' | 'user' | 'parent'; readonly id: string } | null;
  readonly isUnrevoked: boolean;
}

/** The API keys. A key is never deleted. Every write raises the news `keys`, but for last uses. State: keys. */
export interface KeyTable {
  /** Returns all keys, oldest first. */
  all(): Promise<KeyRow[]>;
  /** Returns null for an unknown one. */
  find(id: string): Promise<KeyRow | null>;
  /** Returns the keys of a holder, by its address, oldest first. */
  ofHolder(holder: string): Promise<KeyRow[]>;
  /** Returns a part of the keys, oldest first. */
  page(query: KeyPageQuery): Promise<KeyRow[]>;
  /** Returns what reports show of keys, in any order; unknown IDs are left out. */
  names(ids: readonly string[]): Promise<KeyName[]>;
  /** Returns the IDs of the keys of a team or a user, or of a name, in any order, revoked or not. */
  idsOf(of: KeyOwner): Promise<string[]>;
  /** Returns the IDs of keys that descend from a key, revoked or not, at most `limit`. */
  idsBelow(id: string, limit: number): Promise<string[]>;
  /**
   * Returns the keys of which more than the last use has changed since a number of their news, oldest first, and the number up
   * to which the caller then has all. From -1 on: all unrevoked keys, without child keys that ended with a revoked key above them, and without those that
   * expired before `endedBefore` and have no unrevoked child key. A revoked key comes without its list of models.
   */
  changedAfter(number: number, endedBefore?: number): Promise<KeyChanges>;
  /**
   * Adds a key. A child key gets the team and the user of the first key of its line, as the commit finds them.
   * @param hash SHA-256 of the whole key.
   */
  insert(info: KeyInfo, hash: Uint8Array, origin?: KeyOrigin): Write;
  /** Counts what the limits of a user count. @param time ms since 1970 */
  countOfUser(user: Pick<UserRoom, 'owner' | 'maker'>, time: number): Promise<UserKeyCounts>;
  /** Gives a key another secret. The present one works until `overlapEndsAt`, an older one no longer. */
  rotate(id: string, hash: Uint8Array, time: number, overlapEndsAt: number): Write;
  /**
   * Writes the terms of a key, whether it is suspended, its team and its user; everything else stays. The team and the user go to all
   * keys of its line, revoked or not.
   */
  change(info: KeyInfo): Write;
  revoke(id: string, time: number): Write;
  /** Revokes all unrevoked keys of a holder at commit time, except one; null for none. */
  revokeOfHolder(holder: string, exceptId: string | null, time: number): Write;
  /** Writes last uses, ms since 1970 by key ID. Later uses already stored stay. */
  putUses(uses: Readonly<Record<string, number>>): Write;
}
