import { type MeasuredCatalog, measuredModels, type Readings } from '../../core/decision/readings.ts';
import type { EndpointRoom } from '../../core/policy/endpoint-room.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import { Declarations } from './declarations.ts';
import { type Hub, TrackedEndpoint, TrackedProvider } from './endpoint.ts';
import { OutputLengths } from './output-lengths.ts';
import { NamesByProvider, type ServedNames } from './served-names.ts';
import type { EndpointHealth, EndpointSample, HealthAccount, HealthOptions } from './types.ts';
import { UnknownNames } from './unknown-names.ts';
import { endpointsBySlot, watchReadings } from './watch.ts';

/** The time in ms after which an endpoint that no policy names is forgotten. */
const FORGET_MS = 900_000;
/**
 * The interval between readings with new figures, in ms per endpoint. Stored readings take about 36 bytes per endpoint, so they take at
 * most a kilobyte per second.
 */
const PUBLISH_EVERY_MS = 40;

/** Returns the account at which an endpoint is called under a policy. */
export type AccountOf = (endpoint: Pick<Endpoint, 'provider' | 'account'>) => HealthAccount;
const onlyAccount: AccountOf = ({ provider }) => ({ name: provider, id: '' });

const twinKey = ({ provider, model, upstream }: TrackedEndpoint['name']): string =>
  JSON.stringify([provider, model, upstream]);

/** Identifies an endpoint together with its account. */
const endpointKey = (provider: string, upstream: string, model: string, account: string): string =>
  JSON.stringify([provider, upstream, model, account]);

const ownerKey = (provider: string, account: string): string => JSON.stringify([provider, account]);

type CatalogNames = Pick<MeasuredCatalog, 'models' | 'wildcards'>;

/**
 * The health of every endpoint: breaker, cool-down, key and speed. Health is stored by the endpoint's name, so that it survives reloads.
 * Decisions see health as immutable readings. State: health.
 */
