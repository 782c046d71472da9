import { isAddress } from '../../core/money/holder-address.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';
import type { CachePolicy } from '../../core/policy/cache.ts';
import type { GuardScope } from '../../core/policy/guards.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';

/** What a request says about the cache in its header `cache-control`. */
export interface CacheControl {
  /** Whether the cache may answer it, and with entries of which age in seconds at most. */
  readonly reads: boolean;
  readonly ageMax: number;
  /** Whether its answer may be stored. */
  readonly stores: boolean;
}

const AGE = /^max-age=(\d{1,10})$/;

/** Reads the directives `no-store`, `no-cache` and `max-age`. Others do nothing. */
export function cacheControlOf(header: string | null): CacheControl {
  let reads = true;
  let stores = true;
  let ageMax = Number.POSITIVE_INFINITY;
  for (const one of (header ?? '').toLowerCase().split(',')) {
    const directive = one.trim();
    if (directive === 'no-store') stores = false;
    else if (directive === 'no-cache') reads = false;
    else ageMax = Math.min(ageMax, Number(AGE.exec(directive)?.[1] ?? ageMax));
  }
  return { reads: reads && stores, stores, ageMax };
}

/** Whether the policy's cache applies to a request. A condition that fails counts as false. */
export function isCached(policy: CachePolicy, request: ModelRequest, scope: () => GuardScope): boolean {
  if (!isRepeatable(request) || !(policy.sampled || isReproducible(request))) return false;
  if (policy.when === null) return true;
  try {
    return policy.when(scope());
  } catch {
    return false;
  }
}

/** Whether equal requests may have the same answer: it depends on the request alone, and nothing but text comes of it. */
const isRepeatable = ({ conversation, routing }: ModelRequest): boolean =>
  !conversation.thread &&
  !conversation.isWarmUp &&
  (conversation.nativeTools ?? []).length === 0 &&
  (routing.unpriced ?? []).length === 0 &&
  routing.agentWallet === undefined;

const isReproducible = ({ operation, settings: { temperature, seed } }: ModelRequest): boolean =>
  operation === 'embed' || temperature === 0 || seed !== undefined;

/** Whether a caller is a wallet. Wallets pay for each answer, so the cache answers none of their requests. */
export const isWallet = (caller: Caller): boolean => isAddress(caller.keyId) || isAddress(rootOf(caller));
