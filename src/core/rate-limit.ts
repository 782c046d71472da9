import type { AddressRange } from './address.ts';
import type { KeyLimits } from './caller.ts';
import type { CallerGroups } from './holder.ts';
import type { SourcePlace } from './source-place.ts';

/**
 * The facts of a request that a rate limit sees: only its key and whose that is, for it counts before the body is read. A missing label
 * reads as the empty string.
 */
export interface LimitScope {
  readonly key: { readonly id: string; readonly labels: ReadonlyMap<string, string> };
  readonly team: CallerGroups['team'];
  readonly user: CallerGroups['user'];
}

/** A limit of the policy on how fast requests may come. */
export interface RateLimit {
  readonly name: string;
  /** Where the policy states it. */
  readonly place: SourcePlace;
  /** Whether it holds for a key; null for every one. May throw, and then it holds. */
  readonly match: ((scope: LimitScope) => boolean) | null;
  /**
   * Groups requests: each value has its own share. `address`: the caller's address. Null: one share for all.
   * May throw, and then as ''.
   */
  readonly each: 'address' | ((scope: LimitScope) => string) | null;
  /** At least one of them is not null. */
  readonly figures: KeyLimits;
}

/** A limit as the store keeps it, for servers with an older policy. */
export type StatedLimit = Pick<RateLimit, 'name' | 'figures'>;

/** Which requests are admitted, and how many at once: keys of the section `gateway`. */
export interface AdmissionPolicy {
  /** Proxies whose `X-Forwarded-For` is trusted. */
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
  /** Requests of a key with the scope `report`. */
  readonly reportsPerMinute: number;
}