export class Health {
  readonly outputs: OutputLengths;
  readonly declarations = new Declarations();
  readonly unknownNames: UnknownNames;
  readonly #hub: Hub;
  readonly #providers = new Map<string, TrackedProvider>();
  readonly #endpoints = new Map<string, TrackedEndpoint>();
  /** Endpoints with the same name but different keys or addresses. */
  readonly #twins = new Map<string, Set<TrackedEndpoint>>();
  #readings = 0;
  #publishedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HealthOptions) {
    const served = new NamesByProvider();
    this.#hub = { ...options, version: 0, hasPolicy: false, declarations: this.declarations, served };
    this.outputs = new OutputLengths(options.clock);
    this.unknownNames = new UnknownNames(options.clock);
  }

  /** Returns the health of an endpoint: the same object for the same names, until it is forgotten. */
  endpoint(provider: string, upstream: string, model: string, account = onlyAccount({ provider })): EndpointHealth {
    return this.#find(provider, upstream, model, account);
  }

  /** Returns the room of an endpoint under its limits; null for an endpoint without limits, and if limits are not enforced. */
  room({ provider, upstream, limits }: Endpoint, model: string, account: HealthAccount): EndpointRoom | null {
    const { rooms } = this.#hub;
    return rooms && limits ? rooms.room(endpointKey(provider, upstream, model, account.id), limits) : null;
  }

  /**
   * Returns a function that returns the current readings for a snapshot's slots. The readings stay the same object until something changes;
   * a change costs a pass over all endpoints.
   */
  watch(snapshot: MeasuredCatalog, accountOf: AccountOf = onlyAccount): () => Readings {
    if (!this.#hub.hasPolicy) this.#name(snapshot, accountOf);
    const endpoints = this.#bySlot(measuredModels(snapshot), accountOf);
    return watchReadings({ watched: snapshot, endpoints, outputs: this.outputs }, this.#hub, () => ++this.#readings);
  }

  /**
   * Publishes new measurements, less often with many endpoints, and forgets endpoints that no policy names. Call `publish` once a second.
   */
  publish(): void {
    const now = this.#hub.clock();
    const isDue = now - this.#publishedAt >= PUBLISH_EVERY_MS * this.#endpoints.size;
    if (isDue) this.#publishedAt = now;
    let isNew = isDue && this.outputs.publish();
    for (const [key, endpoint] of this.#endpoints) {
      if (endpoint.isNamed) endpoint.namedAt = now;
      else if (now - endpoint.namedAt >= FORGET_MS) this.#drop(key, endpoint);
      endpoint.reportExpiry(now);
      isNew = (isDue && endpoint.speed.publish(now)) || isNew;
    }
    if (isNew) this.#hub.version++;
  }

  /** Records a reload of the policy, after which providers may accept keys that they rejected before. */
  reloaded(snapshot: CatalogNames, accountOf: AccountOf = onlyAccount): void {
    this.#name(snapshot, accountOf);
    // A key of a pool stays paused, because the other keys serve until its next probe.
    for (const provider of this.#providers.values()) if (provider.label === undefined) provider.key.forget();
    for (const endpoint of this.#endpoints.values()) if (endpoint.provider.label === undefined) endpoint.key.forget();
    this.#hub.version++;
  }

  /** Names the endpoints of a policy that is active with other found models. */
  adopt(snapshot: CatalogNames, accountOf: AccountOf): void {
    this.#name(snapshot, accountOf);
    this.#hub.version++;
  }

  /** Records which models a provider has. @param served null if it is not known which models the provider lacks */
  listed(provider: string, account: string, served: ServedNames | null): void {
    const owner = ownerKey(provider, account);
    if (!this.#hub.served.set(owner, served)) return;
    this.#hub.version++;
    const now = this.#hub.clock();
    for (const key of this.#providers.values()) {
      if (key.listedBy === owner) for (const endpoint of key.endpoints) endpoint.listed(now);
    }
  }

  /** Yields the metrics of the endpoints in the active policy. */
  *samples(): Iterable<EndpointSample> {
    for (const endpoint of this.#endpoints.values()) if (endpoint.isNamed) yield endpoint.sample();
  }

  #name(catalog: CatalogNames, accountOf: AccountOf): void {
    const models = measuredModels(catalog);
    this.#hub.hasPolicy = true;
    for (const endpoint of this.#endpoints.values()) endpoint.isNamed = false;
    const endpoints = this.#bySlot(models, accountOf);
    for (const { id, firstSlot, endpoints: all, latency } of models) {
      all.forEach((stated, at) => {
        const endpoint = endpoints[firstSlot + at]!;
        endpoint.isNamed = true;
        const { id: account, label, listedBy = account } = accountOf(stated);
        endpoint.provider.label = label;
        endpoint.provider.listedBy = ownerKey(stated.provider, listedBy);
        endpoint.speed.assumed = latency;
        endpoint.declared = latency;
        endpoint.room = this.room(stated, id, accountOf(stated));
      });
    }
  }

  #bySlot(models: readonly Model[], accountOf: AccountOf): TrackedEndpoint[] {
    return endpointsBySlot(models, (endpoint, model) =>
      this.#find(endpoint.provider, endpoint.upstream, model, accountOf(endpoint)),
    );
  }

  #find(provider: string, upstream: string, model: string, account: HealthAccount): TrackedEndpoint {
    const key = endpointKey(provider, upstream, model, account.id);
    const existing = this.#endpoints.get(key);
    if (existing) {
      // A policy that is about to become active needs this endpoint.
      existing.namedAt = this.#hub.clock();
      return existing;
    }
    const id = ownerKey(provider, account.id);
    const owner = this.#providers.getOrInsertComputed(id, () => new TrackedProvider(id, account));
    // An endpoint with a new key or address is assumed to be as fast as before until it is measured.
    const name = { provider, model, upstream };
    const twins = this.#twins.getOrInsertComputed(twinKey(name), () => new Set());
    const [twin] = twins;
    const endpoint = new TrackedEndpoint(owner, name, this.#hub, twin?.speed);
    twins.add(endpoint);
    this.#endpoints.set(key, endpoint);
    return endpoint;
  }

  #drop(key: string, endpoint: TrackedEndpoint): void {
    const { provider } = endpoint;
    this.#endpoints.delete(key);
    const twins = this.#twins.get(twinKey(endpoint.name));
    if (twins?.delete(endpoint) && twins.size === 0) this.#twins.delete(twinKey(endpoint.name));
    provider.endpoints.delete(endpoint);
    if (provider.endpoints.size === 0) this.#providers.delete(provider.id);
  }
}
