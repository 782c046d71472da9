import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { orDeeply } from '../../deep/deeply.ts';
import { isDeep, randomFrom, seedOf } from '../../deep/effort.ts';
import { type Answer, answerOf } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { FULL, makeBody, QUERY } from '../../support/hostile-bodies.ts';
import { inTime, leastOf } from '../../support/in-time.ts';
import { longestTurn, TURN_ENV } from '../../support/longest-turn.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { chatHead, connect, type RawConnection } from '../../support/raw-http.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/**
 * The longest time that one turn of the server's event loop may take, ms: other requests wait for so long. The goal is 100 ms, which the
 * most expensive of these bodies almost reaches. Slow machines get four times as much.
 */
const TURN_MS = 4 * 100;
/** Less than the ten seconds after which a slow sender is disconnected: the server did not wait for the rest of the request, ms. */
const AT_ONCE_MS = 8_000;
/** The server disconnects a slow sender after ten to twelve seconds, ms. */
const SLOW_MS = 16_000;
const RANDOM_BODIES = isDeep ? 500 : 200;

const upstream = useUpstream();
let box: Signalbox;
const slow: { readonly what: string; readonly connection: RawConnection; readonly ended: Promise<number> }[] = [];
const drips: ReturnType<typeof setInterval>[] = [];

beforeAll(async () => {
  const policy = testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } });
  // The server runs in a process of its own, because the test's work with large bodies must not count as the server's.
  box = await startSignalbox({ isProcess: true, policy, env: { ...UPSTREAM_ENV, ...TURN_ENV } });
  // Slow senders are started first, because they take long.
  await startSlowSenders();
});

afterAll(async () => {
  for (const drip of drips) clearInterval(drip);
  for (const { connection } of slow) connection.close();
  await box.stop();
});

const hello = [{ role: 'user', content: 'Say hello.' }];
const HEAD = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n';

async function startSlowSenders(): Promise<void> {
  const length = 'content-length: 1000';
  const senders: readonly [string, string, string][] = [
    ['nothing at all', '', ''],
    ['half of the headers', HEAD, ''],
    ['headers sent byte by byte', HEAD, 'x'],
    ['half of the body', `${chatHead(box.key, length)}{"model":`, ''],
    ['a body sent byte by byte', chatHead(box.key, length), ' '],
    ['a chunked body sent byte by byte', chatHead(box.key, 'transfer-encoding: chunked'), '1\r\n \r\n'],
  ];
  for (const [what, head, drop] of senders) {
    const connection = await connect(box.url);
    const since = performance.now();
    await connection.write(head);
    if (drop !== '') drips.push(setInterval(() => void connection.write(drop), 250));
    slow.push({ what, connection, ended: connection.closed.then(() => performance.now() - since) });
  }
}

