import type { ProviderCall } from '../../contract/provider.ts';
import type { Model } from '../../core/policy/snapshot.ts';
import type { Facts } from '../../core/request/facts.ts';
import type { OpenCall } from '../../providers/operation-part.ts';
import type { UpstreamCall, UpstreamTarget } from '../../providers/upstream-call.ts';

/** How the gateway carries out the requests of an operation. */
export interface KindOfCall {
  /** Opens the calls of an attempt; absent if an attempt is one call. @param open opens one call */
  open?(target: UpstreamTarget, call: ProviderCall, model: Model, open: OpenCall): UpstreamCall;
  /** Returns how many calls of the provider an attempt makes, at least 1. */
  calls(model: Model, facts: Facts): number;
  /** The most calls of an attempt that run at the same time. */
  readonly callsAtOnce: number;
  /** Whether the cache stores the answer to each input of a request apart, so that another request with some of the inputs finds it. */
  readonly isCachedByInput: boolean;
}
