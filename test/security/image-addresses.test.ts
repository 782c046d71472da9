import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { whyNotPublic } from '../../src/gateway/request/check-request.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** A model may fetch an image from its address. That address must not point into the network of the model, or of any server between. */
const REFUSED = [
  // Loopback, private, link-local, unspecified, shared, multicast and broadcast addresses, and the metadata services of clouds.
  ...[
    'http://127.0.0.1/x.png',
    'https://127.8.9.1',
    'http://0.0.0.0:8787/',
    'http://10.1.2.3/',
    'http://172.31.255.255/',
  ],
  ...[
    'http://192.168.0.1',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.64.0.1/',
    'http://100.100.100.200/',
  ],
  ...['http://224.0.0.1/', 'http://255.255.255.255/', 'http://192.0.0.192/', 'http://198.18.0.1/', 'http://240.0.0.1/'],
  ...[
    'http://[::1]/',
    'http://[::]/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[ff02::1]/',
    'http://[fec0::1]/',
  ],
  // The next addresses are the same addresses in other notations.
  ...[
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
  ],
  ...[
    'http://127.0.0.1./',
    'http://127.000.000.001/',
    'http://%31%32%37.0.0.1/',
    'http://１２７.0.0.1/',
    'http://127。0。0。1/',
  ],
  ...['http://[::ffff:127.0.0.1]/', 'http://[::ffff:7f00:1]/', 'http://[::127.0.0.1]/', 'http://[64:ff9b::7f00:1]/'],
  ...['http://[2002:7f00:1::]/', 'http://[2001:0:7f00:1::]/', 'http://[0:0:0:0:0:ffff:a9fe:a9fe]/'],
  // Names of internal networks.
  ...[
    'http://localhost/',
    'http://LOCALHOST:8787/',
    'http://localhost./',
    'http://a.localhost/',
    'http://printer.local/',
  ],
  ...[
    'http://metadata.google.internal/',
    'http://metadata/',
    'http://redis:6379/',
    'http://db.prod.svc/',
    'http://nas.lan',
  ],
  ...['http://x.home.arpa/', 'http://intra.corp/', 'http://169.254.169.254.nip.io/', 'http://10-0-0-1.sslip.io/'],
  // Addresses that two parsers read differently.
  ...[
    'http://example.com@127.0.0.1/',
    'http://user:pass@example.com/',
    'http://@example.com/',
    'http://127.0.0.1\\@example.com/',
  ],
  ...[
    'http://example.com\\.internal/',
    'http://exa mple.com/',
    'http://example.com\t/',
    'http://\u0000example.com/',
    'http:///127.0.0.1/',
  ],
  ...[
    'http://ex%61mple.com/',
    'http://',
    'http://[::1',
    'http://example.com:99999/',
    `https://example.com/${'a'.repeat(9_000)}`,
  ],
];
const ALLOWED = [
  ...['https://example.com/cat.png', 'http://example.com:8080/cat.png?size=1#top', 'https://8.8.8.8/cat.png'],
  ...['https://[2606:4700:4700::1111]/cat.png', 'https://bücher.example/cat.png', 'HTTPS://EXAMPLE.COM/CAT.PNG'],
  ...['https://localhost.example.com/', 'https://internal.example.com/', 'https://cdn-1-2-3.example.com/a@b/c.png'],
  ...['https://172.32.0.1/', 'https://100.128.0.1/', 'https://bucket.s3.amazonaws.com/x?X-Amz-Signature=abc%2Fdef'],
];

