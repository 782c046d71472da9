import { addressText, parseAddress } from '../../core/address.ts';
import { addressClass, literalAddress } from '../../core/address-class.ts';
import { codeOf } from '../../core/thrown.ts';
import { registerSecrets } from '../../host/telemetry/secrets.ts';
import { decodedReply } from '../decoded-reply.ts';
import { UpstreamError } from '../failures.ts';
import { ConnectionPool, urlBelow } from '../http1/connection-pool.ts';
import { fetchedReply, type PendingReply, type Post, pendingFetch, type UpstreamReply } from '../reply.ts';
import type { Resolver } from './resolver.ts';

/** The most addresses of one name that are tried. */
const PEERS_MAX = 8;
/** Seconds that an idle connection is kept: shorter than most servers' limit, so that few are dead when reused. */
const IDLE_S = 45;
/** Names that mean this machine everywhere. */
const LOCALHOST = /^(?:.+\.)?localhost\.?$/;

/** One address of a provider's host: the actual destination of requests. */
class Peer {
  readonly base: string;
  readonly #streams: ConnectionPool;
  readonly #answers: ConnectionPool;

  /**
   * @param base a URL without a trailing slash
   * @param servername the name on the certificate; null for http
   */
  constructor(base: string, servername: string | null) {
    this.base = base;
    this.#streams = new ConnectionPool(base, { servername, stream: true });
    this.#answers = new ConnectionPool(base, { servername, stream: false });
  }

  /** Sends a request to a path below the base; null where connections hang. */
  post(path: string, request: Post, stream: boolean): PendingReply | null {
    const pool = stream ? this.#streams : this.#answers;
    return pool.isStuck ? null : pool.post(path, request);
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

const encoder = new TextEncoder();

/**
 * Reaches one provider. The name is looked up here and a connection gets a checked address, so that no DNS answer can
 * send a request and its key to a forbidden destination.
 */
export class Dial {
  /** The `host` header, where a connection gets an address instead of the name; otherwise null. */
  readonly hostHeader: string | null;
  readonly host: string;
  readonly #url: URL;
  readonly #options: DialOptions;
  readonly #resolver: Resolver;
  /** Separates this provider's connections from all others. */
  readonly #fetches: Bun.FetchSession;
  readonly #hasProxy: boolean;
  /** The name that the certificate must be for; null for http. */
  readonly #servername: string | null;
  /** The DNS answer that `#peers` came from. */
  #resolved: readonly string[] | null = null;
  #peers: PeerList = [];
  /** Why nothing may be sent here at all; null where it may. */
  readonly #refusal: string | null = null;
  /** The only address, where no lookup is needed. */
  readonly #fixed: PeerList | null = null;

  /**
   * @param proxy the URL of the proxy; null for none
   * @throws for a base URL that is not http or https: fetch supports more schemes
   */
  constructor(options: DialOptions, resolver: Resolver, proxy: string | null) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('not an http address');
    this.#url = url;
    this.#options = options;
    this.#resolver = resolver;
    this.host = url.hostname;
    this.#servername = url.protocol === 'https:' ? url.hostname.replace(/^\[|\]$|\.$/g, '') : null;
    const literal = literalAddress(url.hostname);
    if (literal && addressClass(literal) === 'forbidden') this.#refusal = `requests are never sent to ${url.hostname}`;
    // A proxy does its own lookups.
    if (literal || proxy !== null) this.#fixed = [new Peer(this.#baseAt(url.hostname), this.#servername)];
    this.hostHeader = this.#fixed ? null : url.host;
    const isNamed = !this.#fixed && url.protocol === 'https:';
    this.#hasProxy = proxy !== null;
    registerSecrets([proxy && URL.parse(proxy)?.password]);
    this.#fetches = new Bun.FetchSession({
      proxy: proxy === null ? false : { url: proxy, respectNoProxy: false },
      ...(isNamed && { tls: { servername: url.hostname.replace(/\.$/, '') } }),
      keepAlive: { idleTimeout: IDLE_S },
    });
  }

  /** Sends a request. Never follows redirects. The answer is as it came: `decodedReply` decompresses it within limits. */
  post(peer: Peer, path: string, request: Post, stream: boolean): PendingReply {
    const pending = this.#hasProxy ? null : peer.post(path, request, stream);
    // In contrast to a pool, fetch can cancel a connection attempt at once.
    return pending ?? this.#postByFetch(urlBelow(peer.base, path), request);
  }

  /**
   * Sends through a proxy, or to an address where connections hang. fetch does not report when it has connected, but it
   * pulls a streamed body only then.
   */
  #postByFetch(url: string, request: Post): PendingReply {
    const { headers, body } = request;
    const controller = new AbortController();
    const { signal } = controller;
    const bytes = encoder.encode(body);
    const sized = new Headers(headers);
    // Without it the body would be chunked, which some servers refuse.
    sized.set('content-length', String(bytes.length));
    const pull = (sink: ReadableStreamDirectController) => {
      if (signal.aborted) return sink.close();
      request.onConnected();
      sink.write(bytes);
      sink.close();
    };
    // The cheapest kind of stream: one write carries the whole body and its end.
    const init = { method: 'POST', headers: sized, body: new ReadableStream({ type: 'direct', pull }), signal };
    const response = this.#fetches.fetch(url, { ...init, redirect: 'manual', decompress: false });
    return pendingFetch(response, () => controller.abort());
  }

  /** Reads a resource below the base, at the first address of its host. Never follows redirects. Its body is decompressed. */
  async get(path: string, headers: Headers, signal: AbortSignal): Promise<UpstreamReply> {
    const [peer] = await this.peers(performance.now());
    if (!peer) throw new UpstreamError('connect', `no address for \`${this.host}\``);
    const init = { headers, signal };
    const response = this.#fetches.fetch(urlBelow(peer.base, path), { ...init, redirect: 'manual', decompress: false });
    return decodedReply(fetchedReply(await response));
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
      return this.#failLookup(error);
    }
    if (addresses instanceof Promise)
      return addresses.then(
        (found) => this.#allow(found),
        (error) => this.#failLookup(error),
      );
    return addresses === this.#resolved ? this.#peers : this.#allow(addresses);
  }

  /** An answer began: this address works and is tried first from now on. */
  answered(peer: Peer): void {
    if (!this.#fixed && this.#peers[0] !== peer) this.#peers = withFirst(peer, this.#peers);
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
    const peers = [...new Set(allowed)].slice(0, PEERS_MAX).map((text) => {
      const base = this.#baseAt(text.includes(':') ? `[${text}]` : text);
      return this.#peers.find((peer) => peer.base === base) ?? new Peer(base, this.#servername);
    });
    const [first] = this.#peers;
    this.#peers = first ? withFirst(first, peers) : peers;
    this.#resolved = addresses;
    return this.#peers;
  }

  /** The base URL, without a trailing slash, at another host. */
  #baseAt(hostname: string): string {
    const { protocol, port, pathname } = this.#url;
    return `${protocol}//${hostname}${port && `:${port}`}${pathname.replace(/\/+$/, '')}`;
  }

  #failLookup(error: unknown): never {
    const code = codeOf(error);
    throw new UpstreamError('connect', `no address for \`${this.host}\`${code && ` (${code})`}`);
  }
}

/** Returns the peers with one of them as the first; the same list where it is none of them. */
const withFirst = (first: Peer, peers: PeerList): PeerList =>
  peers.includes(first) ? [first, ...peers.filter((peer) => peer !== first)] : peers;
