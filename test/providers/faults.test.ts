import { afterEach, describe, expect, test } from 'bun:test';
import { type RawRequest, type RawUpstream, type ServerConnection, startRawUpstream } from '../fault/raw-upstream.ts';
import { waitFor } from '../support/answers.ts';
import { inTime } from '../support/in-time.ts';
import {
  type CallOptions,
  failureIn,
  nextBatch,
  openaiAdapter,
  openTo,
  partsOf,
  providerCall,
  textIn,
} from '../support/provider-call.ts';

/** Servers that violate HTTP, byte by byte. `test/fault` runs the same and more through the whole gateway. */
let upstream: RawUpstream | undefined;
afterEach(() => upstream?.stop());

const KEY = 'sk-live-0123456789abcdef';
const CALLS = [providerCall({}, { stream: false }), providerCall()];
const JSON_TYPE = 'content-type: application/json';
const SSE_TYPE = 'content-type: text/event-stream';
const USAGE = { prompt_tokens: 3, completion_tokens: 2 };

const reply = (content: string) =>
  JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }], usage: USAGE });
const event = (delta: object, finish: string | null = null, rest: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...rest })}\n\n`;
const events = (content: string) => event({ content }) + event({}, 'stop', { usage: USAGE });

const isStream = ({ body }: RawRequest) => body.stream === true;

/** Returns an HTTP response with a content-length. */
function http(status: string, headers: readonly string[], body: string | Uint8Array): Uint8Array {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const head = [`HTTP/1.1 ${status}`, ...headers, `content-length: ${bytes.length}`];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
}

const good = (request: RawRequest, content: string) =>
  isStream(request) ? http('200 OK', [SSE_TYPE], events(content)) : http('200 OK', [JSON_TYPE], reply(content));

async function play(options: CallOptions = {}) {
  const started = performance.now();
  const call = openTo(`${upstream!.url}/v1`, options);
  const parts = await partsOf(call);
  return { parts, text: textIn(parts), failure: failureIn(parts), sent: call.sent, ms: performance.now() - started };
}

/** Sends the same answer to a call for JSON and to a call for a stream. */
async function bothOf(answer: (request: RawRequest) => Uint8Array, options: CallOptions = {}) {
  upstream = await startRawUpstream((line, request) => line.write(answer(request)));
  return [await play({ ...options, call: CALLS[0] }), await play({ ...options, call: CALLS[1] })] as const;
}

describe('before an answer', () => {
  test('any number of 1xx responses is skipped', async () => {
    const hints = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(20);
    for (const { text } of await bothOf((asked) => Buffer.concat([Buffer.from(hints), good(asked, 'after all')]))) {
      expect(text).toBe('after all');
    }
  });

  test('a 101 response is a failure, because no other protocol was requested', async () => {
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n';
    for (const { failure, sent } of await bothOf(() => Buffer.from(switching))) {
      expect([failure?.kind, sent]).toEqual(['connect', true]);
    }
  });

  test.each(['idle', 'used'] as const)('a kept connection that is dead when %s is handled', async (when) => {
    const seen: number[] = [];
    const lines: ServerConnection[] = [];
    const allGone = () => waitFor(() => lines.every(({ isGone }) => isGone));
    upstream = await startRawUpstream(async (line, request) => {
      seen.push(request.nth);
      lines.push(line);
      if (request.nth === 2) return line.reset();
      // The answer is delayed, because an answer that ends before its request closes the connection.
      await Bun.sleep(20);
      await line.write(good(request, 'alive'));
      if (when === 'idle') setTimeout(() => line.end(), 20);
    });
    for (const call of CALLS) {
      seen.length = 0;
      expect((await play({ call })).text).toBe('alive');
      if (when === 'idle') await allGone();
      const { text, failure, sent } = await play({ call });
      expect(sent).toBe(true);
      // A connection that was closed in time is not reused. If a connection ends later, it is unknown how much the server read.
      if (when === 'idle') expect([text, seen]).toEqual(['alive', [1, 1]]);
      else expect([failure?.kind, seen]).toEqual(['connect', [1, 2]]);
      await allGone();
    }
  });

  test('a redirect is a failure, and its address is neither used nor shown', async () => {
    let elsewhere = 0;
    const trap = await startRawUpstream(() => elsewhere++);
    const location = `location: ${trap.url}/v1/chat/completions`;
    for (const status of [
      '300 Multiple Choices',
      '301 Moved',
      '302 Found',
      '303 See Other',
      '307 Temporary Redirect',
      '308 Permanent Redirect',
    ]) {
      for (const { failure } of await bothOf(() => http(status, [location, JSON_TYPE], reply('no')))) {
        const expected = {
          kind: 'not_found',
          message: 'redirects are not followed',
          status: Number.parseInt(status, 10),
        };
        expect(failure).toEqual(expected as { kind: 'not_found'; message: string; status: number });
      }
      upstream?.stop();
    }
    expect(elsewhere).toBe(0);
    trap.stop();
  });
});

describe('an answer', () => {
  test('of HTML is a failure, without waiting for its end', async () => {
    const head =
      'HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: 9999\r\n\r\n<html>data: {}';
    for (const { failure, ms } of await bothOf(() => Buffer.from(head))) {
      expect(failure).toEqual({ kind: 'malformed', message: 'the answer is an HTML page' });
      // Waiting for the end would take until the deadline of five seconds.
      expect(ms).toBeLessThan(4_000);
    }
  });

  test.each([
    ['with nothing in it', () => http('200 OK', [], '')],
    ['of 204', () => Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')],
    ['of NUL bytes', (asked) => http('200 OK', [isStream(asked) ? SSE_TYPE : JSON_TYPE], new Uint8Array(500))],
    [
      'whose text has a NUL that JSON does not allow',
      (asked) => good(asked, 'x').map((byte) => (byte === 0x78 ? 0 : byte)),
    ],
    ['of JSON that is called a stream', () => http('200 OK', [SSE_TYPE], reply('x'))],
    [
      'that claims to be compressed',
      (asked) => http('200 OK', ['content-encoding: gzip', JSON_TYPE], isStream(asked) ? events('x') : reply('x')),
    ],
  ] as [string, (asked: RawRequest) => Uint8Array][])('%s is a failure', async (_, answer) => {
    for (const { parts, failure } of await bothOf(answer)) {
      expect(['malformed', 'cut', 'connect']).toContain(failure?.kind ?? 'none');
      expect(parts.length).toBe(1);
    }
  });

  test('with a byte order mark, CRLF, comments and data after [DONE] is read', async () => {
    const stream = `: hi\r\n${events('good').replaceAll('\n', '\r\n')}data: [DONE]\r\n\r\n${events(' and more')}data: junk\n\n`;
    const answers = await bothOf((asked) =>
      http('200 OK', [isStream(asked) ? SSE_TYPE : JSON_TYPE], `\ufeff${isStream(asked) ? stream : reply('good')}`),
    );
    for (const { text, failure } of answers) expect([text, failure]).toEqual(['good', undefined]);
  });
});

describe('the key', () => {
  test.each<[string, (asked: RawRequest) => Uint8Array]>([
    ['an error', () => http('401 No', [JSON_TYPE], JSON.stringify({ error: { message: `Bad key: ${KEY}` } }))],
    ['an error that is no JSON', () => http('500 No', [], `Authorization: Bearer ${KEY}`)],
    ['the headers of an error', () => http('429 No', [`x-echo: ${KEY}`, `retry-after: ${KEY}`, JSON_TYPE], '{}')],
    ['an error with 200', () => http('200 OK', [JSON_TYPE], JSON.stringify({ error: { message: KEY, code: KEY } }))],
    ['an error amid a stream', () => http('200 OK', [SSE_TYPE], `data: {"error":{"message":"${KEY}"}}\n\n`)],
    ['a long error, cut within it', () => http('500 No', [], `${'x'.repeat(285)} ${KEY} is wrong`)],
  ])('is not repeated from %s', async (_, answer) => {
    for (const { parts, failure } of await bothOf(answer, { apiKey: KEY })) {
      expect(failure).toBeDefined();
      expect(JSON.stringify(parts)).not.toContain(KEY.slice(0, 12));
    }
  });
});

describe('the total deadline bounds every wait', () => {
  const TOTAL = { totalMs: 80 };

  test('for the first content', async () => {
    upstream = await startRawUpstream((line) => line.write(http('200 OK', [SSE_TYPE], ': waiting').subarray(0, -1)));
    const { failure, ms } = await play(TOTAL);
    expect(failure?.kind).toBe('timeout');
    // 4 s are far below the deadline for the first content.
    expect(ms).toBeLessThan(4_000);
  });

  test('for usage after the finish of a complete answer', async () => {
    upstream = await startRawUpstream((line) => {
      line.write(`HTTP/1.1 200 OK\r\n${SSE_TYPE}\r\ncontent-length: 100000\r\n\r\n`);
      line.write(event({ content: 'a' }) + event({}, 'stop'));
    });
    // The wait for usage without a deadline.
    let { text, failure } = await inTime(1_000, () => play(TOTAL));
    // On a busy machine the answer itself may arrive after the deadline.
    for (let totalMs = 160; failure && totalMs <= 2_560; totalMs *= 2) ({ text, failure } = await play({ totalMs }));
    expect([text, failure]).toEqual(['a', undefined]);
  });
});

test('a caller who reads slowly in the middle of an answer does not count as an idle upstream', async () => {
  upstream = await startRawUpstream(async (line) => {
    line.write(`HTTP/1.1 200 OK\r\n${SSE_TYPE}\r\nconnection: close\r\n\r\n`);
    for (let i = 0; i < 20; i++) {
      line.write(event({ content: 'x' }));
      await Bun.sleep(20);
    }
    line.write(event({}, 'stop', { usage: USAGE }));
  });
  const readSlowly = async (idleMs: number) => {
    const call = openTo(`${upstream!.url}/v1`, { deadlines: { idleMs } });
    const parts = [...(await nextBatch(call))!, ...(await nextBatch(call))!];
    await Bun.sleep(1.5 * idleMs);
    return [...parts, ...(await partsOf(call))];
  };
  let parts = await readSlowly(200);
  // On a busy machine the upstream itself may pause for as long.
  for (let idleMs = 400; failureIn(parts) && idleMs <= 3_200; idleMs *= 2) parts = await readSlowly(idleMs);
  expect([textIn(parts), failureIn(parts)]).toEqual(['x'.repeat(20), undefined]);
});

test('a character that is cut off at the very end is not ignored', async () => {
  const lines = (events('Hi').match(/\{.*\}/g) ?? []).join('\n');
  const body = Buffer.concat([Buffer.from(lines), Uint8Array.of(0xc3)]);
  upstream = await startRawUpstream((line) => line.write(http('200 OK', ['content-type: application/x-ndjson'], body)));
  expect((await play()).failure?.kind).toBe('malformed');
});

test('a stream that ends soon after its finish leaves its connection for the next call', async () => {
  const text = events('a');
  let most = 0;
  upstream = await startRawUpstream(async (line, { nth }) => {
    most = Math.max(most, nth);
    const head = `HTTP/1.1 200 OK\r\n${SSE_TYPE}\r\ntransfer-encoding: chunked\r\n\r\n`;
    await line.write(`${head}${text.length.toString(16)}\r\n${text}\r\n`);
    setTimeout(() => void line.write('0\r\n\r\n'), 20);
  });
  // The next call may start before the end of the stream.
  await waitFor(async () => {
    expect((await play()).failure).toBeUndefined();
    return most > 1;
  });
});

test('the wait for usage starts once, whatever follows the finish', async () => {
  upstream = await startRawUpstream(async (line) => {
    line.write(`HTTP/1.1 200 OK\r\n${SSE_TYPE}\r\nconnection: close\r\n\r\n`);
    line.write(event({ content: 'a' }) + event({}, 'stop'));
    for (let i = 0; i < 45; i++) {
      line.write(event({}));
      await Bun.sleep(200);
    }
  });
  const { text, failure, ms } = await play({ totalMs: 4_000 });
  expect([text, failure]).toEqual(['a', undefined]);
  // 3.9 s are well before the total deadline.
  expect(ms).toBeLessThan(3_900);
});

test('the wait that the adapter reads takes precedence over the header', async () => {
  const headers = ['retry-after: 9', JSON_TYPE];
  upstream = await startRawUpstream((line) => line.write(http('429 Too Many Requests', headers, '{}')));
  const failure = { kind: 'rate_limited', message: 'x' } as const;
  const told = { ...openaiAdapter(), failure: () => ({ ...failure, retryAfterMs: 7 }) };
  expect((await play({ adapter: told })).failure?.retryAfterMs).toBe(7);
  expect((await play({ adapter: { ...told, failure: () => failure } })).failure?.retryAfterMs).toBe(9_000);
});
