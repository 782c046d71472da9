import { lookup as systemLookup } from 'node:dns/promises';
import { type Address, addressText, parseAddress } from '../core/net/address.ts';
import { addressClass, literalAddress } from '../core/net/address-class.ts';
import { codeOf } from '../core/thrown.ts';

/** The most addresses of one host name that Signalbox tries. */
const ADDRESSES_MAX = 4;

/**
 * The reason why the host gave no answer. `address`: the URL may not be called. `refused`: the host resolves to an address that may not be
 * called. `lookup`: the host name has no address. `unreachable`: there was no connection, or it broke off. `late`: the time limit was
 * exceeded.
 */
export type OutboundFault = 'address' | 'refused' | 'lookup' | 'unreachable' | 'late';

/**
 * The message of an `OutboundError` is one sentence for the operator. The message names a host and an error code of the system, never a
 * path, because a path may contain a secret.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly fault: OutboundFault;
  /** Whether the only reason for the refusal is that the addresses are private, which the operator may allow. */
  readonly isPrivate: boolean;

  constructor(fault: OutboundFault, message: string, isPrivate = false) {
    super(message);
    this.fault = fault;
    this.isPrivate = isPrivate;
  }
}

/** A request to a host, without the rule about addresses. */
export interface HostRequest {
  /** An http or https URL, without user and password. */
  readonly url: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of a POST request. */
  readonly body?: string;
  /** The total time for the lookup, the connection and the answer, ms. */
  readonly timeoutMs: number;
  /** The most bytes of the answer that Signalbox reads. Signalbox ignores the bytes of the answer beyond `bytesMax`. */
  readonly bytesMax: number;
  /** Ends the call early, with the fault `unreachable`. */
  readonly signal?: AbortSignal;
}

/** A request to a host that an operator has named. */
export interface OutboundRequest extends HostRequest {
  readonly method: 'GET' | 'POST';
  /**
   * Whether the host may be this machine or in a private network. Signalbox refuses metadata services and similar addresses in any case.
   */
  readonly allowPrivate: boolean;
}

export interface OutboundReply {
  /** The status of the answer, also of a redirect, which Signalbox never follows. */
  readonly status: number;
  readonly headers: Headers;
  /** The body as far as it was read; invalid UTF-8 becomes U+FFFD. */
  readonly text: string;
  /** Whether the body has more than `bytesMax` bytes. */
  readonly isCut: boolean;
}

/** Returns the addresses of a host name. A `HostLookup` rejects if the host name has no address. */
export type HostLookup = (host: string) => Promise<readonly string[]>;

/** The lookup of the operating system, which includes `/etc/hosts`. */
const bySystem: HostLookup = async (host) => (await systemLookup(host, { all: true })).map(({ address }) => address);

/**
 * Calls a host once. `outbound` looks up the host name, checks each address, and connects only to a checked address, so that a later DNS
 * answer cannot lead elsewhere. `outbound` follows no redirect, uses no proxy, keeps no connection, and does not decompress.
 *
 * @throws OutboundError
 */
export const outbound = (request: OutboundRequest, lookup?: HostLookup): Promise<OutboundReply> =>
  callHost(request, isUsual(request.allowPrivate), lookup);

/** Returns the rule for the addresses of hosts that are no metadata service. */
const isUsual = (allowPrivate: boolean) => (address: Address) => {
  const kind = addressClass(address);
  return kind === 'public' || (kind === 'private' && allowPrivate);
};

/**
 * Calls a host as `outbound` does, at addresses that another rule allows.
 * @throws OutboundError
 */
export async function callHost(
  request: HostRequest,
  isAllowed: (address: Address) => boolean,
  lookup: HostLookup = bySystem,
): Promise<OutboundReply> {
  const url = URL.parse(request.url);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new OutboundError('address', 'the address must be an http or https address without user and password');
  }
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout;
  const late = new OutboundError('late', `\`${url.hostname}\` took longer than ${request.timeoutMs} ms`);
  try {
    const addresses = await beforeAbort(addressesOf(url, isAllowed, lookup), signal);
    return await askFirst(url, addresses, request, signal);
  } catch (cause) {
    if (timeout.aborted) throw late;
    if (signal.aborted) throw new OutboundError('unreachable', `the call of \`${url.hostname}\` was ended`);
    throw cause;
  }
}

