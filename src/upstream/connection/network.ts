import type { Timers } from '../../core/timers.ts';
import { processTimers } from '../../telemetry/process-timers.ts';
import { Alarms } from '../alarm.ts';
import { Dial, type DialOptions } from './dial.ts';
import { proxyFor, type ReadVariable } from './proxy.ts';
import { Resolver } from './resolver.ts';

/** The most providers that are remembered. */
const DIALS_MAX = 1_000;

/**
 * The way of an application to all providers: their dials, and the alarms of calls. DNS answers and open connections outlive a
 * reload: a provider with unchanged settings keeps its connections. State: connections.
 */
export class UpstreamNetwork {
  readonly #dials = new Map<string, Dial>();
  readonly #resolver: Resolver;
  readonly alarms: Alarms;

  /** @param timers the process's own unless stated */
  constructor(resolver = new Resolver(), timers: Timers = processTimers) {
    this.#resolver = resolver;
    this.alarms = new Alarms(timers);
  }

  /** Returns a provider's dial; null without an http address. @param variable reads the environment, for proxies */
  dial(options: DialOptions, variable: ReadVariable): Dial | null {
    const { provider, baseUrl, allowPrivate } = options;
    if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl)) return null;
    const proxy = proxyFor(new URL(baseUrl), variable);
    const key = JSON.stringify([provider, baseUrl, allowPrivate, proxy]);
    const existing = this.#dials.get(key);
    if (existing) return existing;
    const dial = new Dial(options, this.#resolver, proxy);
    if (this.#dials.size >= DIALS_MAX) this.#dials.delete(this.#dials.keys().next().value!);
    this.#dials.set(key, dial);
    return dial;
  }
}
