import type { Cursor } from './cursor.ts';
import type { Write } from './store.ts';

/**
 * Where an actor was: the address of a caller, as trusted proxies report it, or the operating-system user of a command; null if unknown.
 */
interface Whereabouts {
  readonly from?: string | null;
}

export type Actor =
  /** A command that an operating-system user ran. */
  | ({ readonly kind: 'cli'; readonly name: string } & Whereabouts)
  /** A request with an admin key, a login or a workload token. The name is the ID of the key, the user or the subject. */
  | ({
      readonly kind: 'key' | 'user' | 'token';
      readonly name: string;
      readonly requestId: string;
      /** ID of the login that the request used; absent for none. */
      readonly login?: string;
    } & Whereabouts)
  /** A wallet that has proved its identity, named by its address. */
  | ({ readonly kind: 'wallet'; readonly name: string } & Whereabouts)
  /** The server itself: for the first key, the installed key, policy files, and retention. */
  | { readonly kind: 'server' };

export const SERVER: Actor = Object.freeze({ kind: 'server' });

/** Returns the ID of an actor's request, `req_…`; null for an actor that is not a request. */
export const requestOf = (actor: Actor): string | null => ('requestId' in actor ? actor.requestId : null);

export const TRAIL_ACTIONS = [
  'create',
  'change',
  'install',
  'rotate',
  'revoke',
  'grant',
  'suspend',
  'resume',
  'remove',
  'refund',
  'block',
  'unblock',
  'load',
  'reconcile',
  'reset',
  'erase',
  'anchor',
  'sign_in',
  'end',
] as const;
export type TrailAction = (typeof TRAIL_ACTIONS)[number];

/**
 * The thing that was changed: a `key`, `decision`, `payment` or `model` by its ID, a `wallet` by its address, the `policy` by its revision,
 * all scores (`learning`), or the `trail` itself.
 */
export interface TrailSubject {
  readonly kind: string;
  readonly id: string;
}

export const THE_TRAIL: TrailSubject = Object.freeze({ kind: 'trail', id: '' });
/** The subject that stands for all scores. */
export const LEARNING: TrailSubject = Object.freeze({ kind: 'learning', id: '' });

/** Parameters of a change, never a secret. A change of terms has `before` and `after` with the members that differ. */
export type TrailDetails = Readonly<Record<string, unknown>>;

/** An entry of the trail in the form that readers see. Erased words are null. */
export interface TrailEntry {
  readonly id: number;
  /** When the change was made, ms since 1970. */
  readonly time: number;
  readonly actor: { readonly kind: string; readonly name: string | null };
  /** The place of the actor, as described at `Whereabouts`. */
  readonly from: string | null;
  readonly action: string;
  readonly subject: TrailSubject;
  readonly details: TrailDetails;
  /** ID of the request; null unless the actor is a request. */
  readonly requestId: string | null;
  /** Whether personal words of the entry were erased. */
  readonly isErased: boolean;
}

export interface TrailQuery {
  /** Selects only changes of the key with this ID or the wallet with this address; null for all. */
  readonly keyId: string | null;
  /** Selects only changes of this kind of subject; absent for all kinds. */
  readonly kind?: string;
  /** Selects only changes by actors of this kind, such as `server`, or with this name unless the name was erased; absent for all actors. */
  readonly actor?: string;
  readonly action?: TrailAction;
  /** Selects only entries at or after this time, ms since 1970; absent for all entries. */
  readonly from?: number;
  /** Selects only entries before this time, ms since 1970; absent for all entries. */
  readonly to?: number;
  /** Selects only entries with smaller IDs; absent for all entries. */
  readonly before?: number;
  readonly limit: number;
}

export const TRAIL_LIMIT = 100;
export const TRAIL_LIMIT_MAX = 1_000;

/** The limits on the entries that a single read of the chain returns. */
export interface LinksLimit {
  readonly rows: number;
  /** The most characters of details and words. The first entry is returned even if it is larger than this limit. */
  readonly chars: number;
}

/** A change without the thing that was changed. */
export interface TrailEvent {
  /** When the change was made, ms since 1970. */
  readonly time: number;
  readonly actor: Actor;
  readonly action: TrailAction;
  readonly details: TrailDetails;
}

/** A change of a subject, which is committed together with its trail entry. */
export interface SubjectEvent extends TrailEvent {
  readonly subject: TrailSubject;
}

/** A change of a key, which is committed together with its trail entry. */
export interface KeyEvent extends TrailEvent {
  readonly keyId: string;
}

/** Words to erase: the name and place of an actor in all its entries, or the words in the details of all changes of a subject. */
export type ErasedWords = { readonly actorName: string } | { readonly subject: string };

/** The conditions of a change of a key, in addition to the key being unrevoked. */
export interface KeyCondition {
  /** The version of the key that the caller read. */
  readonly version: number;
  /** The condition that another key is an admin key that works beyond this time, ms since 1970; null for no such condition. */
  readonly otherAdminAt: number | null;
}