describe('an address', () => {
  test('in a private network is refused, however it is written', () => {
    expect(REFUSED.filter((address) => whyNotPublic(address) === null)).toEqual([]);
  });

  test('in a public network is accepted', () => {
    expect(ALLOWED.filter((address) => whyNotPublic(address) !== null)).toEqual([]);
  });

  const private4 = fc.oneof(
    fc.tuple(fc.constantFrom(0, 10, 127), fc.nat(255), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(192), fc.constant(168), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), fc.nat(255), fc.nat(255)),
    fc.tuple(fc.integer({ min: 224, max: 255 }), fc.nat(255), fc.nat(255), fc.nat(255)),
  );
  const radix = (part: number, how: number) => [`${part}`, `0x${part.toString(16)}`, `0${part.toString(8)}`][how]!;

  /** All notations in which parsers accept an IPv4 address. */
  const notation = fc
    .tuple(private4, fc.array(fc.nat(2), { minLength: 4, maxLength: 4 }), fc.nat(6))
    .map(([[a, b, c, d], how, form]) => {
      const hex = (n: number) => n.toString(16).padStart(2, '0');
      const forms = [
        `${a}.${b}.${c}.${d}`,
        [a, b, c, d].map((part, at) => radix(part, how[at]!)).join('.'),
        `${radix(a, how[0]!)}.${radix(b * 65_536 + c * 256 + d, how[1]!)}`,
        radix(((a * 256 + b) * 256 + c) * 256 + d, how[0]!),
        `[::ffff:${a}.${b}.${c}.${d}]`,
        `[::ffff:${hex(a)}${hex(b)}:${hex(c)}${hex(d)}]`,
        `[64:ff9b::${hex(a)}${hex(b)}:${hex(c)}${hex(d)}]`,
      ];
      return forms[form]!;
    });

  test('in a private network is refused in every notation, with any port and path', () => {
    fc.assert(
      fc.property(
        notation,
        fc.constantFrom('', ':80', ':8787'),
        fc.constantFrom('', '/', '/a?b#c'),
        (host, port, path) => {
          expect(whyNotPublic(`http://${host}${port}${path}`)).toBeString();
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('whose host a lenient parser reads as another host is refused', () => {
    // An accepted host must be exactly the host that is written in the text, whatever `URL` makes of it.
    const odd = fc.string({
      unit: fc.constantFrom(...'0123456789abcdefx.:@/\\%[]#?-_１。'),
      minLength: 1,
      maxLength: 24,
    });
    fc.assert(
      fc.property(odd, (text) => {
        const address = `http://${text}`;
        if (whyNotPublic(address) !== null) return;
        const written = /^http:\/\/([^/?#]+)/.exec(address)![1]!.replace(/:\d*$/, '').toLowerCase();
        const { hostname } = new URL(address);
        if (/^[\x20-\x7e]*$/.test(written)) expect(hostname).toBe(written);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the gateway', () => {
  let upstream: FakeUpstream;
  let strict: Signalbox;
  let open: Signalbox;

  beforeAll(async () => {
    upstream = startFakeUpstream();
    const policy = (more = '') =>
      testPolicy({ fake: upstream.url }, { eye: { endpoints: ['fake'] } }, more).replace(
        '[tools, json_schema]',
        '[vision, file_input]',
      );
    [strict, open] = await Promise.all([
      startSignalbox({ policy: policy(), env: UPSTREAM_ENV }),
      startSignalbox({ policy: policy('gateway: { allow_private_image_urls: true }\n'), env: UPSTREAM_ENV }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([strict.stop(), open.stop()]);
    await upstream.stop();
  });

  const ask = (box: Signalbox, part: object) =>
    box.post('/v1/chat/completions', { model: 'eye', messages: [{ role: 'user', content: [part] }] });
  const image = (url: string) => ({ type: 'image_url', image_url: { url } });

  test('refuses such an image with 400 and the path of the field, in chats and in route queries, and sends nothing', async () => {
    const param = 'messages[0].content[0].image_url.url';
    for (const url of REFUSED) await expectError(await ask(strict, image(url)), 'invalid_value', param);
    const messages = [{ role: 'user', content: [image(REFUSED[0]!)] }];
    await expectError(await strict.post('/v1/route', { messages }), 'invalid_value', param);
    expect(upstream.requests.length).toBe(0);
  });

  test('also refuses such a file, wherever in its part the address is', async () => {
    for (const member of ['file_data', 'file_url', 'url']) {
      const part = { type: 'file', file: { filename: 'a.pdf', [member]: 'http://169.254.169.254/a.pdf' } };
      await expectError(await ask(strict, part), 'invalid_value', `messages[0].content[0].file.${member}`);
    }
    const scheme = { type: 'file', file: { file_data: 'file:///etc/passwd' } };
    await expectError(await ask(strict, scheme), 'invalid_value', 'messages[0].content[0].file.file_data');
    expect(upstream.requests.length).toBe(0);
  });

  test('also refuses an image address in a text part, which some servers use as the image, and media in a part of another type', async () => {
    const text = { type: 'text', text: 'look', uuid: '1' };
    const at = 'messages[0].content[0]';
    const beside = { ...text, video_url: { url: 'http://10.0.0.1/' } };
    await expectError(await ask(strict, beside), 'invalid_value', `${at}.video_url.url`);
    const deeper = { ...image('https://example.com/a.png'), more: [{ url: 'http:/127.0.0.1/' }] };
    await expectError(await ask(strict, deeper), 'invalid_value', `${at}.more.0.url`);
    const media = { ...text, ...image('https://example.com/a.png'), type: 'text' };
    for (const box of [strict, open]) await expectError(await ask(box, media), 'invalid_value', `${at}.image_url`);
    expect(upstream.requests.length).toBe(0);
  });

  test('passes on public and inline images unchanged, and fetches none itself', async () => {
    const fetched: string[] = [];
    const spy = Bun.serve({
      // This server counts calls to any path. The operating system gives this server's port to no other test.
      port: freePort(),
      hostname: '127.0.0.1',
      fetch({ url }) {
        fetched.push(url);
        return new Response('');
      },
    });
    const inline = 'data:image/png;base64,iVBORw0KGgo=';
    for (const url of ['https://example.com/cat.png', inline]) {
      upstream.requests.length = 0;
      expect((await ask(strict, image(url))).status).toBe(200);
      expect(JSON.stringify(upstream.requests[0]?.body.messages)).toContain(url);
    }
    const own = `http://127.0.0.1:${spy.port}/cat.png`;
    expect((await ask(open, image(own))).status).toBe(200);
    expect(JSON.stringify(upstream.requests.at(-1)?.body.messages)).toContain(own);
    expect(fetched).toEqual([]);
    await spy.stop(true);
  });
});
