import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { UpstreamNetwork } from '../../../src/providers/connection/network.ts';
import { Resolver } from '../../../src/providers/connection/resolver.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { inTime } from '../../support/in-time.ts';
import { type CallOptions, failureIn, openTo, partsOf, providerCall, textIn } from '../../support/provider-call.ts';
import { type StuckServer, startCrowded, startSilent } from './stuck.ts';

let upstream: FakeUpstream;
let crowded: StuckServer;
let silent: StuckServer;
beforeAll(async () => {
  upstream = startFakeUpstream();
  [crowded, silent] = await Promise.all([startCrowded(), startSilent()]);
});
afterAll(async () => {
  crowded.stop();
  silent.stop();
  await upstream.stop();
});

/** The answers of successive lookups by name; the last one repeats. */
function networkOf(names: Readonly<Record<string, readonly (readonly string[])[]>>) {
  const asked: string[] = [];
  const network = new UpstreamNetwork(
    new Resolver(async (host) => {
      const answers = names[host];
      if (!answers) throw Object.assign(new Error(`who is ${host}`), { code: 'ENOTFOUND' });
      const answer = answers[Math.min(asked.filter((other) => other === host).length, answers.length - 1)]!;
      asked.push(host);
      return answer;
    }),
  );
  return { network, asked };
}

async function play(url: string, options: CallOptions = {}) {
  const started = performance.now();
  const call = openTo(url, options);
  const parts = await partsOf(call);
  return { failure: failureIn(parts), text: textIn(parts), sent: call.sent, ms: performance.now() - started };
}

/** Far above the deadlines of these tests, and far below the default of five seconds. */
const SOON_MS = 2_500;

const CALLS = [providerCall(), providerCall({}, { stream: false })];
const at = (host: string) => upstream.url.replace('127.0.0.1', host);

describe('without a connection within the deadline', () => {
  test.each<[string, () => string]>([
    ['because the server accepts no connection', () => `http://127.0.0.1:${crowded.port}/v1`],
    ['because the server does not answer the TLS handshake', () => `https://127.0.0.1:${silent.port}/v1`],
  ])('a call fails and counts as never sent: %s', async (_, url) => {
    for (const call of CALLS) {
      const { failure, sent, ms } = await play(url(), { call, deadlines: { connectMs: 150 } });
      expect(failure).toEqual({ kind: 'connect', message: 'no connection within 150 ms' });
      expect(sent).toBe(false);
      expect(ms).toBeGreaterThanOrEqual(148);
      expect(ms).toBeLessThan(SOON_MS);
    }
  });

  test('a call with a slow lookup fails and counts as never sent', async () => {
    const network = new UpstreamNetwork(new Resolver(() => new Promise(() => {})));
    const { failure, sent, ms } = await play(at('slow.example'), { network, deadlines: { connectMs: 100 } });
    expect(failure).toEqual({ kind: 'connect', message: 'no address for `slow.example` within 100 ms' });
    expect(sent).toBe(false);
    expect(ms).toBeLessThan(SOON_MS);
  });

  test('a shorter deadline applies, and is reported', async () => {
    const { failure, ms } = await play(`http://127.0.0.1:${crowded.port}/v1`, { deadlines: { firstTokenMs: 100 } });
    expect(failure).toEqual({ kind: 'connect', message: 'no connection within 100 ms' });
    expect(ms).toBeLessThan(SOON_MS);
  });

  test('an aborted call ends at once', async () => {
    const waiting = new UpstreamNetwork(new Resolver(() => new Promise(() => {})));
    for (const call of [
      openTo(`http://127.0.0.1:${crowded.port}/v1`),
      openTo(at('slow.example'), { network: waiting }),
    ]) {
      const rest = partsOf(call);
      await Bun.sleep(20);
      const started = performance.now();
      call.abort();
      expect(await rest).toEqual([]);
      expect(performance.now() - started).toBeLessThan(SOON_MS);
      expect(call.sent).toBe(false);
    }
  });
});

