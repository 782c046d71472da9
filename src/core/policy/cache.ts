import type { Microcredits } from '../money/credits.ts';
import type { GuardScope } from './guards.ts';

/**
 * Who shares the entries of a cache. `key`: the requests of one key. `team`: the keys of a team with equal rights. `everyone`: all keys with
 * equal rights.
 */
export const CACHE_PARTITIONS = ['key', 'team', 'everyone'] as const;
export type CachePartition = (typeof CACHE_PARTITIONS)[number];

/** The results of the cache for a request that it applies to. `partial`: some inputs of a request for embeddings were in the cache. */
export const CACHE_RESULTS = ['hit', 'partial', 'miss'] as const;
export type CacheResult = (typeof CACHE_RESULTS)[number];

/**
 * Why the cache does not apply to a request. `sampled`: it has neither `temperature: 0` nor a `seed`. `condition`: `when` is false.
 * `unrepeatable`: its answer has effects or depends on more than the request. `no_store`: its `cache-control`. `wallet`: a wallet pays.
 * `playground`: it comes from the playground. `no_team`: its key belongs to no team, with `partition: team`.
 */
export const CACHE_SKIPS = [
  'sampled',
  'condition',
  'unrepeatable',
  'no_store',
  'wallet',
  'playground',
  'no_team',
] as const;
export type CacheSkip = (typeof CACHE_SKIPS)[number];

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
