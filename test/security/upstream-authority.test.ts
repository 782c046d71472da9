import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { answerOf, eventsOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { connect } from '../support/raw-http.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Tests that only the policy decides where a request goes and with which key. The sender of a request cannot decide it. */
let upstream: FakeUpstream;
/** The server of an attacker who wants to receive a request. */
let attacker: ReturnType<typeof Bun.serve>;
let lured: { readonly url: string; readonly authorization: string | null }[] = [];
let box: Signalbox;

const STOLEN = 'sk-attackers-own-key-0123456789';

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  attacker = Bun.serve({
    // This server counts calls to any path. The operating system gives this server's port to no other test.
    port: freePort(),
    hostname: '127.0.0.1',
    fetch(request) {
      lured.push({ url: request.url, authorization: request.headers.get('authorization') });
      return Response.json({ choices: [{ index: 0, message: { content: 'lured' }, finish_reason: 'stop' }] });
    },
  });
  // The provider even passes on every unknown field.
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }).replaceAll(
    'passthrough: [verbosity]',
    'passthrough: ["*"]',
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await Promise.all([upstream.stop(), attacker.stop(true)]);
});

const evil = () => `http://127.0.0.1:${attacker.port}`;

/** Names with which other gateways and clients let a request choose its destination or its key. */
const NAMES = [
  ...[
    'api_base',
    'base_url',
    'baseURL',
    'api_key',
    'apiKey',
    'api_version',
    'endpoint',
    'url',
    'host',
    'hostname',
    'port',
  ],
  ...[
    'proxy',
    'http_proxy',
    'https_proxy',
    'provider',
    'custom_llm_provider',
    'deployment_id',
    'azure_endpoint',
    'organization',
  ],
  ...['extra_body', 'extra_headers', 'extra_query', 'headers', 'default_headers', 'client', 'http_client', 'fallbacks'],
  ...[
    'model_list',
    'router',
    'target',
    'upstream',
    'redirect',
    'callback',
    'webhook',
    'webhook_url',
    'notify',
    'metadata_url',
  ],
  ...[
    'authorization',
    'Authorization',
    'x-api-key',
    'path',
    'method',
    'adapter',
    'policy',
    'settings',
    '__proto__',
    'constructor',
  ],
] as const;
const HEADERS = [
  ...[
    'x-forwarded-host',
    'x-forwarded-server',
    'x-forwarded-proto',
    'x-original-host',
    'x-host',
    'x-real-host',
    'forwarded',
  ],
  ...[
    'x-upstream-host',
    'x-backend-host',
    'x-api-base',
    'x-base-url',
    'x-openai-api-base',
    'x-openai-api-key',
    'openai-organization',
  ],
  ...[
    'x-portkey-custom-host',
    'x-portkey-provider',
    'helicone-target-url',
    'cf-aig-authorization',
    'x-litellm-api-base',
  ],
  ...[
    'x-target-url',
    'x-proxy-url',
    'x-api-key',
    'api-key',
    'x-goog-api-key',
    'proxy-authorization',
    'referer',
    'origin',
    'via',
  ],
] as const;

const name = fc.oneof(
  fc.constantFrom(...NAMES),
  fc
    .tuple(fc.constantFrom('x_', 'custom_', 'llm_', ''), fc.constantFrom('base', 'host', 'key', 'url'), fc.nat(9))
    .map((parts) => parts.join('')),
);
const lure = fc.nat(6).map((at) => {
  const address = evil();
  return [
    address,
    `${address}/v1`,
    STOLEN,
    { url: address, api_key: STOLEN },
    [address],
    `${address}/v1/chat/completions`,
    { host: address },
  ][at];
});
const PLACES = [
  'top',
  'message',
  'part',
  'tool',
  'parameters',
  'call',
  'metadata',
  'extra_body',
  'stream_options',
  'format',
] as const;