describe('the deadline for a connection', () => {
  test('does not apply to a slow answer', async () => {
    const slow = startFakeUpstream({ behaviour: { headersAfterMs: 200, text: 'late' } });
    for (const call of CALLS) {
      const { text, failure, sent } = await play(slow.url, { call, deadlines: { connectMs: 100 } });
      expect([text, failure, sent]).toEqual(['late', undefined, true]);
    }
    await slow.stop();
  });

  test('does not affect that an unanswered request counts as sent', async () => {
    const mute = startFakeUpstream();
    for (const call of CALLS) {
      // At the first request the address is untried; before the second it has just answered.
      for (const _ of [1, 2]) {
        mute.next({ hang: 'headers' });
        const { failure, sent } = await play(mute.url, { call, deadlines: { firstTokenMs: 100 }, totalMs: 100 });
        expect([failure?.kind, sent]).toEqual(['timeout', true]);
        await play(mute.url, { call });
      }
    }
    await mute.stop();
  });

  test('does not change the request, which has its length and its whole body', async () => {
    const fresh = startFakeUpstream();
    const content = 'ü💡 '.repeat(50_000);
    const call = providerCall({ messages: [{ role: 'user', content }] });
    // At the first request the address is untried; before the second it has just answered.
    for (const _ of [1, 2]) await play(fresh.url, { call });
    const [cold, warm] = fresh.requests;
    expect(cold!.text).toBe(warm!.text);
    expect(cold!.body.messages).toEqual([{ role: 'user', content }]);
    expect(Object.fromEntries(cold!.headers)).toEqual(Object.fromEntries(warm!.headers));
    expect(cold!.headers.get('transfer-encoding')).toBeNull();
    await fresh.stop();
  });
});

describe('a name', () => {
  test('of this machine needs no permission', async () => {
    for (const call of CALLS) expect((await play(at('localhost'), { call })).failure).toBeUndefined();
    expect(upstream.requests.at(-1)?.headers.get('host')).toBe(`localhost:${upstream.port}`);
  });

  test('is called at its checked address, and its name is sent to the server', async () => {
    const { network } = networkOf({ 'api.example': [['127.0.0.1']] });
    upstream.requests.length = 0;
    for (const call of CALLS) {
      expect((await play(at('api.example'), { call, network, allowPrivate: true })).failure).toBeUndefined();
    }
    const hosts = upstream.requests.map(({ headers }) => headers.get('host'));
    expect(hosts).toEqual([`api.example:${upstream.port}`, `api.example:${upstream.port}`]);
  });

  test('with several addresses is reached at the address that accepts', async () => {
    const { network } = networkOf({ 'api.example': [['127.0.0.2', '::1', '127.0.0.1']] });
    const { failure, sent } = await play(at('api.example'), { network, allowPrivate: true });
    expect([failure, sent]).toEqual([undefined, true]);
  });

  test('shares the deadline among its addresses', async () => {
    const reachable = startFakeUpstream({ hostname: '127.0.0.3', port: crowded.port });
    const { network } = networkOf({ 'api.example': [['127.0.0.1', '127.0.0.3']] });
    const options = { network, allowPrivate: true, deadlines: { connectMs: 1_000 } };
    const url = reachable.url.replace('127.0.0.1', 'api.example');
    const slow = await play(url, options);
    expect(slow.failure).toBeUndefined();
    expect(slow.ms).toBeGreaterThanOrEqual(495);
    // The address that worked comes first.
    const fast = await inTime(490, () => play(url, options));
    expect(fast.failure).toBeUndefined();
    await reachable.stop();
  });

  test('fails once if no address answers', async () => {
    const gone = startFakeUpstream();
    await gone.stop();
    const { network } = networkOf({ 'api.example': [['127.0.0.1', '127.0.0.2']] });
    const { failure, sent } = await play(`http://api.example:${gone.port}/v1`, { network, allowPrivate: true });
    expect(failure).toEqual({ kind: 'connect', message: 'no connection (ECONNREFUSED)' });
    expect(sent).toBe(false);
  });

  test('whose address has just answered and then fails is reached at the next address', async () => {
    const first = startFakeUpstream({ hostname: '127.0.0.2' });
    const second = startFakeUpstream({ port: first.port, prefix: first.prefix });
    const { network } = networkOf({ 'api.example': [['127.0.0.2', '127.0.0.1']] });
    const url = first.url.replace('127.0.0.1', 'api.example');
    await play(url, { network, allowPrivate: true });
    await first.stop();
    const { failure, sent } = await play(url, { network, allowPrivate: true });
    expect([failure, sent, first.requests.length, second.requests.length]).toEqual([undefined, true, 1, 1]);
    await second.stop();
    const last = await play(url, { network, allowPrivate: true });
    expect([last.failure?.kind, last.sent]).toEqual(['connect', false]);
  });

  test('is not tried at a second address after the request was sent to the first', async () => {
    using server = Bun.listen({
      hostname: '127.0.0.2',
      port: 0,
      socket: { data: (socket) => void socket.terminate() },
    });
    const other = startFakeUpstream({ hostname: '127.0.0.1', port: server.port });
    const { network } = networkOf({ 'api.example': [['127.0.0.2', '127.0.0.1']] });
    const { failure, sent } = await play(`http://api.example:${server.port}/v1`, { network, allowPrivate: true });
    expect(failure?.kind).toBe('connect');
    expect(sent).toBe(true);
    expect(other.requests.length).toBe(0);
    await other.stop();
  });
});
