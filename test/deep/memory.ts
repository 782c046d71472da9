import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type DeafCaller, startDeafCaller } from '../support/deaf-caller.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { forgetPeak, peakMiB, residentMiB } from '../support/process.ts';
import { connect, type RawConnection } from '../support/raw-http.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- memory`: the memory of a server with the shipped settings during floods of bodies: large ones on every kind of
 * route, and 1,500 bodies of 150 kB at once, JSON and streams. Also the memory for callers that do not read their answers.
 */
const { runs: waves, proved } = effort('memory', 1, 2);

const FLOOD = { connections: 300, bytes: 9_900_000 };
const WAVE = { connections: 1_500, bytes: 150_000, waitMs: 500, withinMs: 120_000 };
/**
 * The memory that a flood may add, MiB: on routes with small bodies, and on routes with bodies up to `gateway.body_bytes_max`
 * (`docs/operate/sizing.md`).
 */
const SMALL_ADDED_MAX = 64;
const LARGE_ADDED_MAX = 3 * 512;
/** The memory that the process may have during a wave, MiB (`docs/operate/limits.md`). */
const WAVE_MAX = 600;
/** Callers that do not read, and the memory that they may add, as a multiple of the bytes of their answers (`docs/operate/sizing.md`). */
const DEAF = { callers: 1_500, bytes: 900_000, json: 3, stream: 0.2, withinMs: 120_000, every: 20, calmMs: 5_000 };
const TRY_AGAIN_MS = 50;

const upstream = startFakeUpstream({ key: UPSTREAM_KEY, behaviour: { firstChunkAfterMs: WAVE.waitMs } });
afterAll(() => upstream.stop());

let box: Signalbox;
let other: string;
const start = async () => {
  const model = { best: { endpoints: ['first'] } };
  box = await startSignalbox({
    policy: testPolicy({ first: upstream.url }, model),
    env: UPSTREAM_ENV,
    isProcess: true,
  });
  other = await box.makeKey('--name', 'other', '--scope', 'chat');
};
const stop = () => box.stop();

const message = (bytes: number, stream: boolean): string => {
  const body = (content: string) =>
    JSON.stringify({ model: 'best', max_tokens: 50, stream, messages: [{ role: 'user', content }] });
  return body('word '.repeat((bytes - body('').length) / 5));
};

/** How a body is sent. */
interface Sending {
  readonly isChunked?: boolean;
  /** The bytes of each write, and the pause after it. */
  readonly piece?: number;
  readonly pauseMs?: number;
}

