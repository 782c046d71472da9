import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { inTime } from '../support/in-time.ts';
import {
  type CallOptions,
  failureIn,
  joinParts,
  nextBatch,
  openaiAdapter,
  openTo,
  partsOf,
  providerCall,
  textIn,
} from '../support/provider-call.ts';

const upstream = startFakeUpstream();
afterAll(() => upstream.stop());
beforeEach(() => {
  upstream.requests.length = 0;
});

async function play(behaviour: Behaviour, options: CallOptions = {}) {
  upstream.next(behaviour);
  const started = performance.now();
  const call = openTo(upstream.url, options);
  const parts = await partsOf(call);
  expect(await nextBatch(call)).toBeNull();
  return { call, parts, failure: failureIn(parts), ms: performance.now() - started };
}

const JSON_CALL = providerCall({}, { stream: false });
const chunk = (delta: object, finish: string | null = null, rest: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...rest })}\n\n`;
const USAGE = { prompt_tokens: 3, completion_tokens: 2 };

describe('a good answer', () => {
  test('has the same parts as a stream and as JSON', async () => {
    const behaviour: Behaviour = {
      text: 'Hello you',
      reasoning: 'Hm.',
      usage: { prompt_tokens: 7, completion_tokens: 5 },
    };
    const streamed = await play(behaviour);
    const whole = await play(behaviour, { call: JSON_CALL });
    expect(joinParts(whole.parts)).toEqual(joinParts(streamed.parts));
    expect(joinParts(streamed.parts)).toEqual([
      { type: 'reasoning', choice: 0, text: 'Hm.' },
      { type: 'text', choice: 0, text: 'Hello you' },
      { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
      {
        type: 'usage',
        usage: { inputTokens: 7, outputTokens: 5, reasoningTokens: 0 },
        serviceTier: 'default',
      },
    ]);
    expect(streamed.call.sent).toBe(true);
  });

  test('is requested with our own headers only', async () => {
    await play({}, { apiKey: 'sk-1' });
    const { headers, path } = upstream.requests[0]!;
    expect(path).toBe('/v1/chat/completions');
    const byHttp = ['host', 'connection', 'content-length'];
    expect(Object.fromEntries([...headers].filter(([name]) => !byHttp.includes(name)))).toEqual({
      authorization: 'Bearer sk-1',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'user-agent': 'signalbox',
    });
  });

  test('is read according to its content type: JSON for a stream request, and the reverse', async () => {
    expect(textIn((await play({ form: 'json', text: 'one piece' })).parts)).toBe('one piece');
    expect(textIn((await play({ form: 'sse', text: 'a stream' }, { call: JSON_CALL })).parts)).toBe('a stream');
  });

  test('of several choices ends when all have finished', async () => {
    const { parts, failure } = await play({ text: 'x' }, { call: providerCall({ n: 3 }) });
    expect(failure).toBeUndefined();
    expect(parts.filter((part) => part.type === 'finish').map((part) => part.choice)).toEqual([0, 1, 2]);
  });

  test('has one batch per network read', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `${i} `);
    upstream.next({ raw: [many.map((content) => chunk({ content })).join('') + chunk({}, 'stop', { usage: USAGE })] });
    const call = openTo(upstream.url);
    let batches = 0;
    let text = '';
    for (let batch = await nextBatch(call); batch; batch = await nextBatch(call)) {
      batches++;
      text += textIn(batch);
    }
    expect(text).toBe(many.join(''));
    expect(batches).toBeLessThan(20);
  });

  test('may have characters that are split between writes', async () => {
    const bytes = new TextEncoder().encode(chunk({ content: 'ü💡' }) + chunk({}, 'stop'));
    const raw = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    expect(textIn((await play({ raw })).parts)).toBe('ü💡');
  });
});

describe('the end of a stream', () => {
  test('is the finish with the usage, without waiting for [DONE] or the socket', async () => {
    const seen = upstream.aborted;
    let played = 0;
    // Waiting for usage would take a second each time.
    await inTime(1_000, async () => {
      expect((await play({ keepOpen: true, done: false })).failure).toBeUndefined();
      played++;
    });
    await waitFor(() => upstream.aborted === seen + played);
  });

  test('is successful without usage, at most a second after the finish', async () => {
    expect((await play({ usage: 'missing' })).failure).toBeUndefined();
    const { failure, ms } = await play({ usage: 'missing', keepOpen: true });
    expect(failure).toBeUndefined();
    expect(ms).toBeGreaterThan(900);
    expect(ms).toBeLessThan(4_000);
  });

  test('without a finish is a failure', async () => {
    const { parts, failure } = await play({ text: ['a', 'b'], endAfter: 2 });
    expect(textIn(parts)).toBe('a');
    expect(failure).toMatchObject({ kind: 'cut' });
  });

  test('with [DONE] but without a finish for each choice is a failure', async () => {
    const { failure } = await play(
      { raw: [chunk({ content: 'a' }), chunk({}, 'stop'), 'data: [DONE]\n\n'] },
      {
        call: providerCall({ n: 2 }),
      },
    );
    expect(failure?.kind).toBe('cut');
  });

  test('with a broken connection is a failure', async () => {
    const { parts, failure } = await play({ text: ['a', 'b', 'c'], cutAfter: 3 });
    expect(textIn(parts)).toBe('ab');
    expect(failure?.kind).toBe('cut');
  });

  test('with a broken connection after the finish is successful, because only usage is missing', async () => {
    const { failure } = await play({ text: ['a'], usage: 'missing', done: false, cutAfter: 3 });
    expect(failure).toBeUndefined();
  });

  test('repeats nothing: a second finish and everything after it are dropped', async () => {
    const raw = [chunk({ content: 'a' }, 'stop'), chunk({ content: 'b' }), chunk({}, 'length'), 'data: junk\n\n'];
    const { parts } = await play({ raw });
    expect(parts).toEqual([
      { type: 'text', choice: 0, text: 'a' },
      { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
    ]);
  });

  test('uses the usage after the finish instead of an interim count before it', async () => {
    const usage = (n: number) => ({ usage: { prompt_tokens: 3, completion_tokens: n } });
    const raw = [chunk({ content: 'a' }, null, usage(1)), chunk({}, 'stop'), `data: ${JSON.stringify(usage(2))}\n\n`];
    const { parts } = await play({ raw });
    expect(parts.findLast((part) => part.type === 'usage')).toMatchObject({ usage: { outputTokens: 2 } });
  });
});

describe('a 200 that is not an answer', () => {
  test.each<[string, Behaviour, string]>([
    ['an error body', { raw: ['{"error":{"message":"busy","type":"overloaded_error"}}'], form: 'json' }, 'overloaded'],
    ['an error in the stream', { raw: ['data: {"error":{"message":"x","code":429}}\n\n'] }, 'rate_limited'],
    ['nothing', { raw: [] }, 'malformed'],
    ['HTML', { raw: ['<html>hello</html>'], contentType: 'text/html' }, 'malformed'],
    ['half of a JSON text', { raw: ['{"choices":[{"mess'], form: 'json' }, 'malformed'],
    ['JSON without choices', { raw: ['{"choices":[]}'], form: 'json' }, 'malformed'],
    ['a malformed chunk', { raw: [chunk({ content: 'a' }), 'data: {"cho\n\n'] }, 'malformed'],
    [
      'a choice that was not requested',
      { raw: ['data: {"choices":[{"index":7,"delta":{"content":"x"}}]}\n\n'] },
      'malformed',
    ],
    ['a giant event', { raw: [`data: ${'x'.repeat(1_100_000)}`] }, 'malformed'],
  ])('fails: %s', async (_, behaviour, kind) => {
    for (const call of [providerCall(), JSON_CALL]) {
      const { failure } = await play({ form: call.stream ? 'sse' : 'json', ...behaviour }, { call });
      expect(['malformed', kind]).toContain(failure?.kind ?? 'none');
    }
    expect((await play({ form: 'sse', ...behaviour })).failure?.kind as string).toBe(kind);
  });

  test('fails without being parsed if JSON, or an event, is nested too deeply or has too many values', async () => {
    const deep = `{"choices":${'['.repeat(500_000)}`;
    const wide = `{"choices":[${'{},'.repeat(2_000_000)}{}]}`;
    const message = 'the answer is nested too deeply or has too many values';
    for (const raw of [deep, wide]) {
      const { failure } = await play({ raw: [raw], form: 'json' }, { call: JSON_CALL });
      expect(failure).toMatchObject({ kind: 'malformed', message });
    }
    expect((await play({ raw: [`data: ${deep}\n\n`] })).failure).toMatchObject({ kind: 'malformed', message });
  });

  test('fails if a JSON answer of unknown length is above the limit', async () => {
    const megabyte = ' '.repeat(1 << 20);
    const { failure } = await play({ raw: Array(34).fill(megabyte), form: 'json' }, { call: JSON_CALL });
    expect(failure).toMatchObject({ kind: 'malformed', message: 'the answer was too large' });
  });
});

describe('an error status', () => {
  test.each<[number, Record<string, unknown>, string]>([
    [400, {}, 'rejected'],
    [400, { code: 'context_length_exceeded' }, 'context'],
    [401, {}, 'auth'],
    [404, {}, 'not_found'],
    [429, {}, 'rate_limited'],
    [500, {}, 'server'],
    [503, {}, 'overloaded'],
    [504, {}, 'timeout'],
  ])('with the status %d and the body %j is a failure of its kind', async (status, error, kind) => {
    for (const call of [providerCall(), JSON_CALL]) {
      const { failure, parts } = await play({ status, error: { message: 'Why.', ...error } }, { call });
      expect(failure).toEqual({ kind: kind as 'auth', message: 'Why.', status });
      expect(parts.length).toBe(1);
    }
  });

  test.each<[string, string, number]>([
    ['retry-after', '2', 2_000],
    ['retry-after-ms', '150', 150],
  ])('states when to try again, by %s', async (name, value, ms) => {
    expect((await play({ status: 429, headers: { [name]: value } })).failure?.retryAfterMs).toBe(ms);
  });

  test('with a huge or hanging body keeps that status', async () => {
    const giant = await play({ status: 500, error: 'x'.repeat(3_000_000) });
    expect(giant.failure).toMatchObject({ kind: 'server', status: 500 });
    expect(giant.failure?.message.length).toBeLessThanOrEqual(300);
    const hanging = await play({ status: 503, raw: ['{"err'], keepOpen: true }, { totalMs: 80 });
    expect(hanging.failure).toEqual({ kind: 'overloaded', message: 'status 503', status: 503 });
  });

  test('never repeats the key', async () => {
    const { failure } = await play({ status: 400, error: 'bad\nkey sk-secret-1 here' }, { apiKey: 'sk-secret-1' });
    expect(failure?.message).toBe('bad key [secret] here');
  });

  test.each(['y', '1234567'])('is not damaged by a key as short as a part of a word: %s', async (apiKey) => {
    const error = 'the system says yesterday, 12345678';
    expect((await play({ status: 400, error }, { apiKey })).failure?.message).toBe(error);
    expect((await play({ status: 400, error }, { apiKey: '12345678' })).failure?.message).toContain(', [secret]');
  });
});

describe('no connection', () => {
  test('a refused connection counts as never sent', async () => {
    const gone = startFakeUpstream();
    await gone.stop();
    const call = openTo(gone.url);
    expect(failureIn(await partsOf(call))).toEqual({ kind: 'connect', message: 'no connection (ECONNREFUSED)' });
    expect(call.sent).toBe(false);
  });

  test('an address that is not http is not called', async () => {
    for (const url of [null, 'file:///etc/passwd', 'ftp://x']) {
      const call = openTo(url);
      expect(failureIn(await partsOf(call))?.kind).toBe('connect');
      expect(call.sent).toBe(false);
    }
  });

  test('TLS to a plain server fails', async () => {
    const call = openTo(upstream.url.replace('http:', 'https:'));
    expect(failureIn(await partsOf(call))?.kind).toBe('connect');
    expect(call.sent).toBe(false);
  });

  test('a connection that is closed without an answer counts as sent, because the request may have been read', async () => {
    using server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => void socket.end() } });
    const call = openTo(`http://127.0.0.1:${server.port}`);
    expect(failureIn(await partsOf(call))?.kind).toBe('connect');
    expect(call.sent).toBe(true);
  });

  test('a key that no header can contain is the operator’s mistake, and is not shown', async () => {
    const failure = failureIn(await partsOf(openTo(upstream.url, { apiKey: 'sk\nsecret' })));
    expect(failure?.kind).toBe('auth');
    expect(failure?.message).not.toContain('secret');
  });

  test('an adapter that throws is a failure, not a crash', async () => {
    const adapter = {
      ...openaiAdapter(),
      request: () => {
        throw new Error('broken');
      },
    };
    expect(failureIn(await partsOf(openTo(upstream.url, { adapter })))?.kind).toBe('server');
  });
});

