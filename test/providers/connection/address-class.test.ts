import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Address, addressText, isWithin, parseAddress, parseRange } from '../../../src/core/net/address.ts';
import { type AddressClass, addressClass, isPublic } from '../../../src/core/net/address-class.ts';

const address = (text: string): Address => parseAddress(text)!;

describe('an address', () => {
  test.each<[AddressClass, string[]]>([
    ['public', ['1.1.1.1', '104.18.7.192', '172.32.0.1', '2606:4700::6812:7c0', '64:ff9b::101:101']],
    [
      'private',
      ['127.0.0.1', '127.9.9.9', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '198.18.0.1', '240.0.0.1']
        .concat(['::1', 'fd00::1', 'fc00::1', '2001:db8::1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::101:101'])
        .concat(['2002:101:101::1', '2001:0:1::1', '::1.1.1.1']),
    ],
    [
      'forbidden',
      ['169.254.169.254', '169.254.170.2', '169.254.0.1', '100.100.100.200', '192.0.0.192', '168.63.129.16', '0.0.0.0']
        .concat(['0.1.2.3', '224.0.0.1', '239.255.255.250', '255.255.255.255', '::', 'fe80::1', 'febf::1', 'ff02::1'])
        .concat(['fd00:ec2::254', 'fd20:ce::254', 'fd00:42::42', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe'])
        .concat([
          '2002:a9fe:a9fe::1',
          '::169.254.169.254',
          '64:ff9b:1::a9fe:a9fe',
          '2001:0:1::5601:5601',
          'fe80::1%eth0',
        ]),
    ],
  ])('is %s: %j', (kind, texts) => {
    for (const text of texts) expect([text, addressClass(address(text))]).toEqual([text, kind]);
  });

  test('of Azure’s internal machine service is not allowed for images', () => {
    expect(isPublic(address('168.63.129.16'))).toBe(false);
  });
});

const METADATA = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192', '0.0.0.0', '255.255.255.255'];
const ipv4 = fc.oneof(
  fc.constantFrom(...METADATA, '127.0.0.1', '10.0.0.1', '8.8.8.8').map((text) => address(text)),
  fc.tuple(fc.nat(0xffff), fc.nat(0xffff)).map(([high, low]): Address => [0, 0, 0, 0, 0, 0xffff, high, low]),
);

/** IPv6 forms of an IPv4 address. The first is equivalent to it. */
const DISGUISES: readonly ((high: number, low: number, noise: number) => Address)[] = [
  (high, low) => [0x64, 0xff9b, 0, 0, 0, 0, high, low],
  (high, low, noise) => [0x64, 0xff9b, 1, noise, 0, 0, high, low],
  (high, low, noise) => [0x2002, high, low, noise, 0, 0, 0, 1],
  (high, low, noise) => [0x2001, 0, noise, noise, 0, noise, high ^ 0xffff, low ^ 0xffff],
  (high, low) => [0, 0, 0, 0, 0, 0, high, low],
];

/** No IPv6 form makes a forbidden address allowed, or a private one public. */
const noDisguise = (classOf: (address: Address) => AddressClass) =>
  fc.property(ipv4, fc.nat(DISGUISES.length - 1), fc.nat(0xffff), (plain, at, noise) => {
    const [high = 0, low = 0] = plain.slice(6);
    const disguised = DISGUISES[at]!(high, low, noise);
    // `::1`, loopback.
    if (isWithin(disguised, parseRange('::1')!)) return;
    if (addressClass(plain) === 'forbidden') expect(classOf(disguised)).toBe('forbidden');
    expect(classOf(disguised) === 'public').toBe(at === 0 && addressClass(plain) === 'public');
    expect(classOf(address(addressText(disguised)))).toBe(classOf(disguised));
  });

describe('an IPv4 address within an IPv6 address', () => {
  test('is as forbidden as the IPv4 address itself, and public only with the well-known NAT64 prefix', () => {
    fc.assert(noDisguise(addressClass), { numRuns: 2_000 });
  });

  test('is not classified by its prefix alone: the test detects such a classification', () => {
    const outside = (given: Address): AddressClass => (isPublic(given) ? 'public' : 'private');
    expect(fc.check(noDisguise(outside), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
  });
});