/** Sends a request piece by piece until it is answered. Returns its connection. */
async function send(
  head: readonly string[],
  body: string,
  { isChunked = false, piece = 65_536, pauseMs = 0 }: Sending = {},
): Promise<RawConnection> {
  const connection = await connect(box.url);
  const length = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`;
  const lines = [...head, `host: ${new URL(box.url).host}`, 'content-type: application/json', length];
  await connection.write(`${lines.join('\r\n')}\r\n\r\n`);
  for (let at = 0; at < body.length && connection.received === ''; at += piece) {
    const text = body.slice(at, at + piece);
    await connection.write(isChunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text);
    if (pauseMs > 0) await Bun.sleep(pauseMs);
  }
  if (isChunked && connection.received === '') await connection.write('0\r\n\r\n');
  return connection;
}

const statusIn = (text: string): string => text.slice(9, 12);

/** Sends chats with a separate key until `flood` is over. Returns how many were answered. */
async function chatsDuring(flood: Promise<unknown>): Promise<number> {
  let isOver = false;
  void flood.finally(() => {
    isOver = true;
  });
  let answered = 0;
  do {
    const body = { model: 'best', messages: [{ role: 'user', content: 'Hello' }] };
    const chat = await box.post('/v1/chat/completions', body, { headers: { authorization: `Bearer ${other}` } });
    expect(chat.status).toBe(200);
    answered++;
    await Bun.sleep(TRY_AGAIN_MS);
  } while (!isOver);
  return answered;
}

describe('floods of large bodies', () => {
  beforeAll(start, 60_000);
  afterAll(stop);

  const floods = [
    ['POST /console/sign-in/key', false, SMALL_ADDED_MAX],
    ['POST /admin/keys', true, SMALL_ADDED_MAX],
    ['POST /v1/feedback', true, LARGE_ADDED_MAX],
    ['POST /v1/chat/completions', true, LARGE_ADDED_MAX],
    ['POST /admin/policy/check', true, LARGE_ADDED_MAX],
    ['POST /admin/playground', true, LARGE_ADDED_MAX],
  ] as const;
  for (const [route, isKeyed, addedMax] of floods) {
    for (const isChunked of [false, true]) {
      test(`${route}, ${isChunked ? 'of unknown length' : 'of known length'}: at most ${addedMax} MiB, and a chat is answered`, async () => {
        const body = message(FLOOD.bytes, false);
        const head = [`${route} HTTP/1.1`, isKeyed ? `authorization: Bearer ${box.key}` : `origin: ${box.url}`];
        forgetPeak(box.pid);
        const before = residentMiB(box.pid);
        const flood = Promise.all(
          Array.from({ length: FLOOD.connections }, async () => {
            const connection = await send(head, body, { isChunked });
            const answer = await connection.response().catch(() => null);
            connection.close();
            return answer?.status ?? 0;
          }),
        );
        const chats = await chatsDuring(flood);
        const statuses = Object.fromEntries(
          [...Map.groupBy(await flood, (status) => status)].map(([status, of]) => [status, of.length]),
        );
        const added = peakMiB(box.pid) - before;
        const told = `${route}${isChunked ? ' in chunks' : ''}: +${added.toFixed(0)} MiB, ${chats} chats, ${JSON.stringify(statuses)}`;
        console.log(told);
        expect(added).toBeLessThanOrEqual(addedMax);
        proved(told);
      });
    }
  }
});

describe('many bodies of 150 kB at once', () => {
  beforeAll(start, 60_000);
  afterAll(stop);

  const ways = [
    ['in one go', {}],
    // As over a network, all bodies end at about the same moment.
    ['in packets', { piece: 1_500, pauseMs: 20 }],
  ] as const;
  for (const [way, sending] of ways)
    for (const stream of [false, true]) {
      test(`${stream ? 'streams' : 'JSON'}, sent ${way}: ${WAVE.connections} at once stay within ${WAVE_MAX} MiB`, async () => {
        const body = message(WAVE.bytes, stream);
        const head = ['POST /v1/chat/completions HTTP/1.1', `authorization: Bearer ${box.key}`, 'connection: close'];
        for (let wave = 0; wave < waves; wave++) {
          const since = performance.now();
          const answers = await Promise.all(
            Array.from({ length: WAVE.connections }, async () => {
              const connection = await send(head, body, sending);
              return await Promise.race([connection.closed, Bun.sleep(WAVE.withinMs).then(() => '')]);
            }),
          );
          const whole = answers.filter(
            (text) => statusIn(text) === '200' && (!stream || text.includes('data: [DONE]')),
          );
          const others = answers.filter((text) => statusIn(text) !== '200');
          const told = `${WAVE.connections} ${stream ? 'streams' : 'answers in JSON'} at once, sent ${way}: peak ${peakMiB(box.pid).toFixed(0)} MiB, ${whole.length} answered in ${((performance.now() - since) / 1_000).toFixed(1)} s`;
          console.log(told);
          for (const text of others) expect(text).toMatch(/^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: /i);
          expect(whole.length).toBeGreaterThanOrEqual(0.95 * WAVE.connections);
          expect(peakMiB(box.pid)).toBeLessThanOrEqual(WAVE_MAX);
          if (wave === waves - 1) proved(told);
        }
      });
    }
});

describe('callers that do not read their answers', () => {
  const deaf: DeafCaller[] = [];
  // An earlier answer leaves memory that is free but still resident.
  beforeEach(async () => {
    await start();
    upstream.behave({ text: Array.from({ length: DEAF.bytes / 1_000 }, () => 'word '.repeat(200)) });
  }, 60_000);
  afterEach(async () => {
    for (const caller of deaf.splice(0)) caller.hangUp();
    await stop();
  });

  for (const stream of [true, false]) {
    const most = stream ? DEAF.stream : DEAF.json;
    test(`${DEAF.callers} ${stream ? 'streams' : 'answers in JSON'} of ${DEAF.bytes} bytes add at most ${most} times their bytes`, async () => {
      const body = message(200, stream);
      const head = [
        'POST /v1/chat/completions HTTP/1.1',
        'host: localhost',
        `authorization: Bearer ${box.key}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
      ];
      const asked = upstream.requests.length;
      forgetPeak(box.pid);
      const before = residentMiB(box.pid);
      for (let caller = 0; caller < DEAF.callers; caller++) {
        deaf.push(startDeafCaller(Number(new URL(box.url).port), `${head.join('\r\n')}\r\n\r\n${body}`));
        // The provider plays in this process.
        if (caller % DEAF.every === 0) await Bun.sleep(1);
      }
      // The last answers arrive. While answers fill the memory, the server refuses some requests.
      await waitFor(async () => {
        const [calls, peak] = [upstream.requests.length, peakMiB(box.pid)];
        await Bun.sleep(DEAF.calmMs);
        return upstream.requests.length === calls && peakMiB(box.pid) === peak;
      }, DEAF.withinMs);
      const answers = upstream.requests.length - asked;
      expect(answers).toBeGreaterThanOrEqual(0.9 * DEAF.callers);
      const added = peakMiB(box.pid) - before;
      const told = `${answers} callers that do not read ${stream ? 'streams' : 'answers in JSON'} of ${DEAF.bytes / 1_000} kB: +${added.toFixed(0)} MiB`;
      console.log(told);
      expect(added).toBeLessThanOrEqual((most * DEAF.callers * DEAF.bytes) / 2 ** 20);
      proved(told);
    });
  }
});
