import { isConversation } from '../../core/kinds/operations.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { type Caller, rootOf } from '../../core/people/caller.ts';
import type { CachePolicy, CacheSkip } from '../../core/policy/cache.ts';
import type { GuardScope } from '../../core/policy/guards.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';

/** The wishes of a request for the cache, from its header `cache-control`. */
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

/** Returns why the policy's cache does not apply to a request; null if it applies. A condition that fails counts as false. */
export function skipOf(policy: CachePolicy, request: ModelRequest, scope: () => GuardScope): CacheSkip | null {
  if (!isRepeatable(request)) return 'unrepeatable';
  if (!policy.sampled && !isReproducible(request)) return 'sampled';
  if (policy.when === null) return null;
  try {
    return policy.when(scope()) ? null : 'condition';
  } catch {
    return 'condition';
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
  !isConversation(operation) || temperature === 0 || seed !== undefined;

/** Whether a caller is a wallet. Wallets pay for each answer, so the cache answers none of their requests. */
export const isWallet = (caller: Caller): boolean => isAddress(caller.keyId) || isAddress(rootOf(caller));
