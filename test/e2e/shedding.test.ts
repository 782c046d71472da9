import { describe, expect, test } from 'bun:test';
import { effort } from '../deep/effort.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { inTime } from '../support/in-time.ts';
import { testPolicy } from '../support/policies.ts';
import { chatHead, connect } from '../support/raw-http.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** A server with places for few requests at once. */
const PLACES = 3;
const LINE = 2;
/** Longer than a busy machine takes to fill the queue and to check it, ms. */
const QUEUE_MS = 2_000;
const STREAMS = 2;
/** The policy promises a refusal within 10 ms; the test allows four times as much, ms. */
const REFUSED_WITHIN_MS = 40;

const upstream = useUpstream();

const box = useSignalbox(() => {
  const more = `
gateway: { concurrency_max: ${PLACES}, queue_max: ${LINE}, queue_ms: ${QUEUE_MS}, keyless_per_minute: 1000000, retries_max: 0 }
rate_limits: [{ name: streams, each: key, concurrent_streams: ${STREAMS} }]
`;
  const models = {
    best: { endpoints: ['first'] },
    // A request with an Idempotency-Key runs to its end although its caller has disconnected.
    hasty: { endpoints: ['first'], more: '    deadlines: { first_token_ms: 60, idle_ms: 60, total_ms: 120 }\n' },
  };
  const policy = testPolicy({ first: upstream.url }, models, more);
  return { policy };
});

const hello = [{ role: 'user', content: 'Say hello.' }];
const chat = (body: object = {}, init: RequestInit = {}) =>
  box.post('/v1/chat/completions', { model: 'best', messages: hello, ...body }, init);

/** Returns how many requests the server works on, and how many wait. */
async function atTheGate(): Promise<[open: number, waiting: number]> {
  const page = await (await fetch(`${box.url}/metrics`)).text();
  const of = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(page)?.[1]);
  return [of('signalbox_requests_open'), of('signalbox_requests_waiting')];
}

const until = (open: number, waiting: number) =>
  waitFor(async () => {
    const [isOpen, isWaiting] = await atTheGate();
    return isOpen === open && isWaiting === waiting;
  });

/** Takes all places with requests that the upstream does not answer. */
async function hold(count = PLACES) {
  const before = upstream.requests.length;
  const leaving = new AbortController();
  upstream.next(...Array<Behaviour>(count).fill({ hang: 'headers' }));
  const answers = Array.from({ length: count }, () => chat({}, { signal: leaving.signal }).catch(() => null));
  await waitFor(() => upstream.requests.length === before + count);
  return { answers, leave: () => leaving.abort() };
}

describe('more requests than there are places', () => {
  test('if there are more requests than places, some wait, and the next is refused at once without reading its body', async () => {
    const held = await hold();
    const lined = Array.from({ length: LINE }, () => chat());
    await until(PLACES, LINE);
    const response = await inTime(REFUSED_WITHIN_MS, () => chat());
    await expectError(response, 'overloaded');
    expect(response.headers.get('retry-after')).toMatch(/^[12]$/);
    expect(Number(response.headers.get('retry-after-ms'))).toBeWithin(1_000, 2_001);
    const connection = await connect(box.url);
    await connection.write(chatHead(box.key, 'content-length: 1000'));
    await expectError(await connection.response(), 'overloaded');
    connection.close();
    // A recommendation takes a place, too; requests that only read do not.
    await expectError(await box.post('/v1/route', {}), 'overloaded');
    expect((await box.get('/v1/models')).status).toBe(200);
    held.leave();
    const answers = await Promise.all(lined);
    expect(await Promise.all(answers.map(async (answer) => (await answerOf(answer)).model))).toEqual(['best', 'best']);
    await until(0, 0);
  });

  test('a request that waited in vain gets its error in time, and no work was done for it', async () => {
    const held = await hold();
    const before = upstream.requests.length;
    const since = performance.now();
    const response = await chat();
    const waited = performance.now() - since;
    await expectError(response, 'overloaded');
    expect(waited).toBeGreaterThanOrEqual(QUEUE_MS - 5);
    expect(waited).toBeLessThan(QUEUE_MS + 5_000);
    expect(upstream.requests.length).toBe(before);
    held.leave();
    await until(0, 0);
  });

  test('a stream holds its place until it ends', async () => {
    const leaving = new AbortController();
    upstream.next({ text: ['a ', 'b '], hang: 2 });
    const response = await chat({ stream: true }, { signal: leaving.signal });
    expect(response.status).toBe(200);
    await until(1, 0);
    leaving.abort();
    await until(0, 0);
    await (await chat({ stream: true })).text();
    await until(0, 0);
  });

  test('an invalid request releases its place', async () => {
    for (const body of [{ temperature: 9 }, { model: 'none' }, { budget_limit: 0.0001 }]) {
      for (let i = 0; i <= PLACES + LINE; i++) expect((await chat(body)).status).toBeWithin(400, 405);
    }
    const broken = box.post('/v1/chat/completions', null, { body: '{' });
    await expectError(await broken, 'invalid_json');
    const connection = await connect(box.url);
    await connection.write(`${chatHead(box.key, 'content-length: 1000')}{"model"`);
    await until(1, 0);
    connection.close();
    await until(0, 0);
  });
});

