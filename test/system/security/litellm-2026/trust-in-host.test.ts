import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import fc from 'fast-check';
import { effort } from '../../../deep/effort.ts';
import { holds, JSON_TYPE, POLICY, QUESTION } from '../../../security/litellm-2026/support.ts';
import { startGateway } from '../../../sign-in/stage.ts';
import { buildConsoleHere } from '../../../support/console.ts';
import { startForgedIssuer } from '../../../support/forged-issuer.ts';
import { connect } from '../../../support/raw-http.ts';
import { isForOperators, ROUTES } from '../../../support/routes.ts';
import { withKey } from '../../../support/signalbox.ts';
import { useSignalbox, useStarted } from '../../../support/use.ts';
import { CHAT, chatBody, quoteIn, startStand } from '../../payments/model/stand.ts';

/**
 * https://github.com/BerriAI/litellm/security/advisories/GHSA-4xpc-pv4p-pm3w: LiteLLM decided access by a path that it built from `Host`.
 */
describe('CVE-2026-49468, trust in the header Host', () => {
  const { runs, seed } = effort('forged hosts', 150, 5_000);
  const PUBLIC = 'https://llm.example.com/gateway';
  const EVIL = 'evil.example';
  const box = useSignalbox(() => ({ policy: `${POLICY}public_url: ${PUBLIC}\n` }));
  const plain = useStarted(async () => ({ key: await box.makeKey(), stop: async () => {} }));

  interface Forged {
    readonly method: string;
    readonly path: string;
    readonly host: string;
    readonly key: string | null;
  }
  type Send = (url: string, forged: Forged, more?: readonly string[]) => Promise<string>;
  const send: Send = async (url, { method, path, host, key }, more = []) => {
    const connection = await connect(url);
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `Host: ${host}`,
      ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
      ...more,
      'Content-Type: application/json',
      'Content-Length: 2',
      'Connection: close',
    ];
    await connection.write(`${lines.join('\r\n')}\r\n\r\n{}`);
    const text = await Promise.race([connection.closed, Bun.sleep(2_000).then(() => connection.received)]);
    connection.close();
    return text;
  };

  const locked = ROUTES.filter(({ path }) => path.startsWith('/admin/') || path.startsWith('/v1/'));
  const OPEN = ['healthz', 'docs', 'readyz', 'metrics', '.well-known/x402', 'console/sign-in', 'v1/models'];
  /** Host values that would hide the path of the request, or put an open path before it, in an address that is joined as text. */
  const host = fc
    .tuple(
      fc.constantFrom('localhost:4000', EVIL, '', 'a@b', '[::1]'),
      fc.constantFrom(...OPEN),
      fc.constantFrom(...'?#/\\;@'),
      fc.constantFrom('', `@${EVIL}`, '/', 'x', ' '),
    )
    .chain(([name, open, sign, end]) =>
      fc.constantFrom(
        `${name}/${open}${sign}${end}`,
        `${name}/${sign}${end}`,
        `${name}${sign}${open}`,
        `${name}/${open}/..${sign}`,
      ),
    );
  const forged = (routes: readonly (typeof locked)[number][], key: string | null) =>
    fc.record({ host, route: fc.constantFrom(...routes) }).map(({ host, route: { method, path } }) => ({
      ...{ method, path: path.replace(':id', 'dec_00000000000').replace('*', 'auto'), host, key },
    }));
  const isShut = (url: string) => async (one: Forged) => {
    const text = await send(url, one);
    return text === '' || (/^HTTP\/1\.1 4\d\d /.test(text) && !text.includes(EVIL));
  };

  test('no Host opens a protected route without a key, or an admin route with another key', async () => {
    expect(await holds(forged(locked, null), isShut(box.url), { runs, seed })).toBe(true);
    expect(await holds(forged(locked.filter(isForOperators), plain.key), isShut(box.url), { runs, seed })).toBe(true);
  });

  test('the law finds a server that decides access by an address built from Host', async () => {
    const server = createServer(({ headers, url = '' }, response) => {
      const path = URL.parse(`http://${headers.host}${url}`)?.pathname ?? url;
      const isOpen = OPEN.some((open) => path === `/${open}`) || path === '/';
      response.writeHead(isOpen ? 200 : 401).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
    expect(await isShut(url)({ method: 'GET', path: '/admin/keys', host: 'localhost', key: null })).toBe(true);
    expect(await holds(forged(locked, null), isShut(url), { runs, seed })).toBe(false);
    await new Promise((resolve) => server.close(resolve));
  });

  test('with `public_url`, no answer contains a Host that the caller invented', async () => {
    buildConsoleHere();
    const more = [`X-Forwarded-Host: ${EVIL}`, `Forwarded: host=${EVIL}`, `Origin: https://${EVIL}`];
    const paths = [
      '/',
      '/docs',
      '/docs/json',
      '/console',
      '/console/sign-in',
      '/console/sign-in/callback?code=a&state=b',
      '/.well-known/x402',
      '/healthz',
      '/v1/models',
      '/admin/me',
      '/metrics',
      '/nothing',
    ];
    for (const path of paths) {
      for (const key of [null, box.key]) {
        const text = await send(box.url, { method: 'GET', path, host: EVIL, key }, more);
        const lines = text.split('\r\n').filter((line) => !/^\{"error"/.test(line) || !line.includes('wrong_host'));
        expect([path, lines.filter((line) => line.includes(EVIL))]).toEqual([path, []]);
        expect(text).not.toMatch(/set-cookie|access-control-allow-origin/i);
      }
    }
  });

  test('a login works only at `public_url`, even if Host and Origin agree with each other', async () => {
    const headers = { ...JSON_TYPE, host: EVIL, origin: `http://${EVIL}` };
    const body = JSON.stringify({ key: box.key });
    const signedIn = await fetch(`${box.url}/console/sign-in/key`, { method: 'POST', headers, body });
    expect([signedIn.status, signedIn.headers.getSetCookie()]).toEqual([421, []]);
    const own = await fetch(`${box.url}/console/sign-in/key`, {
      method: 'POST',
      headers: { ...JSON_TYPE, host: 'llm.example.com', origin: 'https://llm.example.com' },
      body,
    });
    const [cookie = ''] = own.headers.getSetCookie();
    expect([own.status, /domain/i.test(cookie)]).toEqual([204, false]);
    const stolen = { cookie: cookie.split(';', 1)[0] ?? '', host: EVIL };
    expect((await fetch(`${box.url}/admin/me`, { headers: stolen })).status).toBe(421);
    expect((await fetch(`${box.url}/admin/me`, { headers: { ...stolen, host: 'llm.example.com' } })).status).toBe(200);
  });

  test('a stored answer belongs to its key, whatever Host the repeat has', async () => {
    const ask = async (host: string, key = box.key) => {
      const headers = { ...withKey(key).headers, ...JSON_TYPE, host, 'idempotency-key': 'of-one-host' };
      const response = await fetch(`${box.url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify(QUESTION),
      });
      return response.headers.get('x-signalbox-decision-id');
    };
    const first = await ask('llm.example.com');
    expect(await ask(EVIL)).toBe(first);
    expect(await ask('llm.example.com', plain.key)).not.toBe(first);
  });

  test('sign-in returns to `public_url`, and a quote names `public_url`', async () => {
    const issuer = await startForgedIssuer();
    const gateway = await startGateway(issuer.url, `public_url: ${PUBLIC}\n`);
    const forwarded = [`X-Forwarded-Host: ${EVIL}`, 'X-Forwarded-Proto: http'];
    for (const host of ['llm.example.com', 'localhost']) {
      const text = await send(gateway.url, { method: 'GET', path: '/console/sign-in', host, key: null }, forwarded);
      const [, location = ''] = /^location: (.*)$/im.exec(text) ?? [];
      expect(URL.parse(location)?.searchParams.get('redirect_uri')).toBe(`${PUBLIC}/console/sign-in/callback`);
    }
    await Promise.all([gateway.stop(), issuer.stop()]);
    const stand = await startStand({ more: `gateway: { keyless_per_minute: 1000000 }\npublic_url: ${PUBLIC}\n` });
    const response = await stand.post(CHAT, chatBody(1), { host: EVIL, 'x-forwarded-host': EVIL });
    expect([response.status, quoteIn(response).resource.url]).toEqual([402, `${PUBLIC}${CHAT}`]);
    await stand.stop();
  });
});
