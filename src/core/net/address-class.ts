import { type Address, isWithin, parseAddress, parseRange } from './address.ts';

/**
 * The kind of host that an address leads to. `public`: any host on the internet. `private`: this machine or a private network. `forbidden`:
 * metadata services with the machine's credentials, other internal services of a cloud, and addresses that are no valid destination.
 */
export type AddressClass = 'public' | 'private' | 'forbidden';

const ranges = (...texts: readonly string[]) => texts.map((text) => parseRange(text)!);

/**
 * IPv4 ranges that are not routed on the internet: private, loopback, link-local, shared, multicast, documentation and tests, and Azure's
 * host address.
 */
const PRIVATE_V4 = ranges(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '168.63.129.16'],
);
const [V4] = ranges('::ffff:0:0/96');
/** The IPv6 range that is routed on the internet. `PUBLIC_V6` excludes tunnels, which contain an IPv4 address, and documentation ranges. */
const [PUBLIC_V6] = ranges('2000::/3');
const PRIVATE_V6 = ranges('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');

const FORBIDDEN = ranges(
  // The unspecified address, which Linux connects to this machine.
  ...['0.0.0.0/8', '::'],
  // Multicast and broadcast.
  ...['224.0.0.0/4', '255.255.255.255', 'ff00::/8'],
  // Link-local addresses, where nearly every cloud has its metadata service and containers get their credentials.
  ...['169.254.0.0/16', 'fe80::/10'],
  // Metadata services of AWS, Google, Scaleway, Alibaba, Oracle and Azure.
  ...['fd00:ec2::/32', 'fd20:ce::/32', 'fd00:42::42', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
);
const [LOOPBACK_V6] = ranges('::1');

/** NAT64: networks translate these addresses to the IPv4 address inside, whose class therefore applies. */
const [NAT64] = ranges('64:ff9b::/96');
/** Other IPv6 forms of an IPv4 address: local NAT64 and IPv4-compatible. The IPv4 address is in the last 32 bits. */
const AT_THE_END = ranges('64:ff9b:1::/48', '::/96');
const [SIX_TO_FOUR, TEREDO] = ranges('2002::/16', '2001::/32');

const ipv4 = (high: number, low: number): Address => [0, 0, 0, 0, 0, 0xffff, high, low];

/** Returns the IPv4 address that an IPv6 address leads to; null for none. */
function inside(address: Address): Address | null {
  const [, second = 0, third = 0, , , , high = 0, low = 0] = address;
  if (isWithin(address, NAT64!) || AT_THE_END.some((range) => isWithin(address, range))) return ipv4(high, low);
  if (isWithin(address, SIX_TO_FOUR!)) return ipv4(second, third);
  // A Teredo address contains the IPv4 address with all bits inverted.
  return isWithin(address, TEREDO!) ? ipv4(high ^ 0xffff, low ^ 0xffff) : null;
}

/** Whether an address itself is routed on the internet. Tunnel addresses are not routed on the internet themselves. */
export function isPublic(address: Address): boolean {
  if (isWithin(address, V4!)) return !PRIVATE_V4.some((range) => isWithin(address, range));
  return isWithin(address, PUBLIC_V6!) && !PRIVATE_V6.some((range) => isWithin(address, range));
}

/** Returns the address class of an IP address. If an IPv6 address leads to an IPv4 address, the class of the latter applies. */
export function addressClass(address: Address): AddressClass {
  if (FORBIDDEN.some((range) => isWithin(address, range))) return 'forbidden';
  if (isWithin(address, LOOPBACK_V6!)) return 'private';
  const led = inside(address);
  const ledTo = led && addressClass(led);
  if (ledTo === 'forbidden' || (ledTo && isWithin(address, NAT64!))) return ledTo;
  return isPublic(address) ? 'public' : 'private';
}

/** Returns the address that the host of a URL is; null for a name. @param hostname as `URL` returns it, with IPv6 in brackets */
export function literalAddress(hostname: string): Address | null {
  return parseAddress(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
}
