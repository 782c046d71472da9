import type { KeyBudgets } from '../core/caller.ts';
import type { Store, Write } from '../store/store.ts';
import type { Authentication } from './key-entry.ts';
import { StoredKeys } from './stored-keys.ts';
import type { KeyInfo } from './tables.ts';
import type { KeyGrant } from './terms.ts';
import type { Actor, TrailEntry, TrailQuery } from './trail.ts';

export type { Authentication, DenialReason } from './key-entry.ts';

export interface KeysOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How often to look whether another process has changed the keys, in milliseconds; absent: only on `refresh`. */
  readonly refreshMs?: number;
  /**
   * Told when the budgets of keys are others than before; `budgets()` tells which. A new key with budgets is let in
   * only once the promise resolves, so that nothing is spent unlimited; rejected, it is told again at the next look.
   */
  readonly onChange?: () => void | Promise<void>;
}

/** A key that was made or got another secret. The only time that `key` is seen: what is kept is its hash. */
export interface IssuedKey {
  readonly key: string;
  readonly info: KeyInfo;
}

/** Whatever is done to a key is one commit with its line in the trail. */
export interface Keys {
  /**
   * Checks the value of an `Authorization` header. Takes about a microsecond, as long for an unknown ID as for a wrong
   * secret, and waits for nothing.
   */
  authenticate(header: string | null): Authentication;
  /** Makes a key. `key`: one of `newKey`, for a caller that must write it down before it counts. Throws KeyTermsError. */
  create(grant: KeyGrant, by?: Actor, key?: string): Promise<IssuedKey>;
  /**
   * Makes a key that shows a wallet: it opens chat and route, has no end and no limits of its own, and spends the
   * wallet's balance. `isAlone`: all others of the wallet are revoked with that. Throws KeyTermsError, and then nothing has
   * changed: for a name that cannot be, for a wallet with 20 valid keys, and for one that was given 50 in 24 hours.
   */
  createForWallet(wallet: string, name: string, isAlone?: boolean): Promise<IssuedKey>;
  /** The valid keys of a wallet, by its address in lower case, oldest first. */
  ofWallet(wallet: string): Promise<readonly KeyInfo[]>;
  /** Revokes the keys of a wallet, all but one if that is given, as `revoke` does each. Tells how many that were. */
  revokeOfWallet(wallet: string, exceptId: string | null): Promise<number>;
  /**
   * Makes a given key valid, with all scopes. Doing it again changes nothing. Throws an Error of one clear
   * sentence when it has not the form of a key, is weak, was revoked or rotated out, or its ID is another key's.
   */
  install(key: string): Promise<KeyInfo>;
  /**
   * Gives a valid key another secret; the present one works for so many milliseconds more, one before that no longer.
   * Null when there is no such valid key. Throws KeyTermsError.
   */
  rotate(id: string, overlapMs: number, by?: Actor): Promise<IssuedKey | null>;
  /** Revokes a key, at once here and within the refresh interval in other processes. False when there is none that is not revoked. */
  revoke(id: string, by?: Actor): Promise<boolean>;
  /**
   * Writes a grant of Credits to a valid key: `write` makes it for the holder of the balance that the key spends, which
   * is the key's wallet where it shows one. False when there is no such key. Throws KeyTermsError.
   */
  grant(
    id: string,
    write: (holder: string) => Write,
    details: { readonly credits: number; readonly note: string },
    by: Actor,
  ): Promise<boolean>;
  /** Null when there is no such key. */
  get(id: string): Promise<KeyInfo | null>;
  /** All keys, the revoked ones too, oldest first. */
  list(): Promise<KeyInfo[]>;
  /** The budgets of all keys that are valid now and have some. Cheap. */
  budgets(): readonly KeyBudgets[];
  /** What was done to keys, newest first. */
  trail(query: TrailQuery): Promise<TrailEntry[]>;
  /** Takes over what another process has changed, and now and then notes which keys were used. */
  refresh(): Promise<void>;
  /** Stops the regular refresh, and notes which keys were used; to be called before the store is closed. */
  close(): void;
}

/** Opens the keys: all of them are held in memory, by hash. */
export async function openKeys(options: KeysOptions): Promise<Keys> {
  const keys = new StoredKeys(options);
  await keys.refresh();
  return keys;
}
