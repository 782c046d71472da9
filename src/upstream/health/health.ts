import type { Readings, Watched } from '../../core/readings.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { Endpoint, type Hub, ProviderState } from './endpoint.ts';
import { Outputs } from './outputs.ts';
import type { EndpointHealth, EndpointSample, HealthOptions } from './types.ts';
import { endpointsBySlot, watchReadings } from './watch.ts';

export type { Outputs } from './outputs.ts';
export type {
  AttemptOutcome,
  EndpointHealth,
  EndpointSample,
  HealthChange,
  HealthOptions,
  Quantiles,
  Trial,
} from './types.ts';

/** What no policy has named for this time, in ms, is forgotten. */
const FORGET_MS = 900_000;
/**
 * New figures make a frame, which is kept with all that is known of every endpoint, some 36 bytes each: so many of
 * them wait the longer, and frames take no more than a kilobyte a second, ms an endpoint.
 */
const PUBLISH_EVERY_MS = 40;

/**
 * What a provider's name stands for under a policy: its address and key. Another key or address is another provider,
 * though the name is the same: what an earlier policy's requests meet says nothing of it.
 */
export type OriginOf = (provider: string) => string;
const nowhere: OriginOf = () => '';

/**
 * What this process knows of every endpoint: its breaker, its cool-down, whether our key is good, how fast
 * it is. By names, so that it outlives reloads. Shown to decisions as immutable frames.
 */
export class Health {
  readonly outputs: Outputs;
  readonly #hub: Hub;
  readonly #providers = new Map<string, ProviderState>();
  readonly #endpoints = new Map<string, Endpoint>();
  #frames = 0;
  #publishedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HealthOptions) {
    this.#hub = { ...options, version: 0, hasPolicy: false };
    this.outputs = new Outputs(options.clock);
  }

  /** The same object for the same names, unless no policy has named them for a quarter of an hour. */
  endpoint(provider: string, upstream: string, model: string, origin = ''): EndpointHealth {
    return this.#find(provider, upstream, model, origin);
  }

  /**
   * The present frame for the slots of a snapshot: the same object until something changed. Costs a
   * comparison then, and otherwise a look at every endpoint.
   */
  watch(snapshot: Watched, originOf: OriginOf = nowhere): () => Readings {
    const { models } = snapshot;
    if (!this.#hub.hasPolicy) this.#name(snapshot, originOf);
    const endpoints = endpointsBySlot(models, (...names) => this.#find(...names, originOf(names[0])));
    return watchReadings({ watched: snapshot, endpoints, outputs: this.outputs }, this.#hub, () => ++this.#frames);
  }

  /**
   * To be called once a second: what was measured since becomes the next frame, of many endpoints now and then, and
   * what is long unnamed is dropped.
   */
  publish(): void {
    const now = this.#hub.clock();
    const isDue = now - this.#publishedAt >= PUBLISH_EVERY_MS * this.#endpoints.size;
    if (isDue) this.#publishedAt = now;
    let isNew = isDue && this.outputs.publish();
    for (const [key, endpoint] of this.#endpoints) {
      if (endpoint.isNamed) endpoint.namedAt = now;
      else if (now - endpoint.namedAt >= FORGET_MS) this.#drop(key, endpoint);
      endpoint.lookAgain(now);
      isNew = (isDue && endpoint.figures.publish(now)) || isNew;
    }
    if (isNew) this.#hub.version++;
  }

  /** The policy in force has changed, or was read again: keys that were refused may be good now. */
  reloaded(snapshot: Pick<PolicySnapshot, 'models'>, originOf: OriginOf = nowhere): void {
    this.#name(snapshot, originOf);
    for (const provider of this.#providers.values()) provider.key.forget();
    for (const endpoint of this.#endpoints.values()) endpoint.forgetKey();
    this.#hub.version++;
  }

  /** The endpoints of the policy in force. */
  *samples(): Iterable<EndpointSample> {
    for (const endpoint of this.#endpoints.values()) if (endpoint.isNamed) yield endpoint.sample();
  }

  #name({ models }: Pick<PolicySnapshot, 'models'>, originOf: OriginOf): void {
    this.#hub.hasPolicy = true;
    for (const endpoint of this.#endpoints.values()) endpoint.isNamed = false;
    const endpoints = endpointsBySlot(models, (...names) => this.#find(...names, originOf(names[0])));
    for (const { firstSlot, endpoints: all, latency } of models) {
      all.forEach((_, at) => {
        const endpoint = endpoints[firstSlot + at]!;
        endpoint.isNamed = true;
        endpoint.figures.assumedTtftMs = latency.ttftMs;
      });
    }
  }

  #find(provider: string, upstream: string, model: string, origin: string): Endpoint {
    const key = JSON.stringify([provider, upstream, model, origin]);
    const known = this.#endpoints.get(key);
    if (known) {
      // A policy that is about to come into force counts on it.
      known.namedAt = this.#hub.clock();
      return known;
    }
    const ownerKey = JSON.stringify([provider, origin]);
    const owner = this.#providers.get(ownerKey) ?? new ProviderState(provider, ownerKey);
    this.#providers.set(ownerKey, owner);
    // Behind another key or address it is as fast as it was, until it is seen not to be.
    const twin = this.#endpoints
      .values()
      .find((one) => one.provider.name === provider && one.upstream === upstream && one.model === model);
    const endpoint = new Endpoint(owner, upstream, model, this.#hub, twin?.figures);
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  #drop(key: string, endpoint: Endpoint): void {
    const { provider } = endpoint;
    this.#endpoints.delete(key);
    provider.endpoints.delete(endpoint);
    if (provider.endpoints.size === 0) this.#providers.delete(provider.id);
  }
}
