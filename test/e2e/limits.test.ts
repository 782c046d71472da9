import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { makeTestKey, type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * Rate limits through a real server. The first server trusts 127.0.0.1 as its proxy, so a test chooses its address with `X-Forwarded-For`.
 * The second server does not.
 */
let upstream: FakeUpstream;
let box: Signalbox;
let plain: Signalbox;

const RULES = `
rate_limits:
  - { name: slow, each: key, match: key.labels.pace == "slow", requests_per_minute: 3 }
  - { name: team, each: key.labels.team, match: key.labels.team != "", requests_per_minute: 2 }
  - { name: by-address, each: address, match: key.labels.by == "address", requests_per_minute: 2 }
  - { name: tokens, each: key, match: key.labels.pace == "tokens", requests_per_minute: 100, tokens_per_minute: 2000 }
  - { name: streams, each: key, match: key.labels.pace == "streams", concurrent_streams: 3 }
  - { name: poor, each: key, match: key.labels.pace == "poor", tokens_per_minute: 2000, concurrent_streams: 2 }
budgets: [{ name: one-at-a-time, match: key.labels.pace == "poor", limit_credits: 0.7, window: total }]
ledger: { contention_wait_ms: 50 }
`;
const gatewayText = (more: string) =>
  `gateway: { failed_auth_per_minute: 5, keyless_per_minute: 5, retries_max: 0${more} }\n`;

beforeAll(async () => {
  // Answers that are cut teach nothing about the usual length, so the expected length stays the declared one.
  upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: { finish: 'length' } });
  const policy = (more: string) =>
    testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }, RULES + gatewayText(more));
  [box, plain] = await Promise.all([
    startSignalbox({ policy: policy(', trusted_proxies: ["127.0.0.0/8"]'), env: UPSTREAM_ENV }),
    startSignalbox({ policy: policy(''), env: UPSTREAM_ENV }),
  ]);
});

afterAll(async () => {
  await Promise.all([box.stop(), plain.stop(), upstream.stop()]);
});