/** A request with a malicious value under a name, in a given place. */
function bodyWith(place: (typeof PLACES)[number], key: string, value: unknown): object {
  const at = (where: typeof place) => (where === place ? Object.fromEntries([[key, value]]) : {});
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return {
    ...at('top'),
    model: 'best',
    messages: [
      { ...at('message'), role: 'user', content: [{ ...at('part'), type: 'text', text: 'Hello' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ ...at('call'), id: 'c', type: 'function', function: { name: 'look', arguments: text } }],
      },
      { role: 'tool', tool_call_id: 'c', content: text },
    ],
    tools: [
      {
        ...at('tool'),
        type: 'function',
        function: { name: 'look', parameters: { type: 'object', ...at('parameters') } },
      },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {}, ...at('format') } },
    ...(place === 'metadata' && { metadata: Object.fromEntries([[key, text]]) }),
    ...(place === 'extra_body' && { extra_body: at('extra_body') }),
    ...(place === 'stream_options' && {
      stream: true,
      stream_options: { include_usage: true, ...at('stream_options') },
    }),
  };
}

/** Expects that only the real upstream received a request, and the right one. */
function expectUntouched(before: number): void {
  expect(lured).toEqual([]);
  const got = upstream.requests.slice(before);
  for (const { headers, path } of got) {
    expect(headers.get('authorization')).toBe(`Bearer ${UPSTREAM_KEY}`);
    expect(headers.get('host')).toBe(`127.0.0.1:${upstream.port}`);
    expect(path).toBe('/v1/chat/completions');
    // No header of the incoming request is passed on.
    expect([...headers.values()].join(' ')).not.toContain(STOLEN);
    expect([...headers.values()].join(' ')).not.toContain(String(attacker.port));
  }
}

describe('no request can choose an upstream or a key:', () => {
  test('with any field in any place', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...PLACES), name, lure, async (place, key, value) => {
        const before = upstream.requests.length;
        const response = await box.post('/v1/chat/completions', bodyWith(place, key, value));
        const answer = await response.text();
        expect(answer).not.toContain('lured');
        // A known field with a value of the wrong type is refused. The upstream answers all other requests.
        expect([200, 400, 422], answer).toContain(response.status);
        expect(upstream.requests.length - before).toBe(response.status === 200 ? 1 : 0);
        if (response.status === 200) answered++;
        expectUntouched(before);
      }),
      tries('no field of a request, in any place, can choose an upstream or a key', 25, 500),
    );
    expect(answered).toBeGreaterThan(20);
  });

  test('with any headers and any query', async () => {
    const headers = fc.dictionary(
      fc.oneof(
        fc.constantFrom(...HEADERS),
        fc
          .tuple(fc.constantFrom('x-', ''), fc.constantFrom('host', 'url', 'base', 'key', 'upstream'), fc.nat(9))
          .map(([a, b, c]) => `${a || 'y-'}${b}-${c}`),
      ),
      fc.nat(2).map((at) => [evil(), `127.0.0.1:${attacker.port}`, STOLEN][at]!),
      { minKeys: 1, maxKeys: 4 },
    );
    const messages = [{ role: 'user', content: 'Hello' }];
    await fc.assert(
      fc.asyncProperty(headers, fc.constantFrom(...NAMES), async (more, parameter) => {
        const before = upstream.requests.length;
        const path = `/v1/chat/completions?${encodeURIComponent(parameter)}=${encodeURIComponent(evil())}`;
        const response = await box.post(path, { model: 'best', messages }, { headers: more });
        expect(response.status).toBe(200);
        expect(upstream.requests.length - before).toBe(1);
        expectUntouched(before);
      }),
      tries('no headers and no query of a request can choose an upstream or a key', 15, 200),
    );
  });

  test('with its Host header, or with a complete URL instead of its path', async () => {
    const body = JSON.stringify({ model: 'best', messages: [{ role: 'user', content: 'Hello' }] });
    const before = upstream.requests.length;
    for (const [target, host] of [
      ['/v1/chat/completions', `127.0.0.1:${attacker.port}`],
      [`${evil()}/v1/chat/completions`, 'localhost'],
      [`${evil()}/v1/chat/completions`, `127.0.0.1:${attacker.port}`],
    ]) {
      const connection = await connect(box.url);
      const head = [`POST ${target} HTTP/1.1`, `host: ${host}`, `authorization: Bearer ${box.key}`];
      const type = ['content-type: application/json', `content-length: ${body.length}`];
      await connection.write(`${[...head, ...type].join('\r\n')}\r\n\r\n${body}`);
      await connection.response();
      connection.close();
    }
    expectUntouched(before);
  });

  test('with the name of a model', async () => {
    for (const model of [evil(), `best@${evil()}`, `${evil()}/best`, `openai/${evil()}`, '../best', 'best\u0000x']) {
      const response = await box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] });
      expect((await answerOf(response)).error.code).toBe('model_not_found');
    }
    expect(lured).toEqual([]);
  });
});

