import { beforeAll, describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import type { RouteRule } from '../../src/http/kit/route-table.ts';
import { isDeep } from '../deep/effort.ts';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { connect, type RawResponse } from '../support/raw-http.ts';
import { isForOperators, ROUTES } from '../support/routes.ts';
import { useSignalbox } from '../support/use.ts';

/** Tests access control on every route of the route table, so a new route is tested without a change here. */
/** A key that may chat and route, like the key of an application. */
let plain: string;
let other: string;
let routeOnly: string;
let decision: string;

/** Every refusal in this file counts against its address, so the limit is high. The limit has tests of its own. */
const POLICY = `version: 1
gateway: { failed_auth_per_minute: 1000000, keyless_per_minute: 1000000 }
records: { content: {} }
providers: { sim: { adapter: simulated } }
models:
  toy:
    provider: sim
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
`;

const box = useSignalbox({ policy: POLICY });
beforeAll(async () => {
  [plain, other, routeOnly] = await Promise.all([
    box.makeKey('--scope', 'chat,route'),
    box.makeKey('--scope', 'chat,route'),
    box.makeKey('--scope', 'route'),
  ]);
  decision = (await answerOf(await chat(plain))).platform.decision_id;
});

const as = (key: string | null) => ({ headers: { authorization: key === null ? '' : `Bearer ${key}` } });
const chat = (key: string) =>
  box.post('/v1/chat/completions', { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }, as(key));

/** A path of a route, with IDs that exist. */
const pathOf = ({ path }: RouteRule) =>
  path.startsWith('/admin/keys')
    ? path.replace(':id', plain.split('_')[2]!)
    : path.replace(':id', decision).replace(':asset', 'page.js').replace('*', 'auto');
const send = (method: string, path: string, key: string | null, body: unknown = {}) =>
  fetch(box.url + path, {
    method,
    headers: { ...(key !== null && { authorization: `Bearer ${key}` }), 'content-type': 'application/json' },
    ...(['GET', 'HEAD'].includes(method) ? {} : { body: JSON.stringify(body) }),
  });

const keyed = ROUTES.filter(({ access }) => access !== 'open');
const admin = ROUTES.filter(isForOperators);
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

describe('the route table', () => {
  test('has every operator route below /admin, and requires a key for every path that needs one', () => {
    expect(admin.length).toBeGreaterThan(3);
    expect(admin.filter(({ path }) => !path.startsWith('/admin/'))).toEqual([]);
    expect(ROUTES.filter((route) => route.path.startsWith('/admin') && !isForOperators(route))).toEqual([]);
    expect(keyed.filter(({ path }) => !/^\/(?:v1|v1beta|admin)\//.test(path))).toEqual([]);
  });
});

/** Anthropic's Messages and Gemini's API have their own forms of errors. */
async function expectRefusal(response: Response, { path }: { readonly path: string }, code: ErrorCode): Promise<void> {
  if (path.startsWith('/v1/messages'))
    expect(await response.json()).toMatchObject({ type: 'error', error: { details: { error_code: code } } });
  else if (/^\/v1beta\/|[^/]:\w+$/.test(path))
    expect(await response.json()).toMatchObject({ error: { details: [{ reason: code.toUpperCase() }] } });
  else await expectError(response, code);
}

describe('without a good key', () => {
  const bad: readonly (readonly [string, () => string | null])[] = [
    ['none', () => null],
    ['a key with a wrong secret', () => `${plain.slice(0, -4)}AAAA`],
    ['one without a secret', () => plain.split('_').slice(0, 3).join('_')],
    ['an ID alone', () => plain.split('_')[2]!],
    ['two keys', () => `${plain}, Bearer ${box.key}`],
  ];
  for (const [what, key] of bad) {
    // The result for an invalid key does not depend on the method, so only one kind is tested with every method.
    const isAny = what === 'none' || isDeep;
    test(`${what}: 401 on every route that needs one${isAny ? ', with any method' : ''}, and nothing more is disclosed`, async () => {
      for (const route of keyed) {
        for (const method of isAny ? METHODS : [route.method]) {
          const response = await send(method, pathOf(route), key());
          expect(response.status, `${method} ${route.path}`).toBe(401);
          if (method !== 'HEAD') await expectRefusal(response, route, 'invalid_api_key');
        }
      }
    });
  }
});

describe('a key of an application', () => {
  test('gets 403 on every operator route, and nothing with another method', async () => {
    const before = await (await box.get('/admin/keys')).text();
    for (const route of admin) {
      for (const method of METHODS) {
        const response = await send(method, pathOf(route), plain);
        const asked = method === 'HEAD' ? 'GET' : method;
        const exists = admin.some((each) => each.method === asked && pathOf(each) === pathOf(route));
        expect(response.status, `${method} ${route.path}`).toBe(exists ? 403 : 405);
        if (exists && method !== 'HEAD') await expectError(response, 'insufficient_permissions');
      }
    }
    const after = await (await box.get('/admin/keys')).text();
    const withoutUse = (text: string) => text.replace(/"last_used_at":[^,}]*/g, '');
    expect(withoutUse(after)).toBe(withoutUse(before));
  });

  test('gets 403 on routes that its scope does not include', async () => {
    const asking = keyed.filter(({ access }) => access === 'chat' || access === 'embed');
    expect(new Set(asking.map(({ access }) => access))).toEqual(new Set(['chat', 'embed']));
    for (const route of asking) {
      await expectRefusal(await send(route.method, route.path, routeOnly), route, 'insufficient_permissions');
    }
  });

  test('does not see another key’s decision or its text, and cannot find out whether the decision exists', async () => {
    const own = await box.get(`/v1/decisions/${decision}`, as(plain));
    expect(own.status).toBe(200);
    const foreign = await box.get(`/v1/decisions/${decision}`, as(other));
    const none = await box.get('/v1/decisions/dec_0a4x1wm3zk0', as(other));
    const [a, b] = [await foreign.json(), await none.json()];
    expect([foreign.status, a]).toEqual([none.status, b]);
    expect(foreign.status).toBe(404);
    // Only operators can read the stored text of a key, even if the key itself asks.
    for (const key of [plain, other]) {
      await expectError(await box.get(`/admin/decisions/${decision}/content`, as(key)), 'insufficient_permissions');
    }
    expect((await box.get(`/admin/decisions/${decision}/content`)).status).toBe(200);
  });

  test('gets no additional rights from headers that claim an identity', async () => {
    const claims = {
      'x-original-url': '/admin/policy',
      'x-rewrite-url': '/admin/policy',
      'x-http-method-override': 'POST',
      'x-forwarded-user': 'admin',
      'x-scope': 'admin',
      cookie: `authorization=Bearer ${box.key}`,
      'proxy-authorization': `Bearer ${box.key}`,
    };
    for (const path of [
      '/admin/policy',
      '/admin/ledger',
      '/admin/usage',
      '/admin/decisions',
      '/admin/endpoints',
      '/admin/learning',
      '/admin/status',
      '/admin/keys',
    ]) {
      const response = await box.get(path, { headers: { ...claims, ...as(plain).headers } });
      await expectError(response, 'insufficient_permissions');
      // A request with two keys gets no rights from the admin's key.
      const both = await box.get(path, { headers: { 'x-api-key': box.key, ...as(plain).headers } });
      await expectError(both, 'invalid_api_key');
    }
    // A key only counts in its headers.
    const elsewhere = await fetch(`${box.url}/v1/models?api_key=${box.key}&key=${box.key}`, { headers: claims });
    expect(elsewhere.status).toBe(401);
  });
});

test('no web page of another origin may read an answer', async () => {
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST', ...as(plain).headers };
  for (const { path, method } of ROUTES.filter((route) => route.method === 'GET')) {
    for (const asked of [method, 'OPTIONS']) {
      const response = await fetch(box.url + path.replace('*', 'auto').replace(':id', decision), {
        method: asked,
        headers,
      });
      const told = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'));
      expect(told).toEqual([]);
    }
  }
});

describe('a path in another spelling', () => {
  /** Spellings that proxies, frameworks and file systems may treat as the same path. */
  const variants = (path: string): string[] => {
    const [, first = '', ...rest] = path.split('/');
    const tail = rest.map((part) => `/${part}`).join('');
    const encoded = [...path].map((sign) => `%${sign.charCodeAt(0).toString(16)}`);
    return [
      ...[`${path}/`, `${path}//`, `/${path}`, `//${path}`, path.replaceAll('/', '//'), path.toUpperCase()],
      ...[
        `/${first[0]?.toUpperCase()}${first.slice(1)}${tail}`,
        `/${encodeURIComponent(path.slice(1))}`,
        encoded.join(''),
      ],
      ...[
        `/${encoded[1]}${path.slice(2)}`,
        `/.${path}`,
        `/..${path}`,
        `/./${path.slice(1)}`,
        `/x/..${path}`,
        `/x/%2e%2e${path}`,
      ],
      ...[`/healthz/..${path}`, `/healthz/%2e%2e${path}`, `/docs/..${path}`, `/docs/%2e%2e%2f${path.slice(1)}`],
      ...[
        `/v1/models/..${tail}`,
        `/v1/models/../..${path}`,
        `/v1/models/%2e%2e/%2e%2e${path}`,
        `/v1/../${path.slice(1)}`,
      ],
      ...[`${path};x=1`, `${path}%00`, `${path}%20`, `${path}.json`, `${path}/.`, `${path}%2f`, `\\${path.slice(1)}`],
      ...[
        `/%5c${path.slice(1)}`,
        `${path}%3fx`,
        `${path}%23`,
        `/${first}%2f${rest.join('/')}`,
        path.replaceAll('/', '/%2e/'),
      ],
    ];
  };

  async function raw(target: string, key: string | null, host = 'localhost'): Promise<RawResponse> {
    const connection = await connect(box.url);
    const lines = [`GET ${target} HTTP/1.1`, `host: ${host}`, ...(key ? [`authorization: Bearer ${key}`] : [])];
    await connection.write(`${lines.join('\r\n')}\r\n\r\n`);
    const response = await connection.response();
    connection.close();
    return response;
  }

  /** Members that only operators' answers contain. */
  const SIGNS = ['last_reload', 'charged_credits', 'rotated_at', 'kept_until', 'actor', 'groups'];

  test('opens nothing, neither without a key nor with the key of an application', async () => {
    for (const [nth, { path, method }] of admin.filter((route) => route.method === 'GET').entries()) {
      expect(method).toBe('GET');
      const all = variants(pathOf({ path, method, access: 'keys.read' }));
      // `npm test` tries a third of the spellings for each path, and other spellings for the next path.
      for (const target of all.filter((_, at) => isDeep || (at + nth) % 3 === 0)) {
        for (const key of [null, plain]) {
          const { status, body } = await raw(target, key);
          const opened = (status >= 200 && status < 300) || SIGNS.some((sign) => body.includes(`"${sign}"`));
          // `/v1/models/../usage` is the key's own usage, and `/v1/models/../decisions/…` is its own decision.
          const own = ['"object":"model"', '"days":', '"object":"decision"'];
          const isOwn = key !== null && own.some((sign) => body.includes(sign));
          expect([target, key === null, opened && !isOwn]).toEqual([target, key === null, false]);
        }
      }
    }
  });

  test('a complete URL instead of a path, or a host that looks like a path, opens nothing either', async () => {
    for (const target of [
      'http://localhost/admin/policy',
      'http://healthz/admin/policy',
      'http://x@healthz/admin/policy',
    ]) {
      for (const key of [null, plain]) expect((await raw(target, key)).status).toBeGreaterThanOrEqual(400);
    }
    for (const host of ['healthz', 'a/healthz?', 'localhost/healthz#', 'localhost\\healthz', '127.0.0.1/docs/json?']) {
      for (const key of [null, plain]) {
        const { status, body } = await raw('/admin/policy', key, host);
        expect(SIGNS.filter((sign) => body.includes(`"${sign}"`))).toEqual([]);
        // With such a host, the server may answer for another path. That path must be open to all callers, such as the health page.
        if (status < 300) expect(body).toMatch(/^\{"status":"ok"|^\{"openapi"|^<!doctype/);
      }
    }
  });
});