describe('deadlines', () => {
  const within = async (behaviour: Behaviour, options: CallOptions, ms: number) => {
    const seen = upstream.aborted;
    const result = await play(behaviour, options);
    expect(result.failure).toMatchObject({ kind: 'timeout' });
    expect(result.ms).toBeGreaterThanOrEqual(ms - 2);
    // The call's time is far below the default deadlines of five seconds.
    expect(result.ms).toBeLessThan(ms + 2_000);
    await waitFor(() => upstream.aborted === seen + 1);
    return result;
  };

  test('without headers, the first-token deadline applies, and the upstream sees the abort', async () => {
    await within({ hang: 'headers' }, { deadlines: { firstTokenMs: 60 } }, 60);
  });

  test('with headers and keep-alives but no content, the first-token deadline applies', async () => {
    const raw = Array(50).fill(': waiting\n\n');
    await within({ raw, betweenChunksMs: 10, keepOpen: true }, { deadlines: { firstTokenMs: 60 } }, 60);
  });

  test('with silence after content, the idle deadline applies', async () => {
    const { parts } = await within({ text: ['a', 'b'], hang: 2 }, { deadlines: { idleMs: 60 } }, 60);
    expect(textIn(parts)).toBe('a');
  });

  test('with content but no end, the total deadline applies', async () => {
    const text = Array(500).fill('x');
    await within({ text, betweenChunksMs: 5 }, { totalMs: 80, deadlines: { idleMs: 50 } }, 80);
  });

  test('a JSON answer has only the total deadline', async () => {
    const slow = { headersAfterMs: 60 };
    const deadlines = { firstTokenMs: 20, idleMs: 20 };
    expect((await play(slow, { call: JSON_CALL, deadlines })).failure).toBeUndefined();
    await within({ hang: 'headers' }, { call: JSON_CALL, totalMs: 60 }, 60);
  });

  test('that have passed send nothing', async () => {
    const call = openTo(upstream.url, { totalMs: -1 });
    expect(failureIn(await partsOf(call))?.kind).toBe('timeout');
    expect(call.sent).toBe(false);
    expect(upstream.requests.length).toBe(0);
  });
});

describe('abort', () => {
  test.each<[string, Behaviour]>([
    ['before the headers', { hang: 'headers' }],
    ['before the first chunk', { firstChunkAfterMs: 5_000 }],
    ['amid the stream', { text: ['a', 'b'], hang: 2 }],
  ])('%s reaches the upstream at once and ends the read', async (_, behaviour) => {
    const seen = upstream.aborted;
    upstream.next(behaviour);
    const call = openTo(upstream.url);
    const rest = partsOf(call);
    await waitFor(() => upstream.requests.length === 1);
    await Bun.sleep(20);
    const started = performance.now();
    call.abort();
    expect(failureIn(await rest)).toBeUndefined();
    expect(await nextBatch(call)).toBeNull();
    await waitFor(() => upstream.aborted === seen + 1);
    expect(performance.now() - started).toBeLessThan(4_000);
  });

  test('has no effect the second time or after the end', async () => {
    const { call } = await play({});
    call.abort();
    call.abort();
    expect(await nextBatch(call)).toBeNull();
  });
});
