import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import { readBuiltConsole } from '../../src/http/console/built.ts';
import { consoleRoutes } from '../../src/http/console/routes.ts';
import { buildConsoleHere } from '../support/console.ts';
import { expectError } from '../support/error-contract.ts';
import { TOY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Tests how the server serves `/console`: one page for all views, and its files. */
let box: Signalbox;
let off: Signalbox;
let proxied: Signalbox;

const POLICY = `${TOY}gateway: { keyless_per_minute: 1000000, failed_auth_per_minute: 1000000 }
`;

beforeAll(async () => {
  buildConsoleHere();
  box = await startSignalbox({ policy: POLICY });
  off = await startSignalbox({ policy: `${POLICY}console: { enabled: false }\n` });
  proxied = await startSignalbox({ policy: `${POLICY}public_url: https://llm.example.com/gateway\n` });
});
afterAll(() => Promise.all([box, off, proxied].map((one) => one.stop())));

const built = () => readBuiltConsole()!;

describe('the page', () => {
  test('is the same for every view, is not stored by browsers, and runs only its own files', async () => {
    for (const path of ['/console', '/console/', '/console/requests/dec_1', '/console/a/b/c?x=1']) {
      const answer = await fetch(box.url + path);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const { headers } = answer;
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
      );
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      const text = await answer.text();
      expect(text).not.toMatch(/<style|style=|<script>|onload/);
      expect(text).toContain('data-issuer="" data-signed-in="false"');
    }
  });

  test('says that the database is not available to a person who has signed in', async () => {
    const routes = consoleRoutes({
      signIn: { issuer: null },
      built,
      door: {
        siteOf: () => ({ base: '', origins: [] }),
        isOn: () => true,
        presentIn: () => Promise.reject(new SignalboxError('overloaded', 'The logins cannot be read now; try again.')),
      },
    });
    const answer = await routes.handle(new Request('http://localhost/console/fleet'));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
    expect(await answer.text()).toContain('<h1>The database is not available</h1>');
  });

  test('uses relative addresses for its files and its base, so that it works below any path', async () => {
    for (const [path, base] of [
      ['/console', './'],
      ['/console/', '../'],
      ['/console/keys', '../'],
      ['/console/keys/key_1', '../../'],
    ] as const) {
      const text = await (await fetch(proxied.url + path)).text();
      expect(/data-base="([^"]*)"/.exec(text)?.[1]).toBe(base);
      const seen = new URL(`https://llm.example.com/gateway${path}`);
      expect(new URL(base, seen).pathname).toBe('/gateway/');
      const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file);
      expect(files).toHaveLength(3);
      for (const file of files) {
        const { pathname } = new URL(file, seen);
        expect(pathname).toStartWith('/gateway/console/assets/');
        expect((await fetch(proxied.url + pathname.slice('/gateway'.length))).status).toBe(200);
      }
    }
  });

  test('is served only at the host of `public_url` and at names of this machine', async () => {
    const hosts = { 'llm.example.com': 200, localhost: 200, '127.0.0.1:1': 200, '[::1]': 200 };
    for (const [host, status] of Object.entries(hosts))
      expect([host, (await fetch(`${proxied.url}/console/keys`, { headers: { host } })).status]).toEqual([
        host,
        status,
      ]);
    const { script } = built();
    for (const host of ['evil.example', 'localhost.evil.example', 'example.com', '192.0.2.1']) {
      for (const path of ['/console', '/console/keys', `/console/assets/${script}`])
        await expectError(await fetch(proxied.url + path, { headers: { host } }), 'wrong_host');
    }
  });

  test('refuses methods other than GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const headers = { 'content-type': 'application/json' };
      await expectError(await fetch(`${box.url}/console/keys`, { method, headers, body: '{}' }), 'method_not_allowed');
    }
    expect((await fetch(`${box.url}/console`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('a file', () => {
  test('has its content type, never changes, and is compressed for clients that accept gzip', async () => {
    for (const { name, type, bytes, gzip, sha256 } of built().assets) {
      for (const [accepted, isPacked] of [
        ['gzip, deflate, br', gzip],
        ['br;q=1.0, gzip;q=0.8', gzip],
        ['identity', false],
        ['gzip;q=0', false],
        ['gzip;q=0.0, br', false],
        ['x-gzip', false],
      ] as const) {
        const answer = await fetch(`${box.url}/console/assets/${name}`, {
          headers: { 'accept-encoding': accepted },
          decompress: false,
        });
        const content = new Uint8Array(await answer.arrayBuffer());
        const { headers } = answer;
        expect([name, accepted, headers.get('content-encoding')]).toEqual([name, accepted, isPacked ? 'gzip' : null]);
        const plain = isPacked ? Bun.gunzipSync(content) : content;
        expect(plain.length).toBe(bytes);
        expect(new Bun.CryptoHasher('sha256').update(plain).digest('hex')).toBe(sha256);
        expect(headers.get('content-type')).toBe(type);
        expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        expect(headers.get('vary')).toBe(gzip ? 'accept-encoding' : null);
      }
    }
  });

  test('is not found if the manifest does not list it, even if it exists in the folder', async () => {
    const names = [
      'manifest.json',
      `${built().script}.gz`,
      'main.js',
      '..%2fmanifest.json',
      '..%2f..%2f..%2fpackage.json',
      '%2e%2e%2fmanifest.json',
      '',
    ];
    for (const name of names) {
      const answer = await fetch(`${box.url}/console/assets/${name}`);
      const text = await answer.text();
      expect([name, text.includes('"assets"'), text.includes('devDependencies')]).toEqual([name, false, false]);
      if (name !== '') expect([name, answer.status]).toEqual([name, 404]);
    }
  });
});

test('with the console off and no `sign_in`, no page of the console is found', async () => {
  for (const path of ['/console', '/console/keys', '/console/sign-in', `/console/assets/${built().script}`])
    await expectError(await fetch(off.url + path), 'not_found');
  const headers = { cookie: `__Host-signalbox=${'A'.repeat(43)}`, host: 'evil.example' };
  expect((await off.get('/admin/me', { headers })).status).toBe(200);
});
