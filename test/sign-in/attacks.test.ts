import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { buildConsoleHere } from '../support/console.ts';
import { expectError } from '../support/error-contract.ts';
import { type ForgedIssuer, type Forgery, startForgedIssuer } from '../support/forged-issuer.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { Visitor } from '../support/visitor.ts';
import { LOGIN, loginOf, MODEL, meBy, SIGN_IN, startGateway } from './stage.ts';

/** Attacks on sign-in, with an issuer that the test can make lie. */
let issuer: ForgedIssuer;
let box: Signalbox;
/** A gateway behind a proxy, at a public address with a path. */
let proxied: Signalbox;

const PUBLIC = 'https://llm.example.com/gateway';

beforeAll(async () => {
  buildConsoleHere();
  issuer = await startForgedIssuer();
  box = await startGateway(issuer.url);
  proxied = await startGateway(issuer.url, `public_url: ${PUBLIC}\n`);
});
beforeEach(() => {
  issuer.next = {};
  issuer.configuration = {};
});
afterAll(async () => {
  await Promise.all([box.stop(), proxied.stop()]);
  await issuer.stop();
});

/** The address to which the issuer redirects a visitor who has begun to sign in. */
async function callback(visitor: Visitor, forgery: Forgery = {}): Promise<string> {
  issuer.next = forgery;
  const { url } = await visitor.follow(`${box.url}/console/sign-in`, (at) => at.includes('/callback?'));
  return url;
}

async function signedIn(): Promise<Visitor> {
  const visitor = new Visitor();
  expect((await visitor.go(await callback(visitor))).status).toBe(303);
  return visitor;
}

/** The status of a sign-in, and whether it created a login. */
async function outcome(visitor: Visitor, url: string) {
  const { status } = await visitor.go(url);
  return [status, visitor.cookie(box.url, LOGIN) !== undefined];
}

const REFUSED = [400, false];
const seconds = (more: number): number => Math.floor(Date.now() / 1_000) + more;

describe('an ID token is refused', () => {
  const forgeries: Readonly<Record<string, Forgery>> = {
    'that is not signed (`alg: none`), even if the issuer offers it': { signature: 'none' },
    'that is signed with a key which the issuer does not publish': { signature: 'other' },
    'for another audience': { claims: { aud: 'another-client' } },
    'for several audiences, of another party': { claims: { aud: ['signalbox', 'x'], azp: 'x' } },
    'of another issuer': { claims: { iss: 'https://evil.example' } },
    'with another nonce': { nonce: 'another' },
    'that has expired by more than the allowed clock difference': { claims: { exp: seconds(-40), iat: seconds(-400) } },
    'that is not valid yet by more than the allowed clock difference': { claims: { nbf: seconds(60) } },
    'without a subject': { claims: { sub: undefined } },
  };
  for (const [name, forgery] of Object.entries(forgeries)) {
    test(name, async () => {
      const visitor = new Visitor();
      expect(await outcome(visitor, await callback(visitor, forgery))).toEqual(REFUSED);
    });
  }

  test('but not if clocks differ by less than half a minute', async () => {
    const visitor = new Visitor();
    const claims = { exp: seconds(-15), nbf: seconds(15) };
    expect(await outcome(visitor, await callback(visitor, { claims }))).toEqual([303, true]);
  });
});

