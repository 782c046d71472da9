/** An IP address as 8 groups of 16 bits. IPv4 is stored as `::ffff:a.b.c.d`, so that both spellings of one address are equal. */
export type Address = readonly number[];

/** All addresses whose first `bits` bits (of 128) equal the first bits of `base`. */
export interface AddressRange {
  readonly base: Address;
  readonly bits: number;
}

const GROUPS = 8;
/** The bit at which the IPv4 address begins in the 128 bits. */
const IPV4_AT = 96;
/** The longest text of an address: 8 groups, the last two written as IPv4. */
const TEXT_MAX = 45;

const OCTET = /^(?:0|[1-9]\d{0,2})$/;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;

/** Reads an IP address without a port; null for any other text. `parseAddress` ignores a zone (`%eth0`). */
export function parseAddress(text: string): Address | null {
  const zone = text.indexOf('%');
  const bare = zone < 0 ? text : text.slice(0, zone);
  if (bare.length > TEXT_MAX) return null;
  if (!bare.includes(':')) {
    const pair = zone < 0 ? ipv4Groups(bare) : null;
    return pair && [0, 0, 0, 0, 0, 0xffff, ...pair];
  }
  const gap = bare.indexOf('::');
  if (gap < 0) {
    const groups = ipv6Groups(bare);
    return groups?.length === GROUPS ? groups : null;
  }
  const before = gap === 0 ? [] : ipv6Groups(bare.slice(0, gap), false);
  const after = gap + 2 === bare.length ? [] : ipv6Groups(bare.slice(gap + 2));
  if (!before || !after || before.length + after.length >= GROUPS) return null;
  const zeros = Array<number>(GROUPS - before.length - after.length).fill(0);
  return [...before, ...zeros, ...after];
}

/** Returns the groups of a text without `::`; null if any group is invalid. The end of the IPv6 address may be written as IPv4. */
function ipv6Groups(text: string, mayEndInIpv4 = true): number[] | null {
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [at, part] of parts.entries()) {
    const pair = mayEndInIpv4 && at === parts.length - 1 && part.includes('.') ? ipv4Groups(part) : null;
    if (pair) groups.push(...pair);
    else if (GROUP.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}

/** Leading zeros in an IPv4 address are refused, because some programs read such a number as octal. */
function ipv4Groups(text: string): [number, number] | null {
  const octets = text.split('.');
  if (octets.length !== 4 || !octets.every((octet) => OCTET.test(octet) && Number(octet) < 256)) return null;
  const [a = 0, b = 0, c = 0, d = 0] = octets.map(Number);
  return [a * 256 + b, c * 256 + d];
}

/** Reads `10.0.0.0/8`, `fd00::/8`, or a single address; null for any other text. `parseRange` keeps the bits of the base beyond `bits`. */
export function parseRange(text: string): AddressRange | null {
  const slash = text.indexOf('/');
  const written = slash < 0 ? text : text.slice(0, slash);
  const base = parseAddress(written);
  if (!base) return null;
  if (slash < 0) return { base, bits: GROUPS * 16 };
  const prefix = text.slice(slash + 1);
  if (!OCTET.test(prefix)) return null;
  const bits = Number(prefix) + (written.includes(':') ? 0 : IPV4_AT);
  return bits <= GROUPS * 16 ? { base, bits } : null;
}

export function isWithin(address: Address, { base, bits }: AddressRange): boolean {
  for (let at = 0; at < GROUPS; at++) {
    const mask = maskOf(at, bits);
    if (mask === 0) return true;
    if ((address[at]! & mask) !== (base[at]! & mask)) return false;
  }
  return true;
}

/** Returns the first IP address of a range. */
export function startOf({ base, bits }: AddressRange): Address {
  return base.map((group, at) => group & maskOf(at, bits));
}

/** Returns the mask of the bits of one group that belong to a prefix. */
function maskOf(at: number, bits: number): number {
  const here = Math.max(0, Math.min(16, bits - at * 16));
  return (0xffff << (16 - here)) & 0xffff;
}

const isIpv4 = (address: Address): boolean =>
  address[5] === 0xffff && address.slice(0, 5).every((group) => group === 0);

const groupsText = (groups: readonly number[]): string => groups.map((group) => group.toString(16)).join(':');

/** Writes an IP address as `10.0.0.1`, or as eight groups without leading zeros. */
export function addressText(address: Address): string {
  if (!isIpv4(address)) return groupsText(address);
  return address
    .slice(6)
    .map((group) => `${group >> 8}.${group & 255}`)
    .join('.');
}

/**
 * Returns the range of addresses that counts as one caller: an IPv4 address, or the /64 network of an IPv6 address, because its owner can
 * use all addresses in it.
 */
export function neighbourhoodOf(address: Address): string {
  if (isIpv4(address)) return addressText(address);
  return `${groupsText(address.slice(0, 4))}::/64`;
}
