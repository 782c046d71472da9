import { addressText, parseAddress } from '../../core/net/address.ts';
import { addressClass, literalAddress } from '../../core/net/address-class.ts';
import { codeOf } from '../../core/thrown.ts';
import { registerSecrets } from '../../host/telemetry/secrets.ts';
import { decodedReply } from '../decoded-reply.ts';
import type { DecoderRoom } from '../decoder-room.ts';
import { UpstreamError } from '../failures.ts';
import { ConnectionPool, urlBelow } from '../http1/connection-pool.ts';
import { fetchedReply, type PendingReply, type Post, pendingFetch, type UpstreamReply } from '../reply.ts';
import type { Resolver } from './resolver.ts';

/** The maximum number of addresses of one host that Signalbox tries. */
const PEERS_MAX = 8;
/**
 * How many seconds an idle connection is kept. Most servers close idle connections later than that, so a connection is seldom closed just
 * when Signalbox reuses it.
 */
const IDLE_S = 45;
/** Host names that always mean this machine. */
const LOCALHOST = /^(?:.+\.)?localhost\.?$/;

/** One IP address of a provider's host, to which Signalbox sends requests. */
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

  /** Sends a request to a path below the base URL. Returns null if connection attempts to this address hang. */
  post(path: string, request: Post, stream: boolean): PendingReply | null {
    const pool = stream ? this.#streams : this.#answers;
    return pool.isStuck ? null : pool.post(path, request);
  }
}

/** The addresses of a host, in the order in which they are tried. */
export type PeerList = readonly Peer[];

export interface DialOptions {
  /** The provider's name in the policy. */
  readonly provider: string;
  readonly baseUrl: string;
  /** Whether the host name may resolve to this machine or a private network. */
  readonly allowPrivate: boolean;
}

const encoder = new TextEncoder();
const joined = (pieces: readonly (string | Uint8Array)[]): Uint8Array =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? encoder.encode(piece) : piece)));

/**
 * Connects to one provider. `Dial` resolves the host name itself and connects only to an address that it has checked, so that no DNS answer
 * can redirect a request and its key to a forbidden destination.
 */
export class Dial {
  /** The `host` header if a connection uses an address instead of the name; otherwise null. */
  readonly hostHeader: string | null;
  readonly host: string;
  readonly decoders: DecoderRoom;
  readonly #url: URL;
  readonly #options: DialOptions;
  readonly #resolver: Resolver;
  /** Keeps this provider's connections separate from all others. */
  readonly #fetches: Bun.FetchSession;
  readonly #hasProxy: boolean;
  /** The host name that the certificate must be valid for; null for http. */
  readonly #servername: string | null;
  /** The DNS answer from which `#peers` was made. */
  #resolved: readonly string[] | null = null;
  #peers: PeerList = [];
  /** The reason why no request may be sent to this provider at all; null if requests are allowed. */
  readonly #refusal: string | null = null;
  /** The only address if no lookup is needed; otherwise null. */
  readonly #fixed: PeerList | null = null;

  /**
   * @param proxy the URL of the proxy; null for none
   * @throws if the base URL is neither http nor https, because fetch supports more schemes
   */
  constructor(options: DialOptions, resolver: Resolver, proxy: string | null, decoders: DecoderRoom) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('not an http address');
    this.#url = url;
    this.#options = options;
    this.decoders = decoders;
    this.#resolver = resolver;
    this.host = url.hostname;
    this.#servername = url.protocol === 'https:' ? url.hostname.replace(/^\[|\]$|\.$/g, '') : null;
    const literal = literalAddress(url.hostname);
    if (literal && addressClass(literal) === 'forbidden') this.#refusal = `requests are never sent to ${url.hostname}`;
    // A proxy resolves host names itself.
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

  /** Sends a request. `Dial` never follows redirects. The answer may be compressed; `decodedReply` decompresses it within limits. */
  post(peer: Peer, path: string, request: Post, stream: boolean): PendingReply {
    const pending = this.#hasProxy ? null : peer.post(path, request, stream);
    // Unlike the connection pool, fetch can cancel a connection attempt at once.
    return pending ?? this.#postByFetch(urlBelow(peer.base, path), request);
  }

  /**
   * Sends a request through a proxy, or to an address where connection attempts hang. fetch does not report when it has connected, but
   * fetch reads a streamed body only after it has connected.
   */
  #postByFetch(url: string, request: Post): PendingReply {
    const { headers, body } = request;
    const controller = new AbortController();
    const { signal } = controller;
    const bytes = typeof body === 'string' ? encoder.encode(body) : joined(body);
    const sized = new Headers(headers);
    // Without a `content-length` header the body would be chunked, which some servers reject.
    sized.set('content-length', String(bytes.length));
    const pull = (sink: ReadableStreamDirectController) => {
      if (signal.aborted) return sink.close();
      request.onConnected();
      sink.write(bytes);
      sink.close();
    };
    // A direct stream is the cheapest kind of stream: a single write contains the whole body and its end.
    const init = { method: 'POST', headers: sized, body: new ReadableStream({ type: 'direct', pull }), signal };
    const response = this.#fetches.fetch(url, { ...init, redirect: 'manual', decompress: false });
    return pendingFetch(response, () => controller.abort());
  }

  /**
   * Reads a resource below the base URL from the first address of the host. `Dial` never follows redirects. The body is decompressed.
   * @param body the JSON body of a POST request; absent for a GET request
   */
  async get(path: string, headers: Headers, signal: AbortSignal, body?: string): Promise<UpstreamReply> {
    const [peer] = await this.peers(performance.now());
    if (!peer) throw new UpstreamError('connect', `no address for \`${this.host}\``);
    const init = { headers, signal, ...(body !== undefined && { method: 'POST', body }) };
    const response = this.#fetches.fetch(urlBelow(peer.base, path), { ...init, redirect: 'manual', decompress: false });
    return decodedReply(fetchedReply(await response), this.decoders);
  }

  /**
   * Returns the addresses to try, synchronously if they are cached.
   *
   * @param now ms of performance.now
   * @throws UpstreamError (or rejects) if the host has no address or no address is allowed
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
    if (addresses instanceof Promise) return this.#allowFound(addresses);
    return addresses === this.#resolved ? this.#peers : this.#allow(addresses);
  }

  #allowFound(lookup: Promise<readonly string[]>): Promise<PeerList> {
    return lookup.then(
      (found) => this.#allow(found),
      (error) => this.#failLookup(error),
    );
  }

  /** Records that an answer from this address began: the address works, so Signalbox tries it first from now on. */
  answered(peer: Peer): void {
    if (!this.#fixed && this.#peers[0] !== peer) this.#peers = withFirst(peer, this.#peers);
  }

  /** Creates peers for the allowed addresses. The peer that Signalbox tries first stays first if its address is still allowed. */
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
            ? `${text}, a private address. Set \`providers.${provider}.allow_private_network\` to allow it`
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

  /** Returns the base URL with another host, without a trailing slash. */
  #baseAt(hostname: string): string {
    const { protocol, port, pathname } = this.#url;
    return `${protocol}//${hostname}${port && `:${port}`}${pathname.replace(/\/+$/, '')}`;
  }

  #failLookup(error: unknown): never {
    const code = codeOf(error);
    throw new UpstreamError('connect', `no address for \`${this.host}\`${code && ` (${code})`}`);
  }
}

/** Returns the peers with the given peer first. If the peer is not among them, returns the same list. */
const withFirst = (first: Peer, peers: PeerList): PeerList =>
  peers.includes(first) ? [first, ...peers.filter((peer) => peer !== first)] : peers;
