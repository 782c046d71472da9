import { afterAll, describe, expect, test } from 'bun:test';
import { quietFor, waitFor } from '../support/answers.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { leastOf } from '../support/in-time.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { errorCodeIn, isWhole, RawStream } from '../support/raw-stream.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useLivePolicy, useSignalbox, useUpstream } from '../support/use.ts';

/** Tests how a streamed chat ends on the wire if it fails after its headers. */
const COMMIT_MS = 100;
/** The minimum time between the error event and the break of the connection, ms. */
const BREAK_MS = 249;
const PATH = '/v1/chat/completions';
const TEXT = ['one ', 'two ', 'three ', 'four'];
const CUT: Behaviour = { text: TEXT, cutAfter: 3 };

const upstream = useUpstream();
const policyWith = (more = '') =>
  testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'] } },
    `gateway: { commit_after_ms: ${COMMIT_MS}, retries_max: 0${more} }\n`,
  ).replace('{ failed_streams: end, ', '{ ');

const streams: RawStream[] = [];
afterAll(() => {
  for (const { socket } of streams) socket.destroy();
});

function ask(box: Pick<Signalbox, 'url' | 'key'>, headers: readonly string[] = [], path = PATH): RawStream {
  const messages = [{ role: 'user', content: 'Count.' }];
  const prompt = path === '/v1/responses' ? { input: 'Count.' } : { messages, max_tokens: 100 };
  const own = [`authorization: Bearer ${box.key}`, ...headers];
  const stream = new RawStream(box.url + path, { model: 'best', stream: true, ...prompt }, own);
  streams.push(stream);
  return stream;
}

/** Expects an error event, and then a broken connection. */
async function expectBroken(stream: RawStream, code = 'upstream_failed'): Promise<void> {
  expect([await stream.ended(), errorCodeIn(stream)]).toEqual(['broken', code]);
  expect(stream.head).toStartWith('HTTP/1.1 200');
}

describe('with `failed_streams: break`, the default,', () => {
  const box = useSignalbox(() => ({ policy: policyWith() }));

  test('a stream that fails after its first part sends the error event, and 250 ms later the connection breaks', async () => {
    // A busy reader may see the event late, so that the break seems to come too early.
    const early = await leastOf(1, async () => {
      upstream.next(CUT);
      const stream = ask(box);
      await expectBroken(stream);
      expect(stream.body).toContain('two ');
      return Math.max(0, BREAK_MS - stream.lastMs);
    });
    expect(early).toBeLessThan(1);
  });

  test('a stream that fails after its headers, during heartbeats, ends in the same way', async () => {
    upstream.next({ status: 500, headersAfterMs: 3 * COMMIT_MS });
    const stream = ask(box);
    await expectBroken(stream);
    expect(stream.body).toStartWith(': waiting');
  });

  test('a replay of a failed stream ends in the same way', async () => {
    upstream.next(CUT);
    const name = [`idempotency-key: break-${crypto.randomUUID()}`];
    const first = ask(box, name);
    await expectBroken(first);
    const again = ask(box, name);
    await expectBroken(again);
    expect(again.head.toLowerCase()).toContain('x-signalbox-replayed: true');
    expect(again.body).toContain('two ');
  });

  test('a complete stream ends cleanly, and so does its replay', async () => {
    const name = [`idempotency-key: whole-${crypto.randomUUID()}`];
    for (const stream of [ask(box), ask(box, name)]) {
      expect([await stream.ended(), isWhole(stream)]).toEqual(['clean', true]);
    }
    const again = ask(box, name);
    expect([await again.ended(), isWhole(again)]).toEqual(['clean', true]);
  });

  test.each(['/v1/responses', '/v1/messages'])(
    'a failed stream of %s ends cleanly with the error event of its dialect',
    async (path) => {
      upstream.next(CUT);
      const stream = ask(box, [], path);
      expect(await stream.ended()).toBe('clean');
      expect(stream.body).toMatch(/event: (?:response\.failed|error)\n/);
    },
  );

  test('the request is settled when its error event arrives, before the connection breaks', async () => {
    upstream.next(CUT);
    const stream = ask(box);
    await waitFor(() => errorCodeIn(stream));
    const { open_reservations: open } = (await (await box.get('/admin/ledger')).json()) as {
      open_reservations: number;
    };
    expect([open, stream.end]).toEqual([0, null]);
    await expectBroken(stream);
  });

  test('a slow client with more to read than its buffers hold receives the whole part and the error event', async () => {
    const text = Array.from({ length: 40 }, () => 'x'.repeat(65_536));
    upstream.next({ text, endAfter: 40 });
    const stream = ask(box);
    await waitFor(() => stream.head !== '');
    stream.socket.pause();
    await quietFor(1_000, 'the end of a stream that its client has not read', () => stream.end);
    stream.socket.resume();
    await expectBroken(stream);
    expect(stream.body.match(/x{65536}/g)?.length).toBe(39);
  });
});

describe('the policy', () => {
  const live = useLivePolicy(() => ({ 'policy.yaml': policyWith() }));

  test('decides: with `end`, the body ends after the error event; a replay follows the active policy', async () => {
    const name = [`idempotency-key: policy-${crypto.randomUUID()}`];
    const cases = [
      [policyWith(', failed_streams: end'), 'clean'],
      [policyWith(), 'broken'],
    ] as const;
    upstream.next(CUT);
    await ask(live.box, name).ended();
    for (const [policy, end] of cases) {
      live.replace('policy.yaml', policy);
      expect((await live.reload()).status).toBe(200);
      upstream.next(CUT);
      for (const stream of [ask(live.box), ask(live.box, name)]) {
        expect([await stream.ended(), errorCodeIn(stream)]).toEqual([end, 'upstream_failed']);
      }
    }
  });
});

describe('a process', () => {
  const started: Signalbox[] = [];
  const start = async (...args: string[]) => {
    const box = await startSignalbox({ policy: policyWith(), env: UPSTREAM_ENV, isProcess: true, args });
    started.push(box);
    return box;
  };
  afterAll(() => Promise.all(started.map((box) => box.stop())));

  test('that shuts down sends the error event to a running stream, breaks its connection, and ends in time', async () => {
    const box = await start('--drain-ms', '0');
    upstream.next({ text: TEXT, hang: 3 });
    const stream = ask(box);
    await waitFor(() => stream.body.includes('two '));
    const since = performance.now();
    box.signal('SIGTERM');
    await expectBroken(stream, 'overloaded');
    expect(await box.exited).toBe(0);
    // A shutdown waits at most a second for streams. A busy machine gets more time here.
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(await box.errors).toBe('');
  });

  test('prints nothing when streams break, or when their callers disconnect earlier', async () => {
    const box = await start();
    for (let i = 0; i < 3; i++) {
      upstream.next(CUT, CUT);
      const [broken, left] = [ask(box), ask(box)];
      await waitFor(() => errorCodeIn(left));
      left.socket.destroy();
      await expectBroken(broken);
    }
    box.signal('SIGTERM');
    expect(await box.exited).toBe(0);
    expect(await box.errors).toBe('');
  });
});