const hello = [{ role: 'user', content: 'Why is the sky blue?' }];
const from = (address: string, key?: string) => ({
  headers: { 'x-forwarded-for': address, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
});

/** Counts addresses, so that each test uses a new one. */
let lastAddress = 0;
const newAddress = () => `198.51.${Math.floor(++lastAddress / 250)}.${(lastAddress % 250) + 1}`;

/** Creates a key by command, and waits until the server knows it. Each request that checks for the key comes from another address. */
async function makeKey(...flags: string[]): Promise<string> {
  const key = await box.makeKey(...flags);
  await waitFor(async () => (await box.get('/v1/models', from(newAddress(), key))).status === 200);
  return key;
}

const chat = (body: object, key: string, init: RequestInit = {}) =>
  box.post(
    '/v1/chat/completions',
    { model: 'best', messages: hello, ...body },
    { ...init, headers: { authorization: `Bearer ${key}` } },
  );
const route = (key: string, init: RequestInit = from(newAddress(), key)) => box.post('/v1/route', {}, init);

async function limitOf(response: Response, retry = true): Promise<unknown> {
  const { details } = await expectError(response, 'rate_limit_exceeded', null, retry);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(Number(response.headers.get('retry-after-ms'))).toBeGreaterThanOrEqual(1);
  return details;
}

const limitHeaders = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-ratelimit-')));

describe('requests a minute', () => {
  test('limit by key: the headers of answers count down, and the next request is refused and costs nothing', async () => {
    const key = await makeKey('--label', 'pace=slow');
    const json = await chat({}, key);
    expect(json.status).toBe(200);
    expect(limitHeaders(json)).toEqual({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '2',
      'x-ratelimit-reset-requests': expect.stringMatching(/^(20|19\.\d+)s$/),
    });
    const stream = await chat({ stream: true }, key);
    expect(stream.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect((await eventsOf(stream)).done).toBe(true);
    // An invalid request counts as well, and shows the headers.
    const wrong = await chat({ temperature: 9 }, key);
    await expectError(wrong, 'out_of_range', 'temperature');
    expect(wrong.headers.get('x-ratelimit-remaining-requests')).toBe('0');

    const before = upstream.requests.length;
    const refused = await chat({}, key);
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('3');
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(await limitOf(refused)).toEqual({ limit: 'slow', kind: 'requests' });
    expect(await limitOf(await route(key))).toEqual({ limit: 'slow', kind: 'requests' });
    expect(upstream.requests.length).toBe(before);
    // Requests that only read are not counted.
    expect((await box.get('/v1/models', from(newAddress(), key))).status).toBe(200);
  });

  test('limit by label: the keys of one team share it, other keys do not', async () => {
    const [red, alsoRed, blue] = await Promise.all(
      ['red', 'red', 'blue'].map((team) => makeKey('--label', `team=${team}`)),
    );
    expect((await route(red!)).status).toBe(200);
    expect((await route(alsoRed!)).status).toBe(200);
    expect(await limitOf(await route(red!))).toEqual({ limit: 'team', kind: 'requests' });
    expect((await route(blue!)).status).toBe(200);
  });

  test('a limit of requests a minute on the key itself applies', async () => {
    const key = await makeKey('--rpm', '1');
    const first = await route(key);
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('1');
    expect(await limitOf(await route(key))).toEqual({ limit: 'api-key', kind: 'requests' });
  });

  test('a caller without limits gets no headers about limits', async () => {
    expect(limitHeaders(await route(box.key))).toEqual({});
  });
});

describe('limits by address', () => {
  test('with a trusted proxy each caller has its own limit; a forged header does not help', async () => {
    const key = await makeKey('--label', 'by=address');
    const mine = newAddress();
    expect((await route(key, from(mine, key))).status).toBe(200);
    expect((await route(key, from(`${newAddress()}, ${mine}`, key))).status).toBe(200);
    expect(await limitOf(await route(key, from(`${newAddress()}, ${mine}`, key)))).toEqual({
      limit: 'by-address',
      kind: 'requests',
    });
    expect((await route(key, from(newAddress(), key))).status).toBe(200);
    // A whole /64 network counts as one caller.
    expect((await route(key, from('2001:db8:7::1', key))).status).toBe(200);
    expect((await route(key, from('2001:db8:7::2', key))).status).toBe(200);
    expect((await route(key, from('2001:db8:7:0:1:2:3:4', key))).status).toBe(429);
    expect((await route(key, from('2001:db8:7:1::1', key))).status).toBe(200);
  });

  test('without a trusted proxy the header X-Forwarded-For is ignored', async () => {
    const bad = makeTestKey('nobody');
    for (let i = 0; i < 5; i++) {
      await expectError(await plain.get('/v1/models', from(newAddress(), bad)), 'invalid_api_key');
    }
    const details = await limitOf(await plain.get('/v1/models', from(newAddress(), bad)), false);
    expect(details).toEqual({ limit: 'gateway.failed_auth_per_minute', kind: 'requests' });
  });
});

describe('failed authentication', () => {
  test('failed authentication is limited by address; valid keys and other addresses still pass', async () => {
    const [nat, other] = [newAddress(), newAddress()];
    const bad = [makeTestKey('nobody'), 'sk-123', `${box.key.slice(0, -3)}abc`, makeTestKey('somebody'), ''];
    for (const key of bad) await expectError(await box.get('/v1/models', from(nat, key)), 'invalid_api_key');
    for (const key of bad) {
      // The error does not say to retry, because a bad key stays bad.
      expect(await limitOf(await box.get('/v1/models', from(nat, key)), false)).toEqual({
        limit: 'gateway.failed_auth_per_minute',
        kind: 'requests',
      });
    }
    expect((await box.get('/v1/models', from(nat, box.key))).status).toBe(200);
    await expectError(await box.get('/v1/models', from(other, bad[0])), 'invalid_api_key');
  });

  test('requests that need no key are counted separately; health checks are never refused', async () => {
    const address = newAddress();
    const open = (path: string) => fetch(box.url + path, from(address));
    for (let i = 0; i < 5; i++) expect((await open(['/docs', '/nothing', '/metrics'][i % 3]!)).status).not.toBe(429);
    for (const path of ['/docs', '/docs/json', '/nothing', '/metrics']) {
      expect(await limitOf(await open(path))).toEqual({ limit: 'gateway.keyless_per_minute', kind: 'requests' });
    }
    for (let i = 0; i < 10; i++) {
      expect((await open('/healthz')).status).toBe(200);
      expect((await open('/readyz')).status).toBe(200);
    }
    await expectError(await box.get('/v1/models', from(address, 'sk-123')), 'invalid_api_key');
    expect((await fetch(`${box.url}/docs`, from(newAddress()))).status).toBe(200);
  });
});

describe('tokens a minute', () => {
  const tokens = (prompt: number, completion: number) => ({
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  });
  const left = (response: Response) => Number(response.headers.get('x-ratelimit-remaining-tokens'));

  test('the expected tokens count at first, and are replaced by the used tokens', async () => {
    const key = await makeKey('--label', 'pace=tokens');
    upstream.next(tokens(20, 30));
    const first = await chat({ max_tokens: 500 }, key);
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBe('2000');
    // The usual output of the task is 400 tokens, and the prompt has a few.
    expect(left(first)).toBeWithin(1_560, 1_601);
    await answerOf(first);
    upstream.next(tokens(700, 1_000));
    const second = await chat({ max_tokens: 10 }, key);
    // The first request used 50 tokens. Each second makes 33 tokens available again.
    expect(left(second)).toBeWithin(1_900, 2_000);
    // This request uses more tokens than expected: about 250 are left.
    expect((await chat({ max_tokens: 10 }, key)).status).toBe(200);
    expect(await limitOf(await chat({ max_tokens: 500 }, key))).toEqual({ limit: 'tokens', kind: 'tokens' });
    // A recommendation uses no tokens.
    const advice = await route(key);
    expect(advice.status).toBe(200);
    expect(Number(advice.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(0);
  });

  test('the tokens of a failed request are returned to the limit', async () => {
    const key = await makeKey('--label', 'pace=tokens');
    for (let i = 0; i < 8; i++) {
      upstream.next({ status: 500 });
      await expectError(await chat({}, key), 'upstream_failed');
    }
    // With limits that instances share, up to two seconds of the rate may be missing.
    if (process.env.SIGNALBOX_STORE) await waitFor(async () => left(await route(key)) === 2_000, 10_000);
    else expect(left(await route(key))).toBe(2_000);
  });
});

describe('concurrent streams', () => {
  /** Opens a stream that stops sending after its first part. */
  async function open(key: string) {
    const leaving = new AbortController();
    upstream.next({ text: ['a ', 'b '], hang: 2 });
    const response = await chat({ stream: true }, key, { signal: leaving.signal });
    return { response, leave: () => leaving.abort() };
  }

  test('the limit of concurrent streams is free again when callers leave or streams end', async () => {
    const key = await makeKey('--label', 'pace=streams');
    const streams = [await open(key), await open(key), await open(key)];
    expect(streams.map(({ response }) => response.status)).toEqual([200, 200, 200]);
    const refused = await chat({ stream: true }, key);
    expect(await limitOf(refused)).toEqual({ limit: 'streams', kind: 'streams' });
    // Requests without streaming are not limited.
    expect((await chat({}, key)).status).toBe(200);
    streams[0]!.leave();
    const next = await waitFor(async () => {
      const response = await chat({ stream: true }, key);
      return response.status === 200 ? response : null;
    });
    expect((await eventsOf(next)).done).toBe(true);
    // A completed stream has released its place, and so has a failed one.
    upstream.next({ status: 500 });
    expect((await chat({ stream: true }, key)).status).toBe(502);
    expect((await open(key)).response.status).toBe(200);
    expect((await chat({ stream: true }, key)).status).toBe(429);
  });

  test('a stream that waited for money in vain releases its place and its tokens', async () => {
    const key = await makeKey('--label', 'pace=poor');
    const leaving = new AbortController();
    upstream.next({ text: ['a ', 'b '], hang: 2 });
    const body = { stream: true, max_tokens: 100 };
    const held = await chat(body, key, { signal: leaving.signal });
    const left = Number(held.headers.get('x-ratelimit-remaining-tokens'));
    for (let i = 0; i < 2; i++) {
      const refused = await chat(body, key);
      await expectError(refused, 'budget_contended');
      expect(Number(refused.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThanOrEqual(left);
    }
    leaving.abort();
  });

  test('a limit of concurrent streams on the key itself applies', async () => {
    const key = await makeKey('--streams', '1');
    const { leave } = await open(key);
    expect(await limitOf(await chat({ stream: true }, key))).toEqual({ limit: 'api-key', kind: 'streams' });
    leave();
    await waitFor(async () => (await chat({ stream: true }, key)).status === 200);
  });
});