/** Waits for work that cannot be stopped, such as a lookup, until the signal is aborted. */
export function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return Promise.race([work, promise]);
}

/** Returns the addresses of a URL's host that may be called, as texts. */
async function addressesOf(
  { hostname }: URL,
  isAllowed: (address: Address) => boolean,
  lookup: HostLookup,
): Promise<readonly string[]> {
  const literal = literalAddress(hostname);
  const found = literal ? [addressText(literal)] : await lookup(hostname).catch((cause) => failLookup(hostname, cause));
  const allowed: string[] = [];
  let isPrivate = found.length > 0;
  for (const text of found) {
    const address = parseAddress(text);
    if (address && isAllowed(address)) allowed.push(addressText(address));
    else isPrivate &&= address !== null && addressClass(address) === 'private';
  }
  if (found.length === 0) throw new OutboundError('lookup', `\`${hostname}\` has no address`);
  if (allowed.length === 0) {
    const what = isPrivate ? 'a private address, which is not allowed' : 'a reserved address, which is never allowed';
    throw new OutboundError('refused', `\`${hostname}\` points to ${what}`, isPrivate);
  }
  return [...new Set(allowed)].slice(0, ADDRESSES_MAX);
}

function failLookup(hostname: string, cause: unknown): never {
  const code = codeOf(cause);
  throw new OutboundError('lookup', `\`${hostname}\` has no address${code && ` (${code})`}`);
}

/** Errors that happen before a byte was sent. After such an error, Signalbox may try another address without sending the request twice. */
const UNSENT: ReadonlySet<string> = new Set([
  ...['ConnectionRefused', 'FailedToOpenSocket', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'],
]);

async function askFirst(url: URL, addresses: readonly string[], request: HostRequest, signal: AbortSignal) {
  for (const [at, address] of addresses.entries()) {
    try {
      return await ask(url, address, request, signal);
    } catch (cause) {
      const code = codeOf(cause);
      if (UNSENT.has(code) && at < addresses.length - 1) continue;
      throw new OutboundError('unreachable', `\`${url.host}\` cannot be reached${code && ` (${code})`}`);
    }
  }
  throw new OutboundError('lookup', `\`${url.hostname}\` has no address`);
}

async function ask(url: URL, address: string, request: HostRequest, signal: AbortSignal): Promise<OutboundReply> {
  const target = new URL(url);
  target.hostname = address.includes(':') ? `[${address}]` : address;
  const isNamed = literalAddress(url.hostname) === null;
  // The runtime checks the certificate against the host name, although the connection goes to an address.
  const tls = isNamed && url.protocol === 'https:' ? { servername: url.hostname.replace(/\.$/, '') } : null;
  using session = new Bun.FetchSession({ proxy: false, keepAlive: false, ...(tls && { tls }) });
  const headers = new Headers({ ...request.headers, 'accept-encoding': 'identity', host: url.host });
  const init = { method: request.method, headers, signal, ...(request.body !== undefined && { body: request.body }) };
  const reply = await session.fetch(target, { ...init, redirect: 'manual', decompress: false });
  return { status: reply.status, headers: reply.headers, ...(await bodyText(reply.body, request.bytesMax)) };
}

async function bodyText(body: ReadableStream<Uint8Array> | null, bytesMax: number) {
  const decoder = new TextDecoder();
  let left = bytesMax;
  let text = '';
  if (body === null) return { text, isCut: false };
  // Leaving the loop cancels the rest of the answer's body.
  for await (const piece of body) {
    text += decoder.decode(piece.subarray(0, left), { stream: true });
    if (piece.length > left) return { text: text + decoder.decode(), isCut: true };
    left -= piece.length;
  }
  return { text: text + decoder.decode(), isCut: false };
}
