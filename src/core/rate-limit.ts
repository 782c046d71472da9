import type { AddressRange } from './address.ts';
import type { KeyLimits } from './caller.ts';
import type { SourcePlace } from './source-place.ts';

/**
 * What a rate limit sees of a request: it is counted before its body is read, so only its key. A missing label
 * reads as the empty string.
 */
export interface LimitScope {
  readonly key: { readonly id: string; readonly labels: ReadonlyMap<string, string> };
}

/** A limit of the policy on how fast requests may come. */
export interface RateLimit {
  readonly name: string;
  /** Where the policy states it. */
  readonly place: SourcePlace;
  /** Whether it holds for a key; null for every one. May throw, and then it holds. */
  readonly match: ((scope: LimitScope) => boolean) | null;
  /**
   * Whose share it is: each value has its own. `address`: that of the caller. Null: one for everyone together.
   * May throw, and then as ''.
   */
  readonly each: 'address' | ((scope: LimitScope) => string) | null;
  /** At least one of them is not null. */
  readonly figures: KeyLimits;
}

/** Who is let in, and how many at once: keys of the section `gateway`. */
export interface AdmissionPolicy {
  /** Whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly AddressRange[];
  /** Chat and route requests that are worked on at once. */
  readonly concurrencyMax: number;
  /** Bytes of their bodies, and of those that wait, together. */
  readonly bodiesBytesMax: number;
  /** Bytes of the providers' answers in one piece that are held at once, together. */
  readonly answersBytesMax: number;
  /** Requests that wait for a place. */
  readonly queueMax: number;
  /** For how long they wait at most, ms. */
  readonly queueMs: number;
  /** Requests without a valid key where one is needed, by address. */
  readonly failedAuthPerMinute: number;
  /** Requests where none is needed, by address. */
  readonly keylessPerMinute: number;
}
