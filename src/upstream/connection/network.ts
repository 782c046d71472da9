import { Dial, type DialOptions } from './dial.ts';
import type { ReadVariable } from './proxy.ts';
import { Resolver } from './resolver.ts';

/** The most providers that are remembered. */
const DIALS_MAX = 1_000;

/**
 * The dials of all providers, one instance per process. DNS answers and open connections outlive a reload: a provider
 * with unchanged settings keeps its connections.
 */
export class UpstreamNetwork {
  readonly #dials = new Map<string, Dial>();
  readonly #resolver: Resolver;

  constructor(resolver = new Resolver()) {
    this.#resolver = resolver;
  }

  /** Returns a provider's dial; null without an http address. @param variable reads the environment, for proxies */
  dial(options: DialOptions, variable: ReadVariable): Dial | null {
    const { provider, baseUrl, allowPrivate } = options;
    const key = JSON.stringify([provider, baseUrl, allowPrivate]);
    const existing = this.#dials.get(key);
    if (existing) return existing;
    if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl)) return null;
    const dial = new Dial(options, this.#resolver, variable);
    if (this.#dials.size >= DIALS_MAX) this.#dials.delete(this.#dials.keys().next().value!);
    this.#dials.set(key, dial);
    return dial;
  }
}

/** The network of this process. */
export const network = new UpstreamNetwork();
