import { isWithin, parseRange } from '../../core/net/address.ts';
import { literalAddress } from '../../core/net/address-class.ts';
import type { Timers } from '../../core/time/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import { Alarms } from '../alarm.ts';
import { DecoderRoom } from '../decoder-room.ts';
import { Dial, type DialOptions } from './dial.ts';
import { Resolver } from './resolver.ts';

/** The maximum number of providers whose connections are kept. */
const DIALS_MAX = 1_000;

/**
 * The connections of an application to all providers, and the deadlines of its calls. DNS answers and open connections survive a reload: a
 * provider with unchanged settings keeps its connections. State: connections.
 */
export class UpstreamNetwork {
  readonly #dials = new Map<string, Dial>();
  readonly #resolver: Resolver;
  readonly #decoders = new DecoderRoom();
  readonly alarms: Alarms;

  /** @param timers default: the timers of the process */
  constructor(resolver = new Resolver(), timers: Timers = processTimers) {
    this.#resolver = resolver;
    this.alarms = new Alarms(timers);
  }

  /** Returns the dial of a provider; null if its base URL is not an http address. @param variable reads the environment, for proxies */
  dial(options: DialOptions, variable: ReadVariable): Dial | null {
    const { provider, baseUrl, allowPrivate } = options;
    if (!URL.canParse(baseUrl) || !/^https?:/i.test(baseUrl)) return null;
    const proxy = proxyFor(new URL(baseUrl), variable);
    const key = JSON.stringify([provider, baseUrl, allowPrivate, proxy]);
    const existing = this.#dials.get(key);
    if (existing) return existing;
    const dial = new Dial(options, this.#resolver, proxy, this.#decoders);
    if (this.#dials.size >= DIALS_MAX) this.#dials.delete(this.#dials.keys().next().value!);
    this.#dials.set(key, dial);
    return dial;
  }
}

/** Reads an environment variable. */
type ReadVariable = (name: string) => string | undefined;

/**
 * Returns the proxy that the environment sets for a URL; null for none. Signalbox reads the same variables as fetch: `https_proxy` or
 * `http_proxy`, then `all_proxy`, and `no_proxy`. A variable in lower case takes precedence over the same one in upper case.
 */
export function proxyFor(url: URL, variable: ReadVariable): string | null {
  const read = (name: string) => nonEmpty(variable(name)) ?? nonEmpty(variable(name.toUpperCase()));
  const proxy = read(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? read('all_proxy');
  if (proxy === null || isExempt(url, read('no_proxy') ?? '')) return null;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

/** Returns a variable's value; null for an empty value, which some people write as a pair of quotes. */
function nonEmpty(text: string | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return trimmed === '' || trimmed === '""' || trimmed === "''" ? null : trimmed;
}

/**
 * Returns whether `no_proxy` lists the host. A name in `no_proxy` covers its subdomains, `10.0.0.0/8` covers a range and `*` covers
 * everything; a port may follow. Signalbox and fetch must agree on `no_proxy`, because fetch would otherwise connect to an unchecked
 * address.
 */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replace(/\.$/, '');
  const address = literalAddress(host);
  const ownPort = port || (protocol === 'https:' ? '443' : '80');
  return list.split(',').some((text) => {
    const entry = text.trim().toLowerCase();
    if (entry === '*') return true;
    const range = parseRange(entry.replace(/^\[(.*)\]$/, '$1'));
    if (range) return address !== null && isWithin(address, range);
    const [, name = '', entryPort] = /^(?:\*?\.)?(.*?)\.?(?::(\d+))?$/.exec(entry) ?? [];
    if (name === '' || (entryPort !== undefined && entryPort !== ownPort)) return false;
    return host === name || host.endsWith(`.${name}`);
  });
}
