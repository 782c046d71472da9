import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isDeep, tries } from '../deep/effort.ts';
import { testPolicy } from '../support/policies.ts';
import { connect } from '../support/raw-http.ts';
import { isForOperators, ROUTES } from '../support/routes.ts';
import { useSignalbox } from '../support/use.ts';

let plain: string;

const box = useSignalbox({});
beforeAll(async () => {
  plain = await box.makeKey();
});

/** Values of the Host header with which the server cannot form a complete URL of the request. */
const HOSTS: readonly (string | null)[] = ['', 'a@b', 'x/v1/models', 'a b', 'h?x', 'h#x', '/', '//', '[', null];
/** Open routes, and a route that a plain key may use, followed by the locked path in the position of a query. */
const DISGUISES = ['/x/healthz?', '/x/docs?', '/healthz?', '/x/v1/route?', '/x/v1/chat/completions?', '/?', '//?', '?'];

async function statusOf(method: string, target: string, host: string | null, key: string | null): Promise<number> {
  const connection = await connect(box.url);
  const lines = [
    `${method} ${target} HTTP/1.${host === null ? 0 : 1}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    'Content-Length: 2',
    'Connection: close',
  ];
  await connection.write(`${lines.join('\r\n')}\r\n\r\n{}`);
  const text = await Promise.race([connection.closed, Bun.sleep(2_000).then(() => connection.received)]);
  connection.close();
  // The start page and the health check ignore the query.
  if (target.startsWith('/?') && /^location: \/docs\r$/im.test(text)) return 404;
  if (target.startsWith('/healthz?') && text.endsWith('{"status":"ok"}')) return 404;
  return Number(/^HTTP\/1\.\d (\d{3})/.exec(text)?.[1] ?? 0);
}

const locked = ROUTES.filter(({ path }) => path.startsWith('/admin/') || path.startsWith('/v1/'));

test('no Host header and no form of the path opens a locked route without its key, or an admin route with another key', async () => {
  const opened: string[] = [];
  for (const [nth, route] of locked.entries()) {
    const { method, path } = route;
    const target = path.replace(':id', 'dec_00000000000').replace('*', 'auto');
    // `npm test` tries each route with a fifth of the hosts, and other hosts with the next route.
    for (const host of HOSTS.filter((_, at) => isDeep || (at + nth) % 5 === 0)) {
      const tries = [target, ...DISGUISES.map((disguise) => `${disguise}${target}`)].flatMap((way) => [
        [way, null] as const,
        ...(isForOperators(route) ? [[way, plain] as const] : []),
      ]);
      const statuses = await Promise.all(tries.map(([way, key]) => statusOf(method, way, host, key)));
      for (const [at, status] of statuses.entries()) {
        // Status 0: the server closed the connection without an answer.
        const isShut = status === 0 || (status >= 400 && status < 500);
        if (!isShut)
          opened.push(`${method} ${tries[at]![0]} Host ${host} ${tries[at]![1] ? 'plain' : 'no'} key: ${status}`);
      }
    }
  }
  expect(opened).toEqual([]);
});

test('a request with a valid host is handled as usual', async () => {
  expect(await statusOf('GET', '/healthz', 'gw', null)).toBe(200);
  expect(await statusOf('GET', '/v1/models', 'a.example:8787', plain)).toBe(200);
  expect(await statusOf('GET', '/admin/keys', '[::1]:8787', plain)).toBe(403);
});

/** Every kind of route: the start page, the API's page, the console, health, locked routes, a route for agents, and an unknown path. */
const PATHS = [
  ...['/', '/docs', '/docs/openapi.json', '/healthz', '/readyz', '/metrics', '/.well-known/x402', '/nothing'],
  ...['/console', '/console/requests', '/console/assets/x.js', '/console/sign-in', '/console/sign-in/callback'],
  ...['/v1/models', '/v1/usage', '/v1/decisions', '/admin/keys', '/admin/trail', '/admin/usage?by=day', '/admin/me'],
];
/** Values that are valid in a header, but are not hosts. */
const MALFORMED = [
  ...['[::1', '::1', '%zz', '%00', 'a%2fb', 'host:99999', 'host:abc', ':80', '[]', '[v1.x]', 'xn--a', '1.2.3.4.5'],
  ...['999.1.1.1', 'host:80:80', '[::1]x'],
];
/** Values that are not valid in a header or in a request. The server may close the connection. */
const BROKEN = ['', ' ', 'a b', 'a\tb', 'a\x01b', 'a\x00b', '\x80\xff', 'ü', 'a@b', '<', 'a|b', 'a^b', 'a\\b', 'a"b'];

describe('a malformed Host', () => {
  // The law sends more requests than an anonymous caller may send by default.
  const many = 'gateway: { keyless_per_minute: 100000, failed_auth_per_minute: 100000 }\n';
  const open = useSignalbox({
    policy: testPolicy({ up: 'http://127.0.0.1:9' }, { best: { endpoints: ['up'] } }, many),
  });

  /**
   * @param head bytes, one for each character
   * @returns everything that arrived; null if the server neither answered nor closed the connection
   */
  async function answerTo(head: string): Promise<string | null> {
    const connection = await connect(open.url);
    await connection.write(Uint8Array.from(head, (char) => char.charCodeAt(0)));
    // Some byte sequences leave the request unfinished.
    connection.finish();
    const text = await Promise.race([connection.closed, Bun.sleep(5_000).then(() => null)]);
    connection.close();
    return text;
  }

  const get = (path: string, host: string, ...more: readonly string[]) =>
    answerTo([`GET ${path} HTTP/1.1`, `Host: ${host}`, ...more, 'Connection: close', '', ''].join('\r\n'));

  const statusesIn = (text: string): number[] =>
    [...text.matchAll(/^HTTP\/1\.\d (\d{3})/gm)].map(([, status]) => Number(status));

  /**
   * The problem of an answer; null if there is none. A path may fail as it does with a valid Host, for example because the console is not
   * built.
   */
  async function harmOf(path: string, host: string): Promise<string | null> {
    const text = await get(path, host);
    if (text === null) return 'a hang';
    const failed = statusesIn(text).filter((status) => status >= 500);
    const usual = statusesIn((await get(path, '127.0.0.1')) ?? '');
    return failed.some((status) => !usual.includes(status)) ? failed.join(' ') : null;
  }

  test.each(PATHS)('gets 421 at %s, with a key, with a cookie and with neither', async (path) => {
    const headers = [[], [`Authorization: Bearer ${open.key}`], [`Cookie: __Host-signalbox=${'a'.repeat(43)}`]];
    for (const host of MALFORMED) {
      for (const more of headers) {
        const text = (await get(path, host, ...more)) ?? '';
        expect([host, statusesIn(text)]).toEqual([host, [421]]);
        const { error } = JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
        expect(error).toMatchObject({ type: 'invalid_request_error', code: 'wrong_host', param: 'Host' });
        expect(error.message).toContain(host);
      }
    }
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])(
    'gets 421 for %s, before a body is read',
    async (method) => {
      const text = await answerTo(
        `${method} /v1/chat/completions HTTP/1.1\r\nHost: [::1\r\nContent-Length: 9999\r\n\r\n`,
      );
      expect(statusesIn(text ?? '')).toEqual([421]);
    },
  );

  test.each([
    ...BROKEN.map((host) => [JSON.stringify(host), host] as const),
    ['ten thousand characters', 'h'.repeat(10_000)],
    ...['other', '[::1'].map((second) => [`two headers, ${second} as the second`, `h\r\nHost: ${second}`] as const),
    ['two headers, [::1 as the first', '[::1\r\nHost: h'],
  ] as const)('never fails a request: %s', async (_, host) => {
    for (const path of PATHS) expect([path, await harmOf(path, host)]).toEqual([path, null]);
  });

  test.each(['http://[::1/', 'http://h:99999/', 'http://%zz/', 'http://a b/', 'http:///', '//[::1/', 'https://h:x/'])(
    'in the target %s never makes the server fail',
    async (beginning) => {
      for (const path of PATHS) {
        for (const host of ['h', '[::1'])
          expect([path, host, await harmOf(`${beginning}${path.slice(1)}`, host)]).toEqual([path, host, null]);
      }
    },
  );

  test('never makes the server fail or wait, whatever its bytes', async () => {
    const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
    const telling = fc.constantFrom(
      ...'[]:%@./\\?# \r\n\tax09-_'.split(''),
      'xn--',
      '[::1]',
      '127.0.0.1',
      ':80',
      '%41',
    );
    const host = fc.array(fc.oneof(byte, telling, telling), { maxLength: 24 }).map((parts) => parts.join(''));
    const law = fc.asyncProperty(
      fc.constantFrom(...PATHS),
      host,
      async (path, host) => (await harmOf(path, host)) === null,
    );
    await fc.assert(law, tries('malformed hosts', 120, 5_000));
  });
});
