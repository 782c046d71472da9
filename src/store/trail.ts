import type { Cursor } from './cursor.ts';
import type { Write } from './store.ts';

/** Where an actor was: the address of a caller, as trusted proxies report it, or the user of a terminal; null where that is not known. */
interface Whereabouts {
  readonly from?: string | null;
}

export type Actor =
  /** A command, run by a user of the operating system. */
  | ({ readonly kind: 'cli'; readonly name: string } & Whereabouts)
  /** A request with an admin key, of a person or of a workload's token, named by the ID of the key, the user or the subject. */
  | ({
      readonly kind: 'key' | 'user' | 'token';
      readonly name: string;
      readonly requestId: string;
      /** ID of the login that it came by; absent for none. */
      readonly login?: string;
    } & Whereabouts)
  /** A holder that has proved itself, by its address. */
  | ({ readonly kind: 'wallet'; readonly name: string } & Whereabouts)
  /** The server itself: for the first key, the installed one, files of the policy, and retention. */
  | { readonly kind: 'server' };

export const SERVER: Actor = Object.freeze({ kind: 'server' });

/** The ID of the request of an actor, `req_…`; null for another one. */
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
  'replay',
  'erase',
  'anchor',
  'sign_in',
  'end',
] as const;
export type TrailAction = (typeof TRAIL_ACTIONS)[number];

/**
 * The thing that was changed: a `key`, a `decision`, a `payment` or a `model` by its ID, a `wallet` by its address, the `policy` by its
 * revision, all scores (`learning`), the `trail` itself.
 */
export interface TrailSubject {
  readonly kind: string;
  readonly id: string;
}

export const THE_TRAIL: TrailSubject = Object.freeze({ kind: 'trail', id: '' });
/** All that was learned. */
export const LEARNING: TrailSubject = Object.freeze({ kind: 'learning', id: '' });

/** Parameters of a change; never a secret. A change of terms has the members that differ, in `before` and `after`. */
export type TrailDetails = Readonly<Record<string, unknown>>;

/** An entry as readers see it. Words that were erased are null. */
export interface TrailEntry {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly actor: { readonly kind: string; readonly name: string | null };
  /** As `Whereabouts`. */
  readonly from: string | null;
  readonly action: string;
  readonly subject: TrailSubject;
  readonly details: TrailDetails;
  /** Null unless the actor is a request. */
  readonly requestId: string | null;
  /** Whether personal words of it were erased. */
  readonly isErased: boolean;
}

export interface TrailQuery {
  /** Only changes of the key with this ID, or the wallet with this address; null for all. */
  readonly keyId: string | null;
  /** Only changes of this kind of subject; absent: of all. */
  readonly kind?: string;
  /** Only changes by actors of this kind, such as `server`, or of this name, unless it was erased; absent: by all. */
  readonly actor?: string;
  readonly action?: TrailAction;
  /** Only entries of this moment and later, ms since 1970; absent: all. */
  readonly from?: number;
  /** Only earlier entries, ms since 1970; absent: all. */
  readonly to?: number;
  /** Only entries with lesser IDs; absent: all. */
  readonly before?: number;
  readonly limit: number;
}

export const TRAIL_LIMIT = 100;
export const TRAIL_LIMIT_MAX = 1_000;

/** How much of the chain one read returns at most. */
export interface LinksLimit {
  readonly rows: number;
  /** Characters of details and words; the first entry is returned even if it is larger. */
  readonly chars: number;
}

/** A change, without its subject. */
export interface TrailEvent {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly actor: Actor;
  readonly action: TrailAction;
  readonly details: TrailDetails;
}

/** A change of a subject, to be committed together with its entry. */
export interface SubjectEvent extends TrailEvent {
  readonly subject: TrailSubject;
}

/** The same of a key. */
export interface KeyEvent extends TrailEvent {
  readonly keyId: string;
}

/** Words to erase: the name and place of an actor, in all its entries, or the words in the details of the changes of one subject. */
export type ErasedWords = { readonly actorName: string } | { readonly subject: string };

/** What a change of a key depends on, beside its being unrevoked. */
export interface KeyCondition {
  /** The version of the key that was read. */
  readonly version: number;
  /** Another key must be an admin key, and work beyond this time, ms since 1970; null for no such condition. */
  readonly otherAdminAt: number | null;
}

