import type { AddressRange } from '../net/address.ts';
import type { KeyLimits } from '../people/caller.ts';
import type { SourcePlace } from '../source-place.ts';
import type { CallerFacts } from '../tables/facts/caller.ts';

/**
 * The facts of a request that a rate limit sees. A rate limit sees only facts about the request's key, because rate limits apply before the
 * body is read. A label that the key lacks reads as the empty string.
 */
export type LimitScope = CallerFacts;

/** A limit in the policy on how fast requests may arrive. */
export interface RateLimit {
  readonly name: string;
  /** Location of the limit in the policy. */
  readonly place: SourcePlace;
  /** Whether the limit applies to a key; null if it applies to every key. `match` may throw, and then the limit applies. */
  readonly match: ((scope: LimitScope) => boolean) | null;
  /**
   * Groups requests: each value has a limit of its own. `address`: the caller's IP address. If `each` is null, all requests share one
   * limit. If `each` throws, its value is ''.
   */
  readonly each: 'address' | ((scope: LimitScope) => string) | null;
  /** The figures of a rate limit. At least one figure of a rate limit is not null. */
  readonly figures: KeyLimits;
}

/** A limit as the store keeps it, for servers that still run an older policy. */
export type StatedLimit = Pick<RateLimit, 'name' | 'figures'>;

/** Which requests are admitted, and how many at the same time: keys of the section `gateway`. */
export interface AdmissionPolicy {
  /** Proxies whose `X-Forwarded-For` header is trusted. */
  readonly trustedProxies: readonly AddressRange[];
  /** The most chat and route requests in progress at the same time. */
  readonly concurrencyMax: number;
  /** The most bytes of request bodies in memory, waiting requests included. */
  readonly bodiesBytesMax: number;
  /** The most bytes of non-streamed provider answers in memory. */
  readonly answersBytesMax: number;
  /** The most requests that wait in the queue. */
  readonly queueMax: number;
  /** How long a request waits in the queue at most, ms. */
  readonly queueMs: number;
  /** The most requests a minute without a valid key, where a key is required, per IP address. */
  readonly failedAuthPerMinute: number;
  /** The most requests a minute without a key, where no key is required, per IP address. */
  readonly keylessPerMinute: number;
  /** The most requests a minute of a key with the scope `report`. */
  readonly reportsPerMinute: number;
}
