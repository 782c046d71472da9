import type { EndpointLimits } from '../../core/policy/snapshot.ts';
import type { EndpointLimitsText } from '../schema/model.ts';

/** Reads the limits of an endpoint or a key; undefined if none is stated. */
export function readLimits(text: EndpointLimitsText = {}): EndpointLimits | undefined {
  const { requests_per_minute, tokens_per_minute, concurrent_requests } = text;
  if (Object.keys(text).length === 0) return undefined;
  return {
    requestsPerMinute: requests_per_minute ?? null,
    tokensPerMinute: tokens_per_minute ?? null,
    concurrentRequests: concurrent_requests ?? null,
  };
}

/** Returns the limits of an endpoint at a key: each figure of the key replaces the figure of the endpoint. */
export function limitsAtKey(endpoint: EndpointLimits | undefined, key: EndpointLimits | undefined) {
  if (!endpoint || !key) return key ?? endpoint;
  return {
    requestsPerMinute: key.requestsPerMinute ?? endpoint.requestsPerMinute,
    tokensPerMinute: key.tokensPerMinute ?? endpoint.tokensPerMinute,
    concurrentRequests: key.concurrentRequests ?? endpoint.concurrentRequests,
  };
}
