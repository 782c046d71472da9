import { afterEach, describe, expect, test } from 'bun:test';
import { adviceOf, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, writePolicy } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Retries, failover, circuit breakers, cool-downs and readings, as callers and operators of a real server see them. */
const first = useUpstream();
const second = useUpstream();
const boxes: Signalbox[] = [];

afterEach(async () => {
  for (const upstream of [first, second]) upstream.behave({});
  await Promise.all(boxes.splice(0).map((box) => box.stop()));
});

/** `best` is at the provider `first`; `plain`, which is less good, at `second`. */
const policyText = (more = ''): string =>
  testPolicy(
    { first: first.url, second: second.url },
    { best: { endpoints: ['first'], quality: 0.9 }, plain: { endpoints: ['second'], quality: 0.5 } },
    `gateway: { retries_max: 2 }\n${more}`,
  );

async function start(args: readonly string[] = []): Promise<Signalbox> {
  const box = await startSignalbox({ ...(args.length === 0 && { policy: policyText() }), env: UPSTREAM_ENV, args });
  boxes.push(box);
  return box;
}

const chat = (box: Signalbox, body: object = {}) =>
  box.post('/v1/chat/completions', {
    model: 'auto',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 20,
    ...body,
  });

/** Returns which models were tried and how each attempt ended: `best server`, `plain ok`. */
async function tried(response: Response): Promise<string[]> {
  const isStream = response.headers.get('content-type')?.includes('event-stream');
  const { platform } = isStream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
  return platform.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`);
}

async function metric(box: Signalbox, line: string): Promise<number | null> {
  const page = await (await fetch(`${box.url}/metrics`)).text();
  const found = page.split('\n').find((text) => text.startsWith(`${line} `));
  return found === undefined ? null : Number(found.slice(line.length + 1));
}

describe('a temporary fault', () => {
  for (const stream of [false, true]) {
    test(`the caller of ${stream ? 'a stream' : 'JSON'} does not notice a temporary fault: the same model is called again`, async () => {
      const box = await start();
      first.next({ status: 500 });
      const response = await chat(box, { stream });
      expect(response.status).toBe(200);
      expect(await tried(response)).toEqual(['best server', 'best ok']);
    });
  }

  test('a fault that happens twice in a row sends the request to another model, and the answer says so', async () => {
    const box = await start();
    first.next({ status: 503 }, { status: 500 });
    const { platform } = await answerOf(await chat(box));
    expect(platform.route_reason).toBe('auto:usual:fallback');
    expect(platform.routed_model).toBe('plain');
    expect(platform.attempts.map(({ failure }) => failure)).toEqual(['overloaded', 'server', null]);
    const decision = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(decision).toMatchObject({
      outcome: { attempts: [{ failure: 'overloaded' }, { failure: 'server' }, { model: 'plain', failure: null }] },
    });
  });

  test('a fault that the caller caused is not retried', async () => {
    const box = await start();
    const before = first.requests.length + second.requests.length;
    first.next({ status: 400, error: { message: 'Bad picture.' } });
    await expectError(await chat(box), 'upstream_rejected_request');
    expect(first.requests.length + second.requests.length).toBe(before + 1);
  });
});

describe('a provider that requests a pause', () => {
  test('during the pause other providers serve, and the provider is not called', async () => {
    const box = await start();
    first.next({ status: 429, headers: { 'retry-after': '2' } });
    // Measured before the pause begins, so that a slow machine only makes the pause look longer.
    const pausedAt = performance.now();
    expect(await tried(await chat(box))).toEqual(['best rate_limited', 'plain ok']);
    const asked = first.requests.length;
    expect(await tried(await chat(box))).toEqual(['plain ok']);
    expect(
      await metric(
        box,
        'signalbox_endpoint_state{provider="first",model="best",upstream="best-upstream",state="cooling"}',
      ),
    ).toBe(1);
    await waitFor(async () => (await tried(await chat(box)))[0] === 'best ok');
    expect(performance.now() - pausedAt).toBeGreaterThanOrEqual(1_990);
    expect(first.requests.length).toBe(asked + 1);
  });

  test('a short pause is waited for if there is no other endpoint', async () => {
    const box = await start();
    first.next({ status: 429, headers: { 'retry-after-ms': '300' } });
    const since = performance.now();
    expect(await tried(await chat(box, { model: 'best' }))).toEqual(['best rate_limited', 'best ok']);
    expect(performance.now() - since).toBeGreaterThanOrEqual(300);
  });
});

describe('an upstream that is down', () => {
  test('an upstream that is down is not chosen, is probed with one request, and comes back', async () => {
    const box = await start();
    first.behave({ status: 500 });
    for (let i = 0; i < 6; i++) await tried(await chat(box));
    await waitFor(() => box.lines.some((line) => line.includes('an endpoint is ejected')));
    // Ejections become longer, so that at some time a request arrives during one.
    await waitFor(async () => (await tried(await chat(box))).join() === 'plain ok');
    const advice = await adviceOf(await box.post('/v1/route', {}));
    expect(advice.recommended_model).toBe('plain');
    const explained = await (await box.get(`/v1/decisions/${advice.decision_id}`)).json();
    expect(explained).toMatchObject({ choice: 'plain', last_resorts: ['best'], replay: { matches: true } });
    first.behave({});
    await waitFor(async () => (await tried(await chat(box))).join() === 'best ok', 20_000);
    await waitFor(() => box.lines.some((line) => line.includes('an endpoint is healthy again')));
  });

  test('an upstream that is down is called anyway if there is no other endpoint', async () => {
    const box = await start();
    first.behave({ status: 500 });
    for (let i = 0; i < 8; i++) await expectError(await chat(box, { model: 'best' }), 'upstream_failed');
    first.behave({});
    expect(await tried(await chat(box, { model: 'best' }))).toEqual(['best ok']);
  });

  test('an upstream that is down gets at most 1.2 × the requests + 3', async () => {
    const box = await start();
    first.behave({ status: 500 });
    const before = first.requests.length;
    const calls = 60;
    const answers = await Promise.all(Array.from({ length: calls }, () => chat(box, { model: 'best' })));
    for (const answer of answers) await expectError(answer, 'upstream_failed');
    for (let i = 0; i < 20; i++) await expectError(await chat(box, { model: 'best' }), 'upstream_failed');
    const seen = first.requests.length - before;
    expect(seen).toBeGreaterThanOrEqual(calls + 20);
    expect(seen).toBeLessThanOrEqual(1.2 * (calls + 20) + 3);
  });

  test('an upstream that is down gets no more requests if it serves all the models', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const models = names.map((name, at) => [name, { endpoints: ['first'], quality: 0.9 - at / 10 }] as const);
    const policy = testPolicy({ first: first.url }, Object.fromEntries(models), 'gateway: { retries_max: 2 }\n');
    const box = await startSignalbox({ policy, env: UPSTREAM_ENV });
    boxes.push(box);
    first.behave({ status: 503 });
    const before = first.requests.length;
    const calls = 8;
    const answers = await Promise.all(Array.from({ length: calls }, () => chat(box)));
    for (const answer of answers) await expectError(answer, 'upstream_failed');
    expect(first.requests.length - before).toBeLessThanOrEqual(1.2 * calls + 3);
  });

  test('an upstream with another key or address counts as another upstream', async () => {
    const folder = writePolicy(policyText());
    const box = await start(['--policies', folder]);
    first.next({ status: 429, headers: { 'retry-after': '3600' } });
    expect(await tried(await chat(box))).toEqual(['best rate_limited', 'plain ok']);
    expect(await tried(await chat(box))).toEqual(['plain ok']);
    await Bun.write(`${folder}/policy.yaml`, policyText().replace(first.url, second.url));
    await (await box.post('/admin/policy/reload', {})).text();
    expect(await tried(await chat(box))).toEqual(['best ok']);
  });

  test('an upstream that is down is still not chosen after a reload', async () => {
    const folder = writePolicy(policyText());
    const box = await start(['--policies', folder]);
    first.next({ status: 429, headers: { 'retry-after': '60' } });
    await tried(await chat(box));
    await Bun.write(`${folder}/policy.yaml`, policyText('ledger: { contention_wait_ms: 1 }\n'));
    const reload = await box.post('/admin/policy/reload', {});
    expect(await reload.json()).toMatchObject({ result: 'applied' });
    expect(await tried(await chat(box))).toEqual(['plain ok']);
  });
});

test('measurements of answers become the expectations of decisions', async () => {
  const box = await start();
  const expected = async () => (await adviceOf(await box.post('/v1/route', { model: 'best' }))).estimated_latency_ms;
  const before = await expected();
  first.behave({ firstChunkAfterMs: 400, text: 'a b c d' });
  await Promise.all(Array.from({ length: 12 }, async () => tried(await chat(box, { model: 'best', stream: true }))));
  await waitFor(async () => (await expected()) > before + 50);
  const measured = await metric(
    box,
    'signalbox_endpoint_ttft_seconds{provider="first",model="best",upstream="best-upstream",percentile="50"}',
  );
  expect(measured).toBeWithin(0.3, 4);
});
