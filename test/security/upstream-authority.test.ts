import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { answerOf, eventsOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { connect } from '../support/raw-http.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Where a request goes and with which key is the policy's to say, and nobody's who sends one. */
let upstream: FakeUpstream;
/** Somebody who would like to be sent something. */
let attacker: ReturnType<typeof Bun.serve>;
let lured: { readonly url: string; readonly authorization: string | null }[] = [];
let box: Signalbox;

const STOLEN = 'sk-attackers-own-key-0123456789';

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  attacker = Bun.serve({
    // It counts calls to any path; the system gives this port to no other test's server.
    port: freePort(),
    hostname: '127.0.0.1',
    fetch(request) {
      lured.push({ url: request.url, authorization: request.headers.get('authorization') });
      return Response.json({ choices: [{ index: 0, message: { content: 'lured' }, finish_reason: 'stop' }] });
    },
  });
  // Even a provider that passes every unknown field on.
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

/** Names by which other gateways and clients let a request say where it goes, or with which key. */
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

/** A request with a lure under a name, in some place of it. */
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

/** What the one upstream that there is got, and nobody else. */
function expectUntouched(before: number): void {
  expect(lured).toEqual([]);
  const got = upstream.requests.slice(before);
  for (const { headers, path } of got) {
    expect(headers.get('authorization')).toBe(`Bearer ${UPSTREAM_KEY}`);
    expect(headers.get('host')).toBe(`127.0.0.1:${upstream.port}`);
    expect(path).toBe('/v1/chat/completions');
    // Of what came in, no header goes on.
    expect([...headers.values()].join(' ')).not.toContain(STOLEN);
    expect([...headers.values()].join(' ')).not.toContain(String(attacker.port));
  }
}

describe('no request names an upstream or a key:', () => {
  test('whatever field it has, wherever it stands', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...PLACES), name, lure, async (place, key, value) => {
        const before = upstream.requests.length;
        const response = await box.post('/v1/chat/completions', bodyWith(place, key, value));
        const answer = await response.text();
        expect(answer).not.toContain('lured');
        // A name that is a known field of another kind is refused; anything else is answered by the upstream.
        expect([200, 400, 422], answer).toContain(response.status);
        expect(upstream.requests.length - before).toBe(response.status === 200 ? 1 : 0);
        if (response.status === 200) answered++;
        expectUntouched(before);
      }),
      tries('no field of a request, wherever it stands, names an upstream or a key', 25, 500),
    );
    expect(answered).toBeGreaterThan(20);
  });

  test('whatever headers and query it has', async () => {
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
      tries('no headers and no query of a request name an upstream or a key', 15, 200),
    );
  });

  test('nor with its Host, nor with a whole address in place of its path', async () => {
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

  test('nor with a model’s name', async () => {
    for (const model of [evil(), `best@${evil()}`, `${evil()}/best`, `openai/${evil()}`, '../best', 'best\u0000x']) {
      const response = await box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'x' }] });
      expect((await answerOf(response)).error.code).toBe('model_not_found');
    }
    expect(lured).toEqual([]);
  });
});

describe('an upstream', () => {
  test('does not send the key anywhere by a redirect, to its own host or to another', async () => {
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

  test('sets no cookie that a later call would carry, and no header that the caller would get', async () => {
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

  test('is data: no text of it forges an event, an end or a field beside it', async () => {
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

test('the listener would have heard it', async () => {
  await fetch(`${evil()}/v1`, { headers: { authorization: 'Bearer x' } });
  expect(lured).toHaveLength(1);
  lured = [];
});