/** How many keys a holder may have. */
export interface HolderKeyLimits {
  readonly unrevoked: number;
  /** Made in the 24 hours before the event. */
  readonly aDay: number;
}

/** A user who makes a key, and how much room there must be for it. */
export interface UserRoom extends HolderKeyLimits {
  /** The ID of the user who will have the key: the user of the key, or else its maker. */
  readonly owner: string;
  readonly maker: string;
}

/** The key that makes another, and how much room its line must have. */
export interface PlaceBelow {
  /** ID of the key. */
  readonly parent: string;
  /** SHA-256 of the whole key, by the secret that was presented. */
  readonly hash: Uint8Array;
  /** The keys from the new one's parent up to the first of the line. */
  readonly depth: number;
  /** Valid keys that the parent has made. */
  readonly live: number;
  /** Keys of the whole line that were made in the 24 hours before the event. */
  readonly aDay: number;
  /** The same of all lines of the line's user together. A line without a user, and one of an operator, has no such limit. */
  readonly aDayOfUser: number;
}

/** The last entry of a chain, which stands for all before it. */
export interface TrailHead {
  readonly id: number;
  /** SHA-256, hex. */
  readonly hash: string;
}

export const WORD_SLOTS = ['by', 'from', 'details'] as const;
export type WordSlot = (typeof WORD_SLOTS)[number];

/** Personal words beside the chain. The salt goes with them, or guesses could be tried. */
export interface SaltedWords {
  /** Random, 32 hex digits. */
  readonly salt: string;
  readonly text: string;
}

/** An entry as it is stored and chained. */
export interface TrailLink extends TrailHead {
  /** The hash of the entry before; zeros for none. */
  readonly previous: string;
  readonly time: number;
  readonly actor: string;
  readonly action: string;
  readonly subject: TrailSubject;
  /** JSON of the details, in which personal words are null. */
  readonly facts: string;
  readonly requestId: string | null;
  /** The salted hash of the words of each slot; null where it had none. */
  readonly seals: Readonly<Record<WordSlot, string | null>>;
  /** The words that are not erased. */
  readonly words: Readonly<Partial<Record<WordSlot, SaltedWords>>>;
}

/**
 * The record of changes, a chain of hashes: each entry has the hash of the one before, which its commit has read. Conditional
 * entries fail their commit with the reason `unmet`. State: trail.
 */
export interface TrailTable {
  add(event: SubjectEvent): Write;
  /** Unmet unless the key is unrevoked, and not expired at `validAt` (ms since 1970). */
  addIfValid(event: KeyEvent, validAt: number): Write;
  /** Unmet unless the key is unrevoked and as the condition says. */
  addIfUnchanged(event: KeyEvent, condition: KeyCondition): Write;
  /** Unmet when the holder has as many keys as it may, counted at commit time before the new one. */
  addIfRoom(event: KeyEvent, holder: string, limits: HolderKeyLimits): Write;
  /** Unmet when the user who will have the key, or its maker, has no room for it: counted at commit time before the new key. */
  addIfRoomOfUser(event: KeyEvent, room: UserRoom): Write;
  /**
   * Unmet where the key that makes another is not valid by the secret that it presented, or one above it is not, or its line has no
   * room for another key: at commit time, before the new one.
   */
  addIfRoomBelow(event: KeyEvent, place: PlaceBelow): Write;
  /** Adds an entry for each unrevoked key of a holder, oldest first, except one; null for none. */
  addOfHolder(event: TrailEvent, holder: string, exceptId: string | null): Write;
  /** Erases words and adds an entry which names their places. Unmet where there are none. @param time ms since 1970 */
  erase(words: ErasedWords, actor: Actor, time: number): Write;
  /** Removes the entries of before a time, and adds an anchor with the hash of the last one; does nothing where there are none. */
  prune(before: number, time: number): Write;
  /** @returns the ID up to which no entry will appear later; 0 for none. Entries above it may be visible. */
  horizon(): Promise<Cursor>;
  /** Returns the newest entries, newest first. */
  list(query: TrailQuery): Promise<TrailEntry[]>;
  /** Returns entries with greater IDs as they are chained, oldest first; none only if there are no more. */
  links(after: number, limit: LinksLimit): Promise<TrailLink[]>;
}
