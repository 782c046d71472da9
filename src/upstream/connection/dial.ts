import { addressText, parseAddress } from '../../core/address.ts';
import { addressClass, literalAddress } from '../../core/address-class.ts';
import { Broken, codeOf } from '../failures.ts';
import { Lines, type StreamLine } from '../line/lines.ts';
import { proxyFor, type Variable } from './proxy.ts';
import type { Resolver } from './resolver.ts';

/** Addresses of one name that are tried at most. */
const PEERS_MAX = 8;
/** An address that has answered within this time, in ms, is known to accept connections. */
const WARM_MS = 1_000;
/** Seconds that an idle connection is kept: less than most servers keep theirs, so that few are found dead when used. */
const IDLE_S = 45;
/** Names that lead to this machine, wherever they are asked for. */
const LOCALHOST = /^(?:.+\.)?localhost\.?$/;

/** One address of a provider's host: where requests really go. */
export class Peer {
  readonly base: string;
  #path = '';
  #url = '';
  /** Made with the first stream. */
  #lines: Lines | null = null;
  #line: StreamLine | null = null;
  /** When an answer last began here, in ms on performance.now's clock. */
  answeredAt = Number.NEGATIVE_INFINITY;

  /** `base`: a URL without a slash at its end. */
  constructor(base: string) {
    this.base = base;
  }

  /** The URL of a path below the base. */
  url(path: string): string {
    if (path !== this.#path) {
      this.#path = path;
      this.#url = `${this.base}/${path.replace(/^\/+/, '')}`;
      this.#line = null;
    }
    return this.#url;
  }

  /** The way of a stream to a path below the base. `servername`: whose certificate it must be; null for http. */
  line(path: string, servername: string | null): StreamLine | null {
    const text = this.url(path);
    // What fetch gives up while it connects is given up at once.
    if (this.#lines?.isStuck) return null;
    if (this.#line) return this.#line;
    const { hostname, port, pathname, search, host } = new URL(text);
    this.#lines ??= new Lines({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (servername === null ? 80 : 443),
      servername,
    });
    this.#line = this.#lines.to(pathname + search, host);
    return this.#line;
  }

  isWarm(now: number): boolean {
    return now - this.answeredAt < WARM_MS;
  }
}

/** In the order in which they are tried. */
export type Peers = readonly Peer[];

export interface DialOptions {
  /** The provider, as the policy names it. */
  readonly provider: string;
  readonly baseUrl: string;
  /** Whether a name may lead to this machine or into a private network. */
  readonly allowPrivate: boolean;
}

/**
 * How one provider is reached. A name is looked up here and not by fetch, which is given an address that was checked:
 * so no answer of the DNS leads a request, with its key, to where it may not go.
 */
export class Dial {
  /** What the `host` header must say, because fetch is not given the name; null where it is. */
  readonly hostHeader: string | null;
  readonly host: string;
  readonly #url: URL;
  readonly #options: DialOptions;
  readonly #resolver: Resolver;
  /** Keeps the connections of this provider apart from all others. */
  readonly #session: Bun.FetchSession;
  readonly #hasProxy: boolean;
  /** Whose certificate a stream's connection must show; null for http. */
  readonly #servername: string | null;
  /** The answer that `#peers` were made of. */
  #known: readonly string[] | null = null;
  #peers: Peers = [];
  /** Why nothing may be sent, whatever the DNS says. */
  readonly #refusal: string | null = null;
  /** The one address, where nothing is looked up here. */
  readonly #fixed: Peers | null = null;

  /** Throws for a base URL that is none of http or https: fetch knows more schemes than we want. */
  constructor(options: DialOptions, resolver: Resolver, variable: Variable) {
    const url = new URL(options.baseUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('not an http address');
    this.#url = url;
    this.#options = options;
    this.#resolver = resolver;
    this.host = url.hostname;
    const proxy = proxyFor(url, variable);
    const literal = literalAddress(url.hostname);
    if (literal && addressClass(literal) === 'forbidden') this.#refusal = `no request is sent to ${url.hostname}`;
    // A proxy looks names up itself.
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

  /** How a stream goes; null where it has to go by fetch: through a proxy, and to where no connection comes to stand. */
  line(peer: Peer, path: string): StreamLine | null {
    return this.#hasProxy ? null : peer.line(path, this.#servername);
  }

  /**
   * Sends a request over this provider's own connections, as fetch does. Redirects are never followed, and nothing is
   * decompressed: fetch would hold all that a bomb unpacks to before anybody could bound it.
   */
  post(peer: Peer, path: string, init: RequestInit): Promise<Response> {
    return this.#session.fetch(peer.url(path), { ...init, method: 'POST', redirect: 'manual', decompress: false });
  }

  /**
   * The addresses to try, at once where they are known. `now` is a time on performance.now's clock. Throws or rejects
   * with `Broken` where there is none, or none that a request may be sent to.
   */
  peers(now: number): Peers | Promise<Peers> {
    if (this.#refusal !== null) throw new Broken('connect', this.#refusal);
    if (this.#fixed) return this.#fixed;
    let known: readonly string[] | Promise<readonly string[]>;
    try {
      known = this.#resolver.resolve(this.host, now);
    } catch (error) {
      throw this.#unknown(error);
    }
    if (known === this.#known) return this.#peers;
    if (!(known instanceof Promise)) return this.#fit(known);
    return known.then(
      (addresses) => this.#fit(addresses),
      (error: unknown) => {
        throw this.#unknown(error);
      },
    );
  }

  /** An answer has begun: this address is known to work, and is tried first from now on. */
  answered(peer: Peer, now: number): void {
    peer.answeredAt = now;
    const peers = this.#peers;
    if (peers[0] === peer || !peers.includes(peer)) return;
    this.#peers = [peer, ...peers.filter((other) => other !== peer)];
  }

  /** Makes peers of those addresses that a request may be sent to. What stays among them keeps its place in front. */
  #fit(addresses: readonly string[]): Peers {
    const { provider } = this.#options;
    const allowPrivate = this.#options.allowPrivate || LOCALHOST.test(this.host);
    const fit: string[] = [];
    let refused = '';
    for (const text of addresses) {
      const address = parseAddress(text);
      const kind = address && addressClass(address);
      if (kind === 'public' || (kind === 'private' && allowPrivate)) fit.push(addressText(address!));
      else
        refused =
          kind === 'private'
            ? `${text}, a private address: \`providers.${provider}.allow_private_network\` would allow it`
            : `${text}, where no request is sent`;
    }
    if (fit.length === 0) throw new Broken('connect', `\`${this.host}\` leads to ${refused}`);
    const before = new Map(this.#peers.map((peer) => [peer.base, peer]));
    const peers = [...new Set(fit)].slice(0, PEERS_MAX).map((text) => {
      const fresh = this.#peerAt(text.includes(':') ? `[${text}]` : text);
      return before.get(fresh.base) ?? fresh;
    });
    const first = this.#peers[0];
    this.#peers = first && peers.includes(first) ? [first, ...peers.filter((peer) => peer !== first)] : peers;
    this.#known = addresses;
    return this.#peers;
  }

  #peerAt(hostname: string): Peer {
    const { protocol, port, pathname } = this.#url;
    return new Peer(`${protocol}//${hostname}${port && `:${port}`}${pathname.replace(/\/+$/, '')}`);
  }

  #unknown(error: unknown): Broken {
    const code = codeOf(error);
    return new Broken('connect', `no address for \`${this.host}\`${code && ` (${code})`}`);
  }
}
