import { Dial, type DialOptions } from './dial.ts';
import type { Variable } from './proxy.ts';
import { Resolver } from './resolver.ts';

/** Providers remembered at most. */
const DIALS_MAX = 1_000;

/**
 * The ways to all providers. There is one in a process, so that what names lead to and the connections that are open
 * outlive a reload: a provider that the new policy says the same of is reached over the same connections.
 */
export class Network {
  readonly #dials = new Map<string, Dial>();
  readonly #resolver: Resolver;

  constructor(resolver = new Resolver()) {
    this.#resolver = resolver;
  }

  /** How a provider is reached; null for one without an http address. `variable` reads the environment, for its proxies. */
  dial(options: DialOptions, variable: Variable): Dial | null {
    const { provider, baseUrl, allowPrivate } = options;
    const key = JSON.stringify([provider, baseUrl, allowPrivate]);
    const known = this.#dials.get(key);
    if (known) return known;
    if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl)) return null;
    const dial = new Dial(options, this.#resolver, variable);
    if (this.#dials.size >= DIALS_MAX) this.#dials.delete(this.#dials.keys().next().value!);
    this.#dials.set(key, dial);
    return dial;
  }
}

/** The one of this process. */
export const network = new Network();
