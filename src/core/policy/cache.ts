import type { Microcredits } from '../money/credits.ts';
import type { GuardScope } from './guards.ts';

/**
 * Who shares the entries of a cache. `key`: the requests of one key. `team`: the keys of a team with equal rights. `everyone`: all keys with
 * equal rights.
 */
export type CachePartition = 'key' | 'team' | 'everyone';

/** How answers are stored and used again for equal requests. */
export interface CachePolicy {
  /** Whether the cache applies to a request; null for every request. If `when` throws, the cache does not apply. */
  readonly when: ((scope: GuardScope) => boolean) | null;
  readonly partition: CachePartition;
  /** How long an entry is used, ms. */
  readonly ttlMs: number;
  /** The most bytes of all entries together. */
  readonly bytesMax: number;
  /** Whether the cache also applies to requests without `temperature: 0` or `seed`, whose answers differ each time. */
  readonly sampled: boolean;
  /** The price of a hit, microcredits. */
  readonly price: Microcredits;
}
