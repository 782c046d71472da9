import { addressText, parseAddress } from '../../core/address.ts';
import { addressClass, literalAddress } from '../../core/address-class.ts';
import { codeOf, UpstreamError } from '../failures.ts';
import { ConnectionPool, type StreamSender } from '../http1/connection-pool.ts';
import { proxyFor, type ReadVariable } from './proxy.ts';
import type { Resolver } from './resolver.ts';

/** The most addresses of one name that are tried. */
const PEERS_MAX = 8;
/** An address that answered within this time, in ms, is assumed to accept connections. */
const WARM_MS = 1_000;
/** Seconds that an idle connection is kept: shorter than most servers' limit, so that few are dead when reused. */
const IDLE_S = 45;
/** Names that mean this machine everywhere. */
const LOCALHOST = /^(?:.+\.)?localhost\.?$/;

/** One address of a provider's host: the actual destination of requests. */
export class Peer {
  readonly base: string;
  #path = '';
  #url = '';
  /** Created with the first stream. */
  #pool: ConnectionPool | null = null;
  #sender: StreamSender | null = null;
  /** When an answer last began here, in ms on performance.now's clock. */
  answeredAt = Number.NEGATIVE_INFINITY;

  /** @param base a URL without a trailing slash */
  constructor(base: string) {
    this.base = base;
  }

  /** The URL of a path below the base. */
  url(path: string): string {
    if (path !== this.#path) {
      this.#path = path;
      this.#url = `${this.base}/${path.replace(/^\/+/, '')}`;
      this.#sender = null;
    }
    return this.#url;
  }

  /** Sends streams to a path below the base. @param servername the name on the certificate; null for http */
  sender(path: string, servername: string | null): StreamSender | null {
    const text = this.url(path);
    // fetch, in contrast, can cancel a connection attempt at once.
    if (this.#pool?.isStuck) return null;
    if (this.#sender) return this.#sender;
    const { hostname, port, pathname, search, host } = new URL(text);
    this.#pool ??= new ConnectionPool({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (servername === null ? 80 : 443),
      servername,
    });
    this.#sender = this.#pool.sender(pathname + search, host);
    return this.#sender;
  }

  isWarm(now: number): boolean {
    return now - this.answeredAt < WARM_MS;
  }
}

/** In the order in which to try them. */
export type PeerList = readonly Peer[];

export interface DialOptions {
  /** The provider's name in the policy. */
  readonly provider: string;
  readonly baseUrl: string;
  /** Whether a name may resolve to this machine or a private network. */
  readonly allowPrivate: boolean;
}

/**
 * Reaches one provider. The name is looked up here and fetch gets a checked address, so that no DNS answer can send a
 * request and its key to a forbidden destination.
 */
export class Dial {
  /** The `host` header, where fetch gets an address instead of the name; otherwise null. */
  readonly hostHeader: string | null;
  readonly host: string;
  readonly #url: URL;
  readonly #options: DialOptions;
  readonly #resolver: Resolver;
  /** Separates this provider's connections from all others. */
  readonly #session: Bun.FetchSession;
  readonly #hasProxy: boolean;
  /** The name that a stream's certificate must be for; null for http. */
  readonly #servername: string | null;
  /** The DNS answer that `#peers` came from. */
  #resolved: readonly string[] | null = null;
  #peers: PeerList = [];
  /** Why nothing may be sent here at all; null where it may. */
  readonly #refusal: string | null = null;
  /** The only address, where no lookup is needed. */
  readonly #fixed: PeerList | null = null;

