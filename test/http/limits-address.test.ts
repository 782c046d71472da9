import { describe, expect, test } from 'bun:test';
import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import {
  addressText,
  isWithin,
  neighbourhoodOf,
  parseAddress,
  parseRange,
  startOf,
} from '../../src/core/net/address.ts';
import { behindProxies, callerAddress } from '../../src/http/kit/address.ts';

const ipv4 = fc.ipV4();
const ipv6 = fc.ipV6();
const must = <T>(value: T | null): T => {
  if (value === null) throw new Error('could not be read');
  return value;
};

describe('an address', () => {
  test('is accepted exactly if node:net accepts it as an address', () => {
    const garbage = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[0-9a-f:.]{0,45}$/),
      fc.stringMatching(/^\d{1,4}(\.\d{1,4}){2,4}$/),
      fc.tuple(ipv6, fc.nat(45), fc.constantFrom(':', '.', '0', 'g', '', '::')).map(([text, at, more]) => {
        return text.slice(0, at) + more + text.slice(at + 1);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6, garbage), (text) => {
        // IPv6 zones are only meaningful on the machine that wrote them.
        fc.pre(!text.includes('%'));
        expect(parseAddress(text) !== null).toBe(isIP(text) !== 0);
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::ffff:a01:203', '10.1.2.3'],
    ['0:0:0:0:0:ffff:10.1.2.3', '10.1.2.3'],
    ['2001:DB8::1', '2001:db8:0:0:0:0:0:1'],
    ['2001:db8:0:0:0:0:0:1', '2001:db8:0:0:0:0:0:1'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:1'],
    ['::', '0:0:0:0:0:0:0:0'],
  ])('%s is %s', (text, plain) => {
    expect(addressText(must(parseAddress(text)))).toBe(plain);
  });

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('%s is counted as %s', (text, subject) => {
    expect(neighbourhoodOf(must(parseAddress(text)))).toBe(subject);
  });
});

describe('a range', () => {
  test('contains exactly the addresses that node:net finds in it', () => {
    const ranges = fc.oneof(
      fc.tuple(ipv4, fc.integer({ min: 1, max: 32 })),
      fc.tuple(ipv6, fc.integer({ min: 1, max: 128 })),
    );
    fc.assert(
      fc.property(ranges, fc.oneof(ipv4, ipv6), fc.nat(128), ([base, bits], other, near) => {
        const family = base.includes(':') ? 'ipv6' : 'ipv4';
        // Signalbox treats an IPv4 address and its IPv6 form as equal, but node:net does not.
        fc.pre(family === 'ipv4' || bits > 96);
        const list = new BlockList();
        list.addSubnet(base, bits, family);
        const range = must(parseRange(`${base}/${bits}`));
        const flipped = must(parseAddress(base)).map((group, at) =>
          Math.floor(near / 16) === at ? group ^ (0x8000 >> (near % 16)) : group,
        );
        for (const text of [other, base, addressText(flipped), addressText(startOf(range))]) {
          const expected = list.check(text, text.includes(':') ? 'ipv6' : 'ipv4');
          expect({ text, base, bits, within: isWithin(must(parseAddress(text)), range) }).toEqual({
            text,
            base,
            bits,
            within: expected,
          });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test.each(['', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/-1', 'fd00::/129', 'fd00::/8/8', '/8', 'a/8'])(
    '"%s" is not accepted',
    (text) => {
      expect(parseRange(text)).toBeNull();
    },
  );
});

describe('behind proxies', () => {
  const trusted = ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'].map((text) => must(parseRange(text)));
  const from = (peer: string, forwardedFor: string | null) =>
    addressText(behindProxies(must(parseAddress(peer)), forwardedFor, trusted));

  test.each([
    ['a header from another sender is ignored', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a proxy is', '10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['a trusted proxy with an IPv6 form of its address is trusted', '::ffff:10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['without the header, the proxy is the caller', '10.1.1.1', null, '10.1.1.1'],
    [
      'an address that the caller wrote itself is further left and is ignored',
      '10.1.1.1',
      '1.1.1.1, 198.51.100.1',
      '198.51.100.1',
    ],
    ['proxies in a row', '10.1.1.1', '1.1.1.1, 198.51.100.1, 192.0.2.1,10.2.2.2', '198.51.100.1'],
    ['proxies alone', '10.1.1.1', '10.3.3.3, 10.2.2.2', '10.3.3.3'],
    ['with ports', '10.1.1.1', '198.51.100.1:4711', '198.51.100.1'],
    ['IPv6 in brackets', 'fd00::1', '[2001:db8::1]:443', '2001:db8:0:0:0:0:0:1'],
    ['an invalid entry is ignored', '10.1.1.1', 'unknown', '10.1.1.1'],
    ['an entry to the left of an invalid one is ignored', '10.1.1.1', '198.51.100.1, unknown, 10.2.2.2', '10.2.2.2'],
    ['an empty entry is ignored', '10.1.1.1', '198.51.100.1,', '10.1.1.1'],
  ])('%s', (_, peer, forwardedFor, expected) => {
    expect(from(peer, forwardedFor)).toBe(expected);
  });

  test('any header gives a caller the last untrusted hop as its address, and never fails', () => {
    const hop = fc.oneof(ipv4, ipv6, fc.string(), fc.constantFrom('10.0.0.1', '', ' ', 'unknown', '[', '[::1', ':80'));
    fc.assert(
      fc.property(fc.array(hop, { maxLength: 40 }), ipv4, (hops, real) => {
        const outside = must(parseAddress(real));
        fc.pre(!trusted.some((range) => isWithin(outside, range)));
        // The trusted proxy appends the address that it has seen.
        const written = [...hops, real].join(', ');
        expect(addressText(behindProxies(must(parseAddress('10.1.1.1')), written, trusted))).toBe(real);
        expect(addressText(behindProxies(outside, written, trusted))).toBe(real);
        behindProxies(must(parseAddress('10.1.1.1')), hops.join(','), trusted);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a request whose connection is gone has no address', () => {
    const request = new Request('http://localhost/', { headers: { 'x-forwarded-for': '198.51.100.1' } });
    expect(callerAddress(request, { requestIP: () => null }, trusted)).toBe('');
    expect(callerAddress(request, null, trusted)).toBe('');
    expect(callerAddress(request, { requestIP: () => ({ address: '10.0.0.7' }) }, trusted)).toBe('198.51.100.1');
  });
});
