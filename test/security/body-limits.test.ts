import { afterEach, describe, expect, test } from 'bun:test';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { needsKey } from '../../src/http/kit/route-table.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { connect, type RawConnection } from '../support/raw-http.ts';
import { ROUTES } from '../support/routes.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const KiB = 1_024;
/** `gateway.body_bytes_max` in the policy. */
const POLICY_MAX = 300 * KiB;

/** The maximum body sizes, written here again as an independent check. All other routes accept 64 KiB. */
const LARGEST: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    SURFACES.flatMap(({ routes }) => routes).flatMap((route) =>
      route.kind === 'list' ? [] : [route.path, ...(route.alsoAt ?? [])].map((path) => [`POST ${path}`, POLICY_MAX]),
    ),
  ),
  'POST /v1/route': POLICY_MAX,
  'POST /admin/policy/check': POLICY_MAX,
  'POST /admin/policy/test': POLICY_MAX,
  'POST /admin/policy/diff': POLICY_MAX,
  'POST /admin/policy/patch': POLICY_MAX,
  'PUT /admin/policy/files': POLICY_MAX,
  'POST /admin/policy/pushes': POLICY_MAX,
  'POST /admin/playground': POLICY_MAX,
  'POST /admin/policy/explain': 256 * KiB,
  'POST /admin/keys/import': POLICY_MAX,
  'POST /console/sign-in/key': KiB,
};
const OTHERS = 64 * KiB;

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: upstream.url },
    { best: { endpoints: ['first'] } },
    `gateway: { body_bytes_max: ${POLICY_MAX}, trusted_proxies: [127.0.0.1], keyless_per_minute: 100000, failed_auth_per_minute: 100000 }\n`,
  ),
}));

const connections: RawConnection[] = [];
afterEach(() => {
  for (const connection of connections.splice(0)) connection.close();
});

interface Head {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly string[];
}

/** Sends the head of a request and the first part of its body. */
async function begin({ method, path, headers = [] }: Head, start = ''): Promise<RawConnection> {
  const connection = await connect(box.url);
  connections.push(connection);
  const { host } = new URL(box.url);
  const credentials = needsKey(path) ? [`authorization: Bearer ${box.key}`] : [`origin: ${box.url}`];
  const lines = [`host: ${host}`, 'content-type: application/json', ...credentials, ...headers];
  await connection.write(
    `${method} ${path.replaceAll(/\{\w+\}|(?<=\/):\w+/g, 'x')} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${start}`,
  );
  return connection;
}

const WITH_BODY = ROUTES.filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method));
const nameOf = ({ method, path }: Head): string => `${method} ${path}`;

describe('the maximum body size of a route', () => {
  test('is known for every route that accepts one', () => {
    const names = WITH_BODY.map(nameOf);
    expect(names.length).toBeGreaterThan(40);
    expect(Object.keys(LARGEST).filter((name) => !names.includes(name))).toEqual([]);
  });

  test.each(WITH_BODY.map((route) => [nameOf(route), route] as const))(
    '%s: a body with one byte more is refused before a byte of it arrives',
    async (name, { method, path }) => {
      const bytes = (LARGEST[name] ?? OTHERS) + 1;
      const refused = await begin({ method, path, headers: [`content-length: ${bytes}`] });
      const response = await refused.response();
      expect(response.status).toBe(413);
      expect(response.body).toContain(`at most ${bytes - 1} bytes`);
    },
  );

  test.each(
    WITH_BODY.filter((route) => !needsKey(route.path) || route.path.startsWith('/admin/'))
      .filter((route) => LARGEST[nameOf(route)] !== POLICY_MAX)
      .map((route) => [nameOf(route), route] as const),
  )('%s: a body of unknown length is refused before a byte of it arrives', async (_, { method, path }) => {
    const refused = await begin({ method, path, headers: ['transfer-encoding: chunked'] });
    await expectError(await refused.response(), 'length_required');
  });

  test('ends a body of unknown length at the first byte above it', async () => {
    const path = '/v1/chat/completions';
    const chunk = `${(64 * KiB).toString(16)}\r\n${' '.repeat(64 * KiB)}\r\n`;
    const sent = await begin({ method: 'POST', path, headers: ['transfer-encoding: chunked'] }, chunk.repeat(5));
    await expectError(await sent.response(), 'request_too_large');
  });

  test('allows a body in pieces of any size, even if characters are split between pieces', async () => {
    const body = JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Grüße 😀 '.repeat(5_000) }] });
    const bytes = new TextEncoder().encode(body);
    for (const length of [1, 100, 70_000]) {
      const sent = await begin({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: ['transfer-encoding: chunked'],
      });
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += length) {
        const piece = bytes.subarray(at, at + length);
        pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
      }
      await sent.write(Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
      expect((await sent.response()).status).toBe(200);
      expect(upstream.requests.at(-1)?.text).toContain('Grüße 😀 '.repeat(5_000).trim());
    }
  });

  test('allows a body of exactly that size', async () => {
    const body = JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Hello' }] }).padEnd(POLICY_MAX);
    const sent = await begin(
      { method: 'POST', path: '/v1/chat/completions', headers: [`content-length: ${POLICY_MAX}`] },
      body,
    );
    expect((await sent.response()).status).toBe(200);
  });
});

describe('the sign-in with a key', () => {
  const path = '/console/sign-in/key';
  const unsent = 'content-length: 200';

  test('refuses a page of another site before a byte of the body arrives', async () => {
    const connection = await connect(box.url);
    connections.push(connection);
    const lines = ['host: localhost', 'content-type: application/json', 'origin: https://elsewhere.example', unsent];
    await connection.write(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    await expectError(await connection.response(), 'wrong_origin');
  });

  test('refuses another host before a byte of the body arrives', async () => {
    const connection = await connect(box.url);
    connections.push(connection);
    const lines = ['host: elsewhere.example', 'content-type: application/json', `origin: ${box.url}`, unsent];
    await connection.write(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    await expectError(await connection.response(), 'wrong_host');
  });

  test('holds 64 KiB of unfinished bodies for an address, and never takes room from another address or a caller', async () => {
    const unfinished = (address: string) =>
      begin({ method: 'POST', path, headers: [`content-length: ${KiB}`, `x-forwarded-for: ${address}`] }, '{');
    const held = await Promise.all(Array.from({ length: 64 }, () => unfinished('198.51.100.1')));
    const refused = await (await unfinished('198.51.100.1')).response();
    await expectError(refused, 'overloaded');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const other = await begin(
      { method: 'POST', path, headers: ['content-length: 13', 'x-forwarded-for: 198.51.100.2'] },
      '{"key":"none"}'.slice(0, 13),
    );
    await expectError(await other.response(), 'invalid_json');
    const chat = await box.post('/v1/chat/completions', {
      model: 'best',
      messages: [{ role: 'user', content: 'x'.repeat(200_000) }],
    });
    expect(chat.status).toBe(200);
    expect(held.filter(({ received }) => received !== '')).toEqual([]);
    for (const connection of held) connection.close();
    await waitFor(async () => {
      const again = await begin(
        { method: 'POST', path, headers: ['content-length: 13', 'x-forwarded-for: 198.51.100.1'] },
        '{"key":"none"',
      );
      return (await again.response()).status === 400;
    });
  });
});