/** How many keys a holder may have. */
export interface HolderKeyLimits {
  readonly unrevoked: number;
  /** The most keys created in the 24 hours before the event. */
  readonly aDay: number;
}

/** The creator of a key who is a user, and the limits for this user. */
export interface UserRoom extends HolderKeyLimits {
  /** The ID of the user who will own the key: the user of the key, or else its creator. */
  readonly owner: string;
  readonly maker: string;
}

/** The key that creates a child key, and the limits for its line. */
export interface PlaceBelow {
  /** ID of the parent key. */
  readonly parent: string;
  /** SHA-256 of the whole parent key, with the secret that the caller presented. */
  readonly hash: Uint8Array;
  /** The most keys from the new key's parent up to the first key of the line. */
  readonly depth: number;
  /** The most valid child keys of the parent. */
  readonly live: number;
  /** The most keys of the whole line created in the 24 hours before the event. */
  readonly aDay: number;
  /**
   * The most child keys created in those 24 hours in all lines of the line's user together. For a line without a user, or a line of an
   * operator, the number is not limited.
   */
  readonly aDayOfUser: number;
}

/** The last entry of a chain. The hash of the last entry covers all entries before it. */
export interface TrailHead {
  readonly id: number;
  /** SHA-256 in hex. */
  readonly hash: string;
}

export const WORD_SLOTS = ['by', 'from', 'details'] as const;
export type WordSlot = (typeof WORD_SLOTS)[number];

/**
 * Personal words, which are stored outside the chain. Erasing the words also erases the salt, because guesses of the words could be checked
 * against the hash with the salt.
 */
export interface SaltedWords {
  /** The salt: random, 32 hex digits. */
  readonly salt: string;
  readonly text: string;
}

/** An entry of the trail in its stored form, with its hashes. */
export interface TrailLink extends TrailHead {
  /** The hash of the previous entry; zeros for none. */
  readonly previous: string;
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: TrailSubject;
  /** The details as JSON, with null in place of personal words. */
  readonly facts: string;
  readonly requestId: string | null;
  /** The salted hash of the words of each slot; null if the slot had no words. */
  readonly seals: Readonly<Record<WordSlot, string | null>>;
  /** The words that have not been erased. */
  readonly words: Readonly<Partial<Record<WordSlot, SaltedWords>>>;
}

/**
 * The audit trail: a record of changes as a chain of hashes. Each entry contains the hash of the previous entry, which its commit reads. If
 * the condition of an entry is not satisfied, the commit fails with the reason `unmet`. State: trail.
 */
export interface TrailTable {
  add(event: SubjectEvent): Write;
  /** Adds many entries, in their order, with few statements. */
  addAll(events: readonly SubjectEvent[]): Write;
  /** Adds an entry. The commit fails if the key is revoked, or has expired at `validAt` (ms since 1970). */
  addIfValid(event: KeyEvent, validAt: number): Write;
  /** Adds an entry. The commit fails if the key is revoked or does not satisfy the condition. */
  addIfUnchanged(event: KeyEvent, condition: KeyCondition): Write;
  /** Adds an entry. The commit fails if the holder already has the most keys allowed, counted at commit time without the new key. */
  addIfRoom(event: KeyEvent, holder: string, limits: HolderKeyLimits): Write;
  /**
   * Adds an entry. The commit fails if the future owner of the key, or its creator, has reached a limit, counted at commit time without the
   * new key.
   */
  addIfRoomOfUser(event: KeyEvent, room: UserRoom): Write;
  /**
   * Adds an entry. The commit fails if the parent key is not valid with the presented secret, if a key above the parent is not valid, or if
   * a limit of the line is reached. All conditions are checked at commit time, without the new key.
   */
  addIfRoomBelow(event: KeyEvent, place: PlaceBelow): Write;
  /** Adds an entry for each unrevoked key of a holder, oldest first, except `exceptId`; null: no exception. */
  addOfHolder(event: TrailEvent, holder: string, exceptId: string | null): Write;
  /**
   * Erases personal words from trail entries, and adds an entry that names the places of the words. The commit fails if the entries have no
   * such words. @param time ms since 1970
   */
  erase(words: ErasedWords, actor: Actor, time: number): Write;
  /**
   * Deletes the entries before a time, and adds an anchor with the hash of the last deleted entry. If there are no entries to delete, the
   * method does nothing.
   */
  prune(before: number, time: number): Write;
  /** @returns the ID up to which no entry will appear later; 0 for none. Trail entries above the returned ID may already be visible. */
  horizon(): Promise<Cursor>;
  /** Returns the newest entries that match a filter, newest first. */
  list(query: TrailQuery): Promise<TrailEntry[]>;
  /** Returns stored entries with greater IDs, oldest first. The result is empty only if no further entries exist. */
  links(after: number, limit: LinksLimit): Promise<TrailLink[]>;
}
