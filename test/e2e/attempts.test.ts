import { describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Tests failed attempts: which endpoint is tried next, what is charged, and what the operator sees. */
const first = useUpstream();
const second = useUpstream();

const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: first.url, second: second.url },
    {
      best: {
        endpoints: ['first', 'second'],
        more: '    deadlines: { first_token_ms: 200, total_ms: 3000 }\n    default_max_output: 20\n',
      },
    },
  ).replace('    default_max_output: 1024\n', ''),
}));

const chat = (body: object = {}) =>
  box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], ...body });

const failures = () => box.lines.filter((line) => line.includes('attempt failed'));

describe('a silent endpoint', () => {
  test('a silent endpoint does not delay the next endpoint of a JSON request until the total deadline', async () => {
    first.next({ hang: 'headers' });
    const since = performance.now();
    const response = await chat();
    expect(response.status).toBe(200);
    // 200 ms for the first token plus twice 20 tokens at 100 a second; the test allows four times as much.
    expect(performance.now() - since).toBeLessThan(2_400);
  });
});

describe('the usage of an attempt', () => {
  test('the usage of a failed attempt is charged, although another attempt answered', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
    first.next({ raw: [JSON.stringify({ id: 'x', object: 'chat.completion', choices: [], usage })], form: 'json' });
    second.next({ text: 'Hi', usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
    const { platform } = await answerOf(await chat());
    // 20 + 4 × 5 of the first attempt and 10 + 4 × 5 of the second, in thousandths of a Credit.
    expect(platform.credits_consumed).toBe(0.07);
  });

  test('a JSON answer that is cut in the middle is charged by the stated rule, and its error says not to repeat it', async () => {
    second.next({ raw: ['{"id":"x","choices":[{"index":0,"mess'], form: 'json', cutAfter: 1 });
    first.next({ status: 500 });
    const response = await chat();
    expect(response.status).toBe(502);
    expect((await answerOf(response)).error.code).toBe('upstream_failed');
  });
});

describe('the operator', () => {
  test('the operator sees the status and the message of an upstream that failed', async () => {
    first.next({ status: 503, error: { message: 'the model is being loaded' } });
    await chat();
    const line = await waitFor(() => failures().find((text) => text.includes('being loaded')));
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      provider: 'first',
      model: 'best',
      kind: 'overloaded',
      status: 503,
    });
  });
});

test('no address of an upstream is repeated to a caller, in whatever form its message contains it', async () => {
  first.next({
    status: 400,
    error: { message: 'Bad schema at https://api.example.com/v1, host 10.1.2.3:99, see db.internal.example:5432' },
  });
  const { error } = await answerOf(await chat());
  expect(error.code).toBe('upstream_rejected_request');
  for (const part of ['api.example.com', '10.1.2.3', 'internal.example']) expect(error.message).not.toContain(part);
});

test('the error of a request that cost something says what it cost', async () => {
  first.next({ hang: 'headers' });
  second.next({ hang: 'headers' });
  const response = await chat({ max_tokens: 20 });
  expect(response.status).toBe(504);
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(Number(response.headers.get('x-signalbox-credits'))).toBeGreaterThan(0);
  expect(response.headers.get('x-signalbox-decision-id')).toStartWith('dec_');
});

describe('a provider that refuses its key', () => {
  test('a provider that refuses its key raises one alarm and is not used until that is fixed; the error does not say to retry', async () => {
    for (const upstream of [first, second]) upstream.next({ status: 401, error: { message: 'Incorrect API key.' } });
    const response = await chat();
    expect(response.status).toBe(502);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect((await answerOf(response)).error.message).toBe(
      'Every attempt at a provider failed. `best`: its provider refuses the API key of this gateway.',
    );
    const alarms = () => box.lines.filter((text) => text.includes('misconfigured'));
    await waitFor(() => alarms().length === 2);
    expect(JSON.parse(alarms()[0]!)).toMatchObject({
      level: 'error',
      provider: 'first',
      model: 'best',
      for_ms: 60_000,
    });
    const asked = first.requests.length + second.requests.length;
    for (let i = 0; i < 3; i++) {
      const again = await chat({ stream: i === 1 });
      expect([again.headers.has('retry-after'), again.headers.has('retry-after-ms')]).toEqual([false, false]);
      const { details, message } = await expectError(again, 'upstream_failed', null, false);
      expect(details).toEqual({ unavailable: [{ model: 'best', state: 'misconfigured' }] });
      expect(message).toBe(
        '`best` is unavailable: the provider of `best` refuses the API key of this gateway. The operator must correct the key.',
      );
    }
    for (const [path, body] of [
      ['/v1/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20 }],
      ['/v1/responses', { input: 'Hi', store: false }],
      ['/v1/responses', { input: 'Hi', store: false, stream: true }],
    ] as const) {
      const again = await box.post(path, { model: 'best', ...body });
      const headers = [again.headers.get('x-should-retry'), again.headers.has('retry-after')];
      expect([again.status, ...headers]).toEqual([502, 'false', false]);
      expect(await again.text()).toContain('refuses the API key of this gateway');
    }
    expect(first.requests.length + second.requests.length).toBe(asked);
    expect(alarms()).toHaveLength(2);
  });

  test('a provider that refused its key is tried again after a reload', async () => {
    expect((await box.post('/admin/policy/reload', {})).status).toBe(200);
    const response = await chat();
    expect(response.status).toBe(200);
    await response.text();
    await waitFor(() => box.lines.some((text) => text.includes('is healthy again')));
  });
});