describe('the response of the issuer is refused', () => {
  test('if it comes from a different issuer (mix-up attack)', async () => {
    const visitor = new Visitor();
    expect(await outcome(visitor, await callback(visitor, { iss: 'https://evil.example' }))).toEqual(REFUSED);
  });

  test('without its `iss`, if the issuer announces one', async () => {
    const visitor = new Visitor();
    const url = new URL(await callback(visitor));
    url.searchParams.delete('iss');
    expect(await outcome(visitor, url.href)).toEqual(REFUSED);
  });

  test('with another state, in another browser, and in a browser that has not begun to sign in', async () => {
    const [one, other] = [new Visitor(), new Visitor()];
    const [url, others] = [await callback(one), await callback(other)];
    expect(await outcome(other, url)).toEqual(REFUSED);
    expect(await outcome(new Visitor(), others)).toEqual(REFUSED);
    const changed = url.replace(/state=[^&]+/, 'state=x');
    expect(await outcome(one, changed)).toEqual(REFUSED);
  });

  test('if it was used before, even if the cookie of the sign-in is sent again', async () => {
    const visitor = new Visitor();
    const url = await callback(visitor);
    const begun = visitor.cookie(box.url, SIGN_IN) ?? '';
    expect(await outcome(visitor, url)).toEqual([303, true]);
    const again = new Visitor();
    expect(await outcome(again, url)).toEqual(REFUSED);
    const answer = await again.go(url, { headers: { cookie: `${SIGN_IN}=${begun}` } });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([400, []]);
  });

  test('with a code of another sign-in, because PKCE ties the code to the browser that began', async () => {
    const [one, other] = [new Visitor(), new Visitor()];
    const [url, stolen] = [await callback(one), await callback(other)];
    const code = new URL(stolen).searchParams.get('code') ?? '';
    expect(await outcome(one, url.replace(/code=[^&]+/, `code=${code}`))).toEqual(REFUSED);
  });

  test('after ten minutes, and if the time or the path in the cookie was changed', async () => {
    const visitor = new Visitor();
    const url = await callback(visitor);
    const [time = '', secret = ''] = (visitor.cookie(box.url, SIGN_IN) ?? '').split('.');
    const later = (Number.parseInt(time, 36) + 1).toString(36);
    const path = Buffer.from('/console?x').toString('base64url');
    for (const value of [`${later}.${secret}.${path}`, `${time}.${secret}.${path}`, `0.${secret}.`, 'x', '']) {
      const answer = await new Visitor().go(url, { headers: { cookie: `${SIGN_IN}=${value}` } });
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([400, []]);
    }
  });

  test('if the configuration names an address without TLS on another host, or another issuer', async () => {
    for (const configuration of [{ token_endpoint: 'http://192.0.2.1/token' }, { issuer: 'https://evil.example' }]) {
      const own = await startForgedIssuer();
      own.configuration = configuration;
      const gateway = await startGateway(own.url);
      const visitor = new Visitor();
      const begun = await visitor.go(`${gateway.url}/console/sign-in`);
      const location = begun.headers.get('location');
      const back =
        location === null
          ? begun
          : await visitor.go((await visitor.follow(location, (at) => at.includes('/callback?'))).url);
      expect(back.status).toBe(400);
      await gateway.stop();
      await own.stop();
    }
  });
});

describe('a login', () => {
  test('never uses an existing cookie value: a cookie that an attacker has planted is replaced and ends', async () => {
    const victim = new Visitor();
    const url = await callback(victim);
    const planted = 'A'.repeat(43);
    await victim.go(url, { headers: { cookie: `${SIGN_IN}=${victim.cookie(box.url, SIGN_IN)}; ${LOGIN}=${planted}` } });
    const value = loginOf(victim, box);
    expect(value).not.toBe(planted);
    await expectError(await meBy(box, planted), 'not_signed_in');
    // A new sign-in ends the previous login.
    const again = await callback(victim);
    expect((await victim.go(again)).status).toBe(303);
    expect(loginOf(victim, box)).not.toBe(value);
    await expectError(await meBy(box, value), 'not_signed_in');
  });

  test('has no effect below /v1, where a request is judged by its key, with any host', async () => {
    const visitor = await signedIn();
    const cookie = `${LOGIN}=${loginOf(visitor, box)}`;
    await expectError(await fetch(`${box.url}/v1/models`, { headers: { cookie } }), 'invalid_api_key');
    expect((await box.get('/v1/models', { headers: { cookie, host: 'evil.example' } })).status).toBe(200);
    const body = JSON.stringify({ model: 'toy', messages: [{ role: 'user', content: 'Hi' }] });
    const headers = { cookie, 'content-type': 'application/json' };
    await expectError(
      await fetch(`${box.url}/v1/chat/completions`, { method: 'POST', headers, body }),
      'invalid_api_key',
    );
  });

  test('is refused if the request also has a key, in whichever header', async () => {
    const visitor = await signedIn();
    const cookie = `${LOGIN}=${loginOf(visitor, box)}`;
    for (const [name, key] of [
      ['authorization', `Bearer ${box.key}`],
      ['x-api-key', box.key],
      ['api-key', 'x'],
    ] as const) {
      await expectError(
        await fetch(`${box.url}/admin/me`, { headers: { cookie, [name]: key } }),
        'invalid_value',
        'Cookie',
      );
    }
    expect((await fetch(`${box.url}/admin/me`, withKey(box.key))).status).toBe(200);
  });

  test('changes nothing without the Origin of the console’s pages', async () => {
    const visitor = await signedIn();
    const value = loginOf(visitor, box);
    const init = { method: 'POST', body: '{"name":"x"}', headers: { 'content-type': 'application/json' } };
    const origins = [
      undefined,
      'null',
      'https://evil.example',
      `${box.url}.evil.example`,
      'http://127.0.0.1:1',
      issuer.url,
    ];
    for (const origin of origins) {
      for (const path of ['/admin/keys', '/admin/policy/reload']) {
        const sent = visitor.go(`${box.url}${path}`, { ...init, ...(origin && { origin }) });
        await expectError(await sent, 'wrong_origin');
      }
      const out = visitor.go(`${box.url}/console/sign-out`, { method: 'POST', ...(origin && { origin }) });
      await expectError(await out, 'wrong_origin');
    }
    expect((await meBy(box, value)).status).toBe(200);
    expect((await visitor.go(`${box.url}/admin/keys`, { ...init, origin: box.url })).status).toBe(200);
  });

  test('does not work at another host: a foreign host name that points to this server gets nothing', async () => {
    const visitor = await signedIn();
    const cookie = `${LOGIN}=${loginOf(visitor, box)}`;
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '192.0.2.1',
      'llm.example.com:1',
    ]) {
      for (const [path, at] of [
        ['/admin/me', box],
        ['/console', box],
        ['/console/sign-in', box],
        ['/console', proxied],
      ] as const) {
        await expectError(await fetch(at.url + path, { headers: { cookie, host } }), 'wrong_host');
      }
      expect((await box.get('/admin/me', { headers: { host } })).status).toBe(200);
    }
    for (const host of ['localhost', 'localhost:9000', '[::1]:8787', '127.0.0.2']) {
      expect((await fetch(`${box.url}/admin/me`, { headers: { cookie, host } })).status).toBe(200);
    }
  });
});

