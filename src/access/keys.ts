import type { KeyBudgets } from '../core/caller.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';
import type { Actor, TrailEntry, TrailQuery } from '../store/trail.ts';
import type { Authentication } from './key-entry.ts';
import type { KeyGrant } from './terms.ts';

export type { Authentication, DenialReason } from './key-entry.ts';

export interface KeysOptions {
  readonly store: Pick<Store, 'commit' | 'append' | 'version'> & Pick<Repositories, 'keys' | 'trail'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Between two checks for changes by other processes, ms. Absent: only `refresh` checks. */
  readonly refreshMs?: number;
  /**
   * Called when the budgets of keys change; `budgets()` returns them. A new key with budgets is admitted only once the
   * promise resolves, so that it cannot overspend. After a rejection it is called again at the next check.
   */
  readonly onChange?: () => void | Promise<void>;
}

/** A new or rotated key. `key` is available only here: the store has its hash. */
export interface IssuedKey {
  readonly key: string;
  readonly info: KeyInfo;
}

/** The API keys. Every change is committed together with its entry in the trail. */
export interface Keys {
  /** Checks an `Authorization` header at once. An unknown ID takes as long as a wrong secret. */
  authenticate(header: string | null): Authentication;
  /**
   * Makes a key. Throws KeyTermsError.
   * @param key made by `newKey`, for a caller that must store it before it becomes valid.
   */
  create(grant: KeyGrant, by?: Actor, key?: string): Promise<IssuedKey>;
  /**
   * Makes a key that spends a wallet's balance, with the scopes chat and route, without expiry or limits.
   * @param isAlone revokes all other keys of the wallet in the same commit.
   * @throws KeyTermsError and changes nothing: for an invalid name, 20 valid keys, or 50 new keys in 24 hours.
   */
  createForWallet(wallet: string, name: string, isAlone?: boolean): Promise<IssuedKey>;
  /** The valid keys of a wallet (address in lower case), oldest first. */
  ofWallet(wallet: string): Promise<readonly KeyInfo[]>;
  /** Revokes all keys of a wallet, except one if given. Returns their number. */
  revokeOfWallet(wallet: string, exceptId: string | null): Promise<number>;
  /**
   * Makes a given key valid, with all scopes. Repeating it changes nothing.
   * @throws an Error of one sentence for a malformed, weak, expired, revoked or rotated key, or a taken ID.
   */
  install(key: string): Promise<KeyInfo>;
  /**
   * Gives a valid key another secret. The present one works for `overlapMs` more, an older one no longer.
   * @returns null for no valid key.
   * @throws KeyTermsError.
   */
  rotate(id: string, overlapMs: number, by?: Actor): Promise<IssuedKey | null>;
  /** Revokes a key: here at once, in other processes within `refreshMs`. Returns false if there was none. */
  revoke(id: string, by?: Actor): Promise<boolean>;
  /**
   * Grants Credits to a valid key. Returns false without such a key. Throws KeyTermsError.
   * @param write makes the grant for the balance's holder: the key's wallet if it has one, else the key.
   */
  grant(
    id: string,
    write: (holder: string) => Write,
    details: { readonly credits: number; readonly note: string },
    by: Actor,
  ): Promise<boolean>;
  get(id: string): Promise<KeyInfo | null>;
  /** All keys, revoked ones too, oldest first. */
  list(): Promise<KeyInfo[]>;
  /** The budgets of all valid keys that have some. Cheap. */
  budgets(): readonly KeyBudgets[];
  /** Changes of keys, newest first. */
  trail(query: TrailQuery): Promise<TrailEntry[]>;
  /** Reads changes by other processes, and writes last uses once a minute. */
  refresh(): Promise<void>;
  /** Resolves once every change committed before the call is in force, new budgets included. */
  putInForce(): Promise<void>;
  /** Stops the regular refresh and writes last uses. Call it before the store is closed. */
  close(): void;
}
