import type { RankedModel } from '../../core/decision/decision.ts';
import type { EndpointRoom } from '../../core/policy/endpoint-room.ts';
import type { Endpoint, Model, PooledKey, Provider } from '../../core/policy/snapshot.ts';
import type { SpreadKey } from '../../core/policy/spread.ts';
import type { EndpointHealth } from '../../providers/health/types.ts';
import type { UpstreamTarget } from '../../providers/upstream-call.ts';

/** An account at a provider, with everything that a call needs. */
export interface UpstreamAccount extends UpstreamTarget {
  readonly provider: Provider;
  /** A hash of the provider's address and key, which tells keys apart. */
  readonly key: string;
  /** The identity of the account, at which the provider keeps prompt caches and threads: the same as `key`, unless several keys share it. */
  readonly account: string;
  /** Present if the provider has several keys. */
  readonly pooled?: PooledKey;
}

/**
 * An endpoint of a model at an account of its provider. The runtime makes it once; what outlives a reload, such as its health, is found by
 * the names of the endpoint and its account.
 */
export interface Upstream extends UpstreamAccount {
  readonly model: Model;
  /** The index of the endpoint in its model, as records name it. */
  readonly at: number;
  readonly endpoint: Endpoint;
  readonly health: EndpointHealth;
  /** The units that the limits of the endpoint leave; null for an endpoint without limits. */
  readonly room: EndpointRoom | null;
  /** The index of the endpoint in readings. */
  readonly slot: number;
  /** The hash of the names of the endpoint and its key, by which requests are spread over endpoints. */
  readonly salt: SpreadKey;
}

/**
 * Returns the account that a conversation with state of a model has to return to: for a provider with several keys, and for a model whose
 * requests are spread over endpoints; null for others.
 */
export const stateAccount = ({
  pooled,
  account,
  model,
}: Pick<Upstream, 'pooled' | 'account' | 'model'>): string | null =>
  pooled || model.spread !== undefined ? account : null;

/** An upstream of one of the decision's models. */
export interface RankedUpstream {
  readonly ranked: RankedModel;
  readonly upstream: Upstream;
}

/** The upstreams of a runtime, by model and then by endpoint. */
export type UpstreamTable = readonly (readonly Upstream[])[];

/**
 * Returns the upstream of an endpoint.
 * @param model the index of the model in the snapshot
 * @param at the index of the endpoint in its model
 * @throws Error if there is no such endpoint
 */
export function upstreamAt(upstreams: UpstreamTable, model: number, at: number): Upstream {
  const upstream = upstreams[model]?.[at];
  if (!upstream) throw new Error(`model ${model} has no endpoint ${at}`);
  return upstream;
}