describe('a sign-in', () => {
  test('never redirects to another site', async () => {
    const paths = [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/%09/evil.example',
      '\\\\evil.example',
      'javascript:alert(1)',
    ];
    const others = [
      '/console/../../evil',
      '/consoles',
      '/admin/keys',
      '/console\r\nset-cookie: x=y',
      `/console?${'x'.repeat(600)}`,
    ];
    for (const path of [...paths, ...others]) {
      const visitor = new Visitor();
      const begin = `${box.url}/console/sign-in?return_to=${encodeURIComponent(path)}`;
      const { url, response } = await visitor.follow(begin, (at) => at.includes('/callback?'));
      if (response) {
        expect(response.status).toBe(400);
        continue;
      }
      const answer = await visitor.go(url);
      expect([path, answer.headers.get('location')]).toEqual([path, `${box.url}/console`]);
    }
  });

  test('uses `public_url` with its path, and needs its Origin', async () => {
    const headers = { host: 'llm.example.com' };
    const begun = await fetch(`${proxied.url}/console/sign-in`, { headers, redirect: 'manual' });
    const to = new URL(begun.headers.get('location') ?? '');
    expect(to.searchParams.get('redirect_uri')).toBe(`${PUBLIC}/console/sign-in/callback`);
    expect(to.searchParams.get('code_challenge_method')).toBe('S256');
    const answered = await fetch(to, { redirect: 'manual' });
    const { search } = new URL(answered.headers.get('location') ?? '');
    const [begin = ''] = (begun.headers.getSetCookie()[0] ?? '').split(';');
    const done = await fetch(`${proxied.url}/console/sign-in/callback${search}`, {
      headers: { ...headers, cookie: begin },
      redirect: 'manual',
    });
    expect(done.headers.get('location')).toBe(`${PUBLIC}/console`);
    const [cookie = ''] = (done.headers.getSetCookie()[0] ?? '').split(';');
    const page = await (await fetch(`${proxied.url}/console`, { headers: { ...headers, cookie } })).text();
    expect(page).toContain('data-signed-in="true"');
    const reload = (origin: string) =>
      fetch(`${proxied.url}/admin/policy/reload`, { method: 'POST', headers: { ...headers, cookie, origin } });
    await expectError(await reload(`${PUBLIC}`), 'wrong_origin');
    expect((await reload('https://llm.example.com')).status).toBe(200);
  });

  test('never creates an owner, whatever the claims say', async () => {
    const visitor = new Visitor();
    await visitor.go(await callback(visitor, { claims: { role: 'owner', groups: ['platform', 'owner'] } }));
    expect(await (await meBy(box, loginOf(visitor, box))).json()).toMatchObject({ role: 'admin' });
    const body = JSON.stringify({ name: 'x', scopes: ['admin'] });
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' }, origin: box.url };
    await expectError(await visitor.go(`${box.url}/admin/keys`, init), 'insufficient_permissions', 'scopes');
  });

  test('does not exist without `sign_in` and the console in the policy, and cookies are ignored', async () => {
    const plain = await startSignalbox({ policy: `${MODEL}console: { enabled: false }\n` });
    for (const path of ['/console', '/console/sign-in', '/console/sign-in/callback?code=x&state=y']) {
      await expectError(await fetch(plain.url + path), 'not_found');
    }
    const headers = { cookie: `${LOGIN}=${'A'.repeat(43)}`, host: 'evil.example' };
    await expectError(await fetch(`${plain.url}/admin/me`, { headers }), 'invalid_api_key');
    expect((await plain.get('/admin/me', { headers })).status).toBe(200);
    await plain.stop();
  });
});

test('a page of another origin that the policy lists still cannot use a login', async () => {
  const visitor = await signedIn();
  const answer = await visitor.go(`${box.url}/admin/me`, { origin: 'https://pages.example' });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
});
