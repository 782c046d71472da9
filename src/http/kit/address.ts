import {
  type Address,
  type AddressRange,
  addressText,
  isWithin,
  neighbourhoodOf,
  parseAddress,
} from '../../core/net/address.ts';

/** Returns the peer addresses of requests. The running server implements it. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
}

/** How many hops of `X-Forwarded-For` are read. No honest chain of proxies is longer. */
const HOPS_MAX = 32;

/**
 * Returns the address of a caller in the form that rate limits count. The address is the peer of the connection or, behind trusted proxies,
 * the rightmost address of `X-Forwarded-For` that is not a trusted proxy. A sender may have forged an invalid hop and all hops to its left,
 * so the last known proxy counts in that case. The address is '' if the connection is gone.
 */
export function callerAddress(request: Request, peers: Peers | null, trusted: readonly AddressRange[]): string {
  const address = addressOf(request, peers, trusted);
  return address ? neighbourhoodOf(address) : '';
}

/** Returns the full address of a caller, found like `callerAddress`, for the audit trail; null if the connection is gone. */
export function wholeAddress(request: Request, peers: Peers | null, trusted: readonly AddressRange[]): string | null {
  const address = addressOf(request, peers, trusted);
  return address && addressText(address);
}

function addressOf(request: Request, peers: Peers | null, trusted: readonly AddressRange[]): Address | null {
  const peer = peers?.requestIP(request)?.address;
  const connected = peer === undefined ? null : parseAddress(peer);
  return connected && behindProxies(connected, request.headers.get('x-forwarded-for'), trusted);
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

/** Removes the port, because some proxies write `203.0.113.7:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop) ?? [];
  if (bracketed !== undefined) return bracketed;
  const [, ipv4] = /^([\d.]+):\d{1,5}$/.exec(hop) ?? [];
  return ipv4 ?? hop;
}