  /** @throws for a base URL that is not http or https: fetch supports more schemes */
  constructor(options: DialOptions, resolver: Resolver, variable: ReadVariable) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('not an http address');
    this.#url = url;
    this.#options = options;
    this.#resolver = resolver;
    this.host = url.hostname;
    const proxy = proxyFor(url, variable);
    const literal = literalAddress(url.hostname);
    if (literal && addressClass(literal) === 'forbidden') this.#refusal = `requests are never sent to ${url.hostname}`;
    // A proxy does its own lookups.
    if (literal || proxy !== null) this.#fixed = [this.#peerAt(url.hostname)];
    this.hostHeader = this.#fixed ? null : url.host;
    const isNamed = !this.#fixed && url.protocol === 'https:';
    this.#hasProxy = proxy !== null;
    this.#servername = url.protocol === 'https:' ? url.hostname.replace(/^\[|\]$|\.$/g, '') : null;
    this.#session = new Bun.FetchSession({
      proxy: proxy === null ? false : { url: proxy, respectNoProxy: false },
      ...(isNamed && { tls: { servername: url.hostname.replace(/\.$/, '') } }),
      keepAlive: { idleTimeout: IDLE_S },
    });
  }

  /** Sends streams; null where fetch must: through a proxy, or to an address where connections hang. */
  sender(peer: Peer, path: string): StreamSender | null {
    return this.#hasProxy ? null : peer.sender(path, this.#servername);
  }

  /**
   * Sends a request over this provider's own connections, as fetch does. Never follows redirects and never
   * decompresses: fetch would hold a whole decompression bomb in memory.
   */
  post(peer: Peer, path: string, init: RequestInit): Promise<Response> {
    return this.#session.fetch(peer.url(path), { ...init, method: 'POST', redirect: 'manual', decompress: false });
  }

  /**
   * Returns the addresses to try, synchronously where they are cached.
   *
   * @param now ms on performance.now's clock
   * @throws UpstreamError (or rejects) where no address exists or none is allowed
   */
  peers(now: number): PeerList | Promise<PeerList> {
    if (this.#refusal !== null) throw new UpstreamError('connect', this.#refusal);
    if (this.#fixed) return this.#fixed;
    let addresses: readonly string[] | Promise<readonly string[]>;
    try {
      addresses = this.#resolver.resolve(this.host, now);
    } catch (error) {
      throw this.#lookupFailure(error);
    }
    if (addresses === this.#resolved) return this.#peers;
    if (!(addresses instanceof Promise)) return this.#allow(addresses);
    return addresses.then(
      (texts) => this.#allow(texts),
      (error: unknown) => {
        throw this.#lookupFailure(error);
      },
    );
  }

  /** An answer began: this address works and is tried first from now on. */
  answered(peer: Peer, now: number): void {
    peer.answeredAt = now;
    const peers = this.#peers;
    if (peers[0] === peer || !peers.includes(peer)) return;
    this.#peers = [peer, ...peers.filter((other) => other !== peer)];
  }

  /** Turns the allowed addresses into peers. The peer that is tried first stays first if it is still there. */
  #allow(addresses: readonly string[]): PeerList {
    const { provider } = this.#options;
    const allowPrivate = this.#options.allowPrivate || LOCALHOST.test(this.host);
    const allowed: string[] = [];
    let refusal = '';
    for (const text of addresses) {
      const address = parseAddress(text);
      const kind = address && addressClass(address);
      if (kind === 'public' || (kind === 'private' && allowPrivate)) allowed.push(addressText(address!));
      else
        refusal =
          kind === 'private'
            ? `${text}, a private address; set \`providers.${provider}.allow_private_network\` to allow it`
            : `${text}, an address to which requests are never sent`;
    }
    if (allowed.length === 0) throw new UpstreamError('connect', `\`${this.host}\` resolves to ${refusal}`);
    const before = new Map(this.#peers.map((peer) => [peer.base, peer]));
    const peers = [...new Set(allowed)].slice(0, PEERS_MAX).map((text) => {
      const fresh = this.#peerAt(text.includes(':') ? `[${text}]` : text);
      return before.get(fresh.base) ?? fresh;
    });
    const first = this.#peers[0];
    this.#peers = first && peers.includes(first) ? [first, ...peers.filter((peer) => peer !== first)] : peers;
    this.#resolved = addresses;
    return this.#peers;
  }

  #peerAt(hostname: string): Peer {
    const { protocol, port, pathname } = this.#url;
    return new Peer(`${protocol}//${hostname}${port && `:${port}`}${pathname.replace(/\/+$/, '')}`);
  }

  #lookupFailure(error: unknown): UpstreamError {
    const code = codeOf(error);
    return new UpstreamError('connect', `no address for \`${this.host}\`${code && ` (${code})`}`);
  }
}
