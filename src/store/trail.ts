import type { Cursor } from './cursor.ts';
import type { Write } from './store.ts';

export type Actor =
  /** A command, run by a user of the operating system. */
  | { readonly kind: 'cli'; readonly name: string }
  /** A request with an admin key, named by its ID. */
  | { readonly kind: 'key'; readonly name: string; readonly requestId: string }
  /** A holder that has proved itself, by its address. */
  | { readonly kind: 'wallet'; readonly name: string }
  /** The server itself, for the first key and the installed one. */
  | { readonly kind: 'server' };

export const SERVER: Actor = Object.freeze({ kind: 'server' });

export const TRAIL_ACTIONS = ['create', 'install', 'rotate', 'revoke', 'grant', 'block', 'unblock'] as const;
export type TrailAction = (typeof TRAIL_ACTIONS)[number];

export interface TrailEntry {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly actor: { readonly kind: Actor['kind']; readonly name: string | null };
  readonly action: TrailAction;
  readonly keyId: string;
  /** Parameters of the change; never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Null unless the actor is a request. */
  readonly requestId: string | null;
}

export interface TrailQuery {
  /** Only changes of this key; null for all. */
  readonly keyId: string | null;
  readonly limit: number;
}

export const TRAIL_LIMIT = 100;
export const TRAIL_LIMIT_MAX = 1_000;

/** A change to keys, without the key that it concerns. */
export interface TrailEvent {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly actor: Actor;
  readonly action: TrailAction;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A change to a key, to be committed together with its entry. */
export interface KeyEvent extends TrailEvent {
  readonly keyId: string;
}

/** How many keys a holder may have. */
export interface HolderKeyLimits {
  readonly unrevoked: number;
  /** Made in the 24 hours before the event. */
  readonly aDay: number;
}

/** The append-only record of changes to keys. Conditional entries fail their commit with the reason `unmet`. State: trail. */
export interface TrailTable {
  add(event: KeyEvent): Write;
  /** Unmet unless the key is unrevoked, and not expired at `validAt` (ms since 1970). */
  addIfValid(event: KeyEvent, validAt: number): Write;
  /** Unmet when the holder has as many keys as it may, counted at commit time before the new one. */
  addIfRoom(event: KeyEvent, holder: string, limits: HolderKeyLimits): Write;
  /** Adds an entry for each unrevoked key of a holder, oldest first, except one; null for none. */
  addOfHolder(event: TrailEvent, holder: string, exceptId: string | null): Write;
  /** @returns the ID up to which no entry will appear later; 0 for none. Entries above it may be visible. */
  horizon(): Promise<Cursor>;
  /** Returns the newest entries, newest first. */
  list(query: TrailQuery): Promise<TrailEntry[]>;
}
