import { type Address, isWithin, parseAddress, parseRange } from './address.ts';

/**
 * The kind of host behind an address. `public`: any. `private`: this machine or a network of one's own. `forbidden`: the
 * machine's own credentials and other services of its cloud, or no valid destination at all.
 */
export type AddressClass = 'public' | 'private' | 'forbidden';

const ranges = (...texts: readonly string[]) => texts.map((text) => parseRange(text)!);

/** IPv4 that is not routed for everyone: private, loopback, link-local, shared, multicast, kept for documents and tests, Azure's for its machines. */
const PRIVATE_V4 = ranges(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16'],
);
const [V4] = ranges('::ffff:0:0/96');
/** The part of IPv6 that is routed for everyone, and what of it is not: tunnels, which hold an IPv4 address, and documents. */
const [PUBLIC_V6] = ranges('2000::/3');
const PRIVATE_V6 = ranges('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

const FORBIDDEN = ranges(
  // Unspecified: Linux takes it for this machine.
  ...['0.0.0.0/8', '::'],
  // Multicast and broadcast.
  ...['224.0.0.0/4', '255.255.255.255', 'ff00::/8'],
  // Link-local: nearly every cloud's metadata, and the credentials that a container is given.
  ...['169.254.0.0/16', 'fe80::/10'],
  // Metadata services: AWS, Google, Scaleway, Alibaba, Oracle, Azure.
  ...['fd00:ec2::/32', 'fd20:ce::/32', 'fd00:42::42', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
);
const [LOOPBACK_V6] = ranges('::1');

/** Where IPv6 goes on as IPv4 everywhere: as public as what is inside. */
const [NAT64] = ranges('64:ff9b::/96');
/** Other ways to write an IPv4 address in IPv6: NAT64 of one's own, IPv4-compatible; the address stands in the last 32 bits. */
const AT_THE_END = ranges('64:ff9b:1::/48', '::/96');
const [SIX_TO_FOUR, TEREDO] = ranges('2002::/16', '2001::/32');

const ipv4 = (high: number, low: number): Address => [0, 0, 0, 0, 0, 0xffff, high, low];

/** The IPv4 address that an IPv6 address leads to; null for none. */
function inside(address: Address): Address | null {
  const [, second = 0, third = 0, , , , high = 0, low = 0] = address;
  if (isWithin(address, NAT64!) || AT_THE_END.some((range) => isWithin(address, range))) return ipv4(high, low);
  if (isWithin(address, SIX_TO_FOUR!)) return ipv4(second, third);
  // Teredo writes it inverted.
  return isWithin(address, TEREDO!) ? ipv4(high ^ 0xffff, low ^ 0xffff) : null;
}

/** Whether an address is routed for everyone, as it stands: no tunnel is. */
export function isPublic(address: Address): boolean {
  if (isWithin(address, V4!)) return !PRIVATE_V4.some((range) => isWithin(address, range));
  return isWithin(address, PUBLIC_V6!) && !PRIVATE_V6.some((range) => isWithin(address, range));
}

/** The class of an address to connect to: of IPv4 inside of IPv6, that of where it leads. */
export function addressClass(address: Address): AddressClass {
  if (FORBIDDEN.some((range) => isWithin(address, range))) return 'forbidden';
  if (isWithin(address, LOOPBACK_V6!)) return 'private';
  const led = inside(address);
  const ledTo = led && addressClass(led);
  if (ledTo === 'forbidden' || (ledTo && isWithin(address, NAT64!))) return ledTo;
  return isPublic(address) ? 'public' : 'private';
}

/** The address that a URL's host is; null for a name. `hostname` as `URL` gives it, IPv6 in brackets. */
export function literalAddress(hostname: string): Address | null {
  return parseAddress(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
}