function send(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response> {
  return box.post(path, null, { body });
}

/** Returns the longest turn of the server's event loop during some work, ms, the least of several tries. */
const turnDuring = (work: () => Promise<void>): Promise<number> =>
  leastOf(TURN_MS, async () => {
    await longestTurn(box);
    await work();
    return longestTurn(box);
  });

/**
 * Sends a body and checks that it is refused in OpenAI's format, and not because of a timeout. If `mayServe` is set, the server may also
 * serve the body.
 */
async function refuse(body: string | Uint8Array<ArrayBuffer>, path = '/v1/chat/completions', mayServe = false) {
  const response = await send(path, body);
  const { status } = response;
  const text = await response.text();
  if (mayServe && status === 200) return null;
  expect(`${status} ${text}`).toMatch(/^4(?!08)\d\d \{"error":/);
  const { error } = JSON.parse(text) as Answer;
  for (const member of [error.message, error.type, error.code]) expect(member).toBeString();
  expect(error.param === null || typeof error.param === 'string').toBe(true);
  expect(text.length).toBeLessThan(4_096);
  return { status, ...error };
}

async function expectOrdinaryService(): Promise<void> {
  const response = await box.post('/v1/chat/completions', { model: 'auto', messages: hello });
  expect(response.status).toBe(200);
  expect((await answerOf(response)).choices[0]?.message.content).toContain('Hello');
}

test(`${RANDOM_BODIES} random bodies are refused or served, never with a 5xx or a hang, and no other request waits`, async () => {
  const seed = seedOf('hostile bodies');
  console.log(`hostile bodies: seed ${seed}`);
  const turn = await turnDuring(async () => {
    const random = randomFrom(seed);
    let served = 0;
    for (let at = 0; at < RANDOM_BODIES; at += 20) {
      const batch = Array.from({ length: 20 }, (_, i): [string, string | Uint8Array<ArrayBuffer>] =>
        i % 4 === 3 ? ['/v1/route', makeBody(random, QUERY)] : ['/v1/chat/completions', makeBody(random, FULL)],
      );
      const results = await Promise.all(batch.map(([path, body]) => refuse(body, path, true)));
      served += results.filter((result) => result === null).length;
    }
    expect(served).toBeLessThan(RANDOM_BODIES / 2);
  });
  expect(turn).toBeLessThan(TURN_MS);
  await expectOrdinaryService();
});

describe('a body that is designed to be expensive is refused soon, and no other request waits:', () => {
  const around = (inner: string) => `{"model":"auto","messages":[{"role":"user","content":"x"}],${inner}}`;
  const many = (count: number, make: (i: number) => string) => Array.from({ length: count }, (_, i) => make(i)).join();
  const TEN_MIB = 10_485_760;
  type Case = readonly [string, () => string, string, boolean?];
  const cases: readonly Case[] = [
    ['a million messages', () => `{"model":"auto","messages":[${'{},'.repeat(999_999)}{}]}`, 'request_too_large'],
    ['2,049 messages', () => JSON.stringify({ model: 'auto', messages: Array(2_049).fill(hello[0]) }), 'out_of_range'],
    [
      '10,000 tools',
      () => around(`"tools":[${many(10_000, (i) => `{"type":"function","function":{"name":"f${i}"}}`)}]`),
      'out_of_range',
    ],
    ['lists 10,000 deep', () => `${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'invalid_json'],
    ['ten million digits', () => around(`"seed":${'9'.repeat(10_000_000)}`), 'invalid_type'],
    ['half a million fields', () => around(many(500_000, (i) => `"k${i}":1`)), 'request_too_large'],
    ['as many fields as allowed', () => around(many(60_000, (i) => `"k${i}":1`)), '', true],
    [
      'one prompt of 10 MB',
      () => JSON.stringify({ model: 'auto', messages: [{ role: 'user', content: 'é'.repeat(5_200_000) }] }),
      'context_length_exceeded',
    ],
    ['a body over the limit', () => `"${'a'.repeat(TEN_MIB)}"`, 'request_too_large'],
    [
      'a model name of a megabyte',
      () => JSON.stringify({ model: 'm'.repeat(1_000_000), messages: hello }),
      'invalid_value',
    ],
  ];
  const alike: readonly Case[] = [
    ['ten million brackets', () => '['.repeat(10_000_000), 'invalid_json'],
    ['two million open objects', () => '{"a":'.repeat(2_000_000), 'invalid_json'],
    ['ten million blanks', () => ' '.repeat(10_000_000), 'invalid_json'],
    ['five million escaped quotes', () => `"${'\\"'.repeat(5_000_000)}"`, 'invalid_type'],
    ['as many biases as allowed', () => around(`"logit_bias":{${many(60_000, (i) => `"${i}":1`)}}`), '', true],
    [
      'a tool’s schema 10,000 deep',
      () =>
        around(
          `"tools":[{"type":"function","function":{"name":"a","parameters":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}}]`,
        ),
      'invalid_json',
    ],
    [
      'as many parts as allowed',
      () =>
        `{"model":"auto","messages":[{"role":"user","content":[${many(20_000, () => '{"type":"text","text":"x"}')},{"type":"no"}]}]}`,
      'invalid_value',
    ],
  ];
  for (const [what, make, code, served = false] of orDeeply(cases, alike)) {
    test(what, async () => {
      const body = make();
      const turn = await turnDuring(async () => {
        const error = await refuse(body, '/v1/chat/completions', served);
        if (!served) expect(error?.code).toBe(code);
      });
      expect(turn).toBeLessThan(TURN_MS);
    });
  }

  test('the answer names only some of thousands of dropped fields', async () => {
    const response = await send('/v1/chat/completions', around(many(1_000, (i) => `"k${i}":1`)));
    const { dropped } = (await answerOf(response)).platform;
    expect(dropped).toHaveLength(65);
    expect(dropped.at(-1)).toBe('and 936 more');
  });
});

describe('names that have a meaning in JavaScript', () => {
  test('names such as `__proto__` are handled like any other name', async () => {
    const inherited = '{"__proto__":{"model":"auto","messages":[{"role":"user","content":"x"}]}}';
    expect(await refuse(inherited)).toMatchObject({ code: 'missing_field', param: 'model' });
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(await refuse(JSON.stringify({ model: name, messages: hello }))).toMatchObject({ code: 'model_not_found' });
      const text = `{"model":"auto","messages":[{"role":"user","content":"x"}],"${name}":{"polluted":1},"metadata":{"${name}":"x"}}`;
      const { platform } = await answerOf(await send('/v1/chat/completions', text));
      expect(platform.dropped).toEqual([name]);
      expect((await send('/v1/route', `{"task_type":"${name}"}`)).status).toBe(200);
      expect((await box.get(`/v1/models/${name}`)).status).toBe(404);
      expect((await box.get(`/v1/decisions/${name}`)).status).toBe(404);
    }
    await expectOrdinaryService();
  });
});

describe('line breaks in requests', () => {
  const EVIL = '\r\nx-evil: 1\r\n\r\n';

  /** Returns every way to replace one string by the text. */
  function poisoned(value: unknown): unknown[] {
    if (typeof value === 'string') return [value + EVIL, EVIL];
    if (typeof value !== 'object' || value === null) return [];
    if (Array.isArray(value))
      return value.flatMap((inner, at) => poisoned(inner).map((other) => value.with(at, other)));
    return Object.entries(value).flatMap(([name, inner]) => [
      { ...value, [name + EVIL]: inner },
      ...poisoned(inner).map((other) => ({ ...value, [name]: other })),
    ]);
  }

  test('line breaks in any string of a request never create a header, here or upstream, or a second log line', async () => {
    for (const [path, of] of [
      [
        '/v1/chat/completions',
        { ...FULL, response_format: undefined, tool_choice: { type: 'function', function: { name: 'look' } } },
      ],
      ['/v1/route', QUERY],
    ] as const) {
      for (const body of poisoned(JSON.parse(JSON.stringify(of)))) {
        const response = await box.post(path, body);
        expect(response.status).toBeLessThan(500);
        expect(response.headers.has('x-evil')).toBe(false);
        await response.text();
      }
    }
    expect(upstream.requests.some(({ headers }) => headers.has('x-evil'))).toBe(false);
    expect(box.lines.filter((line) => !line.startsWith('{'))).toEqual([]);
  });

  test('line breaks in a path or a header are refused', async () => {
    for (const path of ['/v1/models/%0d%0ax-evil:1', '/v1/decisions/%0d%0ax-evil:1', '/v1/%0d%0ax-evil:1']) {
      const response = await box.get(path);
      expect(response.status).toBe(404);
      expect(response.headers.has('x-evil')).toBe(false);
    }
  });
});

describe('requests that HTTP does not allow', () => {
  const closing = (...lines: string[]) => `${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`;
  const cases: readonly [string, (key: string) => string][] = [
    ['bytes that are not HTTP', () => '\x00\x01\x02 nothing\r\n\r\n'],
    ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['no host', () => closing('GET /healthz HTTP/1.1')],
    ['a length and chunks', (key) => chatHead(key, 'content-length: 5', 'transfer-encoding: chunked')],
    ['a negative length', (key) => chatHead(key, 'content-length: -5')],
    ['a length that is too large for a number', (key) => chatHead(key, `content-length: ${'9'.repeat(30)}`)],
    ['a chunk without its size', (key) => `${chatHead(key, 'transfer-encoding: chunked')}ZZZ\r\n`],
    ['a folded header', (key) => chatHead(key, 'x-a: 1', ' x-evil: 1')],
    ['an invented method', () => closing('FOO /healthz HTTP/1.1', 'host: a')],
    [
      'a path that cannot be decoded',
      (key) => closing('GET /v1/models/%ZZ%ff HTTP/1.1', 'host: a', `authorization: Bearer ${key}`),
    ],
    ['a path of raw bytes', (key) => closing('GET /v1/models/é HTTP/1.1', 'host: a', `authorization: Bearer ${key}`)],
    [
      'a path of 20,000 letters',
      (key) => closing(`GET /v1/models/${'a'.repeat(20_000)} HTTP/1.1`, 'host: a', `authorization: Bearer ${key}`),
    ],
    [
      '300 headers',
      (key) =>
        closing(
          'GET /v1/models HTTP/1.1',
          'host: a',
          `authorization: Bearer ${key}`,
          ...Array.from({ length: 300 }, (_, i) => `x-${i}: 1`),
        ),
    ],
    [
      'headers of 20 KB',
      (key) =>
        closing('GET /v1/models HTTP/1.1', 'host: a', `authorization: Bearer ${key}`, `x-a: ${'a'.repeat(20_000)}`),
    ],
    ['headers of 1 MB', () => closing('GET /v1/models HTTP/1.1', 'host: a', `x-a: ${'a'.repeat(1_000_000)}`)],
  ];
  for (const [what, make] of cases) {
    test.concurrent(`${what} gets a 4xx or a closed connection at once`, async () => {
      const text = await inTime(AT_ONCE_MS, async () => {
        const connection = await connect(box.url);
        await connection.write(make(box.key));
        return connection.closed;
      });
      expect(text).toMatch(/^(HTTP\/1\.1 (4\d\d|505) |$)/);
      expect(text).not.toContain('x-evil');
      const [, body = ''] = text.split('\r\n\r\n');
      if (body !== '') expect(JSON.parse(body)).toMatchObject({ error: { code: expect.any(String) } });
    });
  }
});

describe('connections without a complete request', () => {
  test('half-open connections are closed at once, with no data, half a head, half a body or a whole request', async () => {
    const body = JSON.stringify({ model: 'auto', messages: hello });
    const whole = chatHead(box.key, `content-length: ${body.length}`);
    for (const sent of ['', HEAD, whole, whole + body.slice(0, 10), whole + body]) {
      const text = await inTime(AT_ONCE_MS, async () => {
        const connection = await connect(box.url);
        await connection.write(sent);
        connection.finish();
        return connection.closed;
      });
      expect(text).toMatch(/^(HTTP\/1\.1 [24]\d\d |$)/);
    }
  });

  test('two hundred silent connections delay no other request', async () => {
    const silent = await Promise.all(Array.from({ length: 200 }, () => connect(box.url)));
    await Promise.all(silent.map((connection, at) => connection.write(at % 2 === 0 ? HEAD : '')));
    const turn = await turnDuring(async () => {
      for (let i = 0; i < 20; i++) await expectOrdinaryService();
    });
    expect(turn).toBeLessThan(TURN_MS);
    for (const connection of silent) connection.close();
  });

  test(
    'slow senders of headers and bodies are disconnected although they keep sending bytes',
    async () => {
      for (const { what, connection, ended } of slow) {
        expect(await ended, what).toBeLessThan(SLOW_MS);
        expect(connection.received).toMatch(/^(HTTP\/1\.1 408 |$)/);
        if (what === 'half of the body') await expectError(await connection.response(), 'request_timeout');
      }
    },
    SLOW_MS + 5_000,
  );
});

test('after all hostile requests, the server serves the next request and has logged no defect', async () => {
  await expectOrdinaryService();
  expect(box.lines.filter((line) => line.includes('defect') || line.includes('"level":"error"'))).toEqual([]);
});