describe('an upstream', () => {
  test('cannot make Signalbox send the key elsewhere with a redirect, to its own host or to another', async () => {
    for (const status of [300, 301, 302, 303, 305, 307, 308]) {
      for (const location of [
        `${evil()}/v1/chat/completions`,
        `${upstream.url}/elsewhere`,
        '/v1/elsewhere',
        `//127.0.0.1:${attacker.port}/`,
      ]) {
        for (const stream of [false, true]) {
          const before = upstream.requests.length;
          upstream.next({
            status,
            headers: { location, refresh: `0;url=${evil()}`, 'alt-svc': `h2="127.0.0.1:${attacker.port}"` },
          });
          const response = await box.post('/v1/chat/completions', {
            model: 'best',
            stream,
            messages: [{ role: 'user', content: 'Hello' }],
          });
          expect(response.status).toBe(502);
          expect(await response.text()).not.toContain(String(attacker.port));
          expect(upstream.requests.length - before).toBe(1);
          expectUntouched(before);
        }
      }
    }
  });

  test('cannot set a cookie for later calls, or a header that the caller would get', async () => {
    const headers = {
      'set-cookie': 'session=1',
      'x-upstream-secret': 'yes',
      'x-signalbox-credits': '0',
      location: evil(),
    };
    upstream.next({ headers });
    const messages = [{ role: 'user', content: 'Hello' }];
    const response = await box.post('/v1/chat/completions', { model: 'best', messages });
    for (const name of ['set-cookie', 'x-upstream-secret', 'location']) expect(response.headers.get(name)).toBeNull();
    expect(Number(response.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
    await box.post('/v1/chat/completions', { model: 'best', messages });
    expect(upstream.requests.at(-1)?.headers.get('cookie')).toBeNull();
  });
});

describe('an answer', () => {
  const forged = [
    'x\n\ndata: [DONE]\n\n',
    'x\r\n\r\nevent: error\r\ndata: {"error":{"code":"internal_error"}}\r\n\r\n',
    '"}}],"platform":{"credits_consumed":0}}\n\ndata: {"choices":[{"delta":{"content":"',
    '\u0000\u2028\u2029</script>\ud800',
  ];

  test('is data: no text of it can forge an event, an end or another field', async () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    for (const text of forged) {
      upstream.next({ text: [text, 'end'] }, { text: [text, 'end'] });
      const whole = text.toWellFormed();
      const { choices, platform } = await answerOf(await box.post('/v1/chat/completions', { model: 'best', messages }));
      expect(choices[0]?.message.content?.toWellFormed()).toBe(`${whole}end`);
      expect(platform.credits_consumed).toBeGreaterThan(0);
      const { chunks, done } = await eventsOf(
        await box.post('/v1/chat/completions', { model: 'best', messages, stream: true }),
      );
      const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
      expect([said.toWellFormed(), done]).toEqual([`${whole}end`, true]);
      expect(chunks.filter((chunk) => 'error' in chunk)).toEqual([]);
      expect(chunks.at(-1)?.platform.credits_consumed).toBeGreaterThan(0);
    }
  });
});

test('the attacker’s server would have noticed a request', async () => {
  await fetch(`${evil()}/v1`, { headers: { authorization: 'Bearer x' } });
  expect(lured).toHaveLength(1);
  lured = [];
});