const { runs, random, proved } = effort('aborts', 100, 5_000);
const OUTCOMES = ['200', '400', '429', '503', 'gone'];

test('whatever callers and upstreams do, every request releases its place and its stream', async () => {
  const anyOf = <T>(...list: T[]): T => list[Math.floor(random() * list.length)]!;
  upstream.behave(() =>
    anyOf<Behaviour>(
      {},
      { hang: 'headers' },
      { text: ['a ', 'b ', 'c '], hang: 2 },
      { betweenChunksMs: 2 },
      { headersAfterMs: 5 },
      { status: 500 },
      { text: ['a ', 'b '], cutAfter: 1 },
    ),
  );
  const seen = new Map<string, number>();
  let asked = 0;
  const one = async () => {
    const leaving = new AbortController();
    // Some callers do not disconnect, because on a busy machine no answer comes so soon.
    const timer = setTimeout(() => leaving.abort(), random() < 0.9 ? random() * 25 : 60_000);
    const body = anyOf<object>({}, { stream: true }, { stream: true }, { temperature: 9 });
    const kept = anyOf<Record<string, string>>(
      {},
      {},
      {},
      {},
      {},
      { 'idempotency-key': `k-${Math.floor(random() * 50)}` },
    );
    const outcome = await chat({ ...body, model: 'hasty' }, { signal: leaving.signal, headers: kept }).then(
      async (response) => {
        await response.text().catch(() => {});
        return String(response.status);
      },
      () => 'gone',
    );
    clearTimeout(timer);
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  };
  const lane = async () => {
    // Which requests run at the same time is random, so more are tried until every outcome has occurred.
    while ((seen.get('gone') ?? 0) < runs || (asked < 50 * runs && !OUTCOMES.every((outcome) => seen.has(outcome)))) {
      asked++;
      await one();
      await Bun.sleep(random() * 10);
    }
  };
  await Promise.all(Array.from({ length: PLACES + LINE + 2 }, lane));
  upstream.behave({});
  for (const outcome of OUTCOMES) expect([outcome, seen.has(outcome)]).toEqual([outcome, true]);
  proved(
    `places and streams after requests whose callers leave after 0 to 25 ms: ${[...seen].map(([what, n]) => `${n} ${what}`).join(', ')}`,
  );

  await until(0, 0);
  // Exactly the expected number of streams is free again.
  const leaving = new AbortController();
  upstream.next({ text: ['a ', 'b '], hang: 2 }, { text: ['a ', 'b '], hang: 2 });
  for (let i = 0; i < STREAMS; i++) {
    expect((await chat({ stream: true }, { signal: leaving.signal })).status).toBe(200);
  }
  await expectError(await chat({ stream: true }), 'rate_limit_exceeded');
  leaving.abort();
  await until(0, 0);
});
