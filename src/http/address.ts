import { type Address, type AddressRange, isWithin, neighbourhoodOf, parseAddress } from '../core/address.ts';

/** Who knows where a request comes from: the server. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
}

/** Hops that are looked at: no honest chain is longer. */
const HOPS_MAX = 32;

/**
 * Who sent a request, as limits count it: the peer of the connection or, where that is a trusted proxy, the
 * rightmost address of `X-Forwarded-For` that is not one. What is no address, and all to the left of it, anybody
 * may have written: then it is the last proxy that is known. '' when the connection is gone.
 */
export function callerAddress(request: Request, peers: Peers | null, trusted: readonly AddressRange[]): string {
  const peer = peers?.requestIP(request)?.address;
  const connected = peer === undefined ? null : parseAddress(peer);
  if (!connected) return '';
  return neighbourhoodOf(behindProxies(connected, request.headers.get('x-forwarded-for'), trusted));
}

export function behindProxies(peer: Address, forwardedFor: string | null, trusted: readonly AddressRange[]): Address {
  let last = peer;
  if (trusted.length === 0 || !forwardedFor) return last;
  const isTrusted = (address: Address) => trusted.some((range) => isWithin(address, range));
  const hops = forwardedFor.split(',').slice(-HOPS_MAX);
  while (isTrusted(last)) {
    const hop = hops.pop();
    const address = hop === undefined ? null : parseAddress(withoutPort(hop.trim()));
    if (!address) return last;
    last = address;
  }
  return last;
}

/** Some proxies write `203.0.113.7:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop) ?? [];
  if (bracketed !== undefined) return bracketed;
  const [, ipv4] = /^([\d.]+):\d{1,5}$/.exec(hop) ?? [];
  return ipv4 ?? hop;
}
