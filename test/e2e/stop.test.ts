import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { closedBooks } from '../gateway/money/books.ts';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

const hello = [{ role: 'user', content: 'Say hello.' }];

const upstream = useUpstream();
let policy: string;
const folders: string[] = [];
const running: Signalbox[] = [];

beforeAll(() => {
  policy = testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } });
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((box) => box.stop()));
});

afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Returns a data folder that stays between starts. */
function newPath(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder;
}

async function start(options: Parameters<typeof startSignalbox>[0]): Promise<Signalbox> {
  const box = await startSignalbox(options);
  running.push(box);
  return box;
}

describe('SIGTERM', () => {
  const draining = (box: Signalbox) => waitFor(() => box.lines.some((line) => line.includes('"draining"')));

  test('SIGTERM cuts off a request that gets money only when other requests are cut off, and leaves no hold open', async () => {
    const more =
      'budgets: [{ name: one, limit_credits: 0.8, window: total, on_exhausted: reject }]\nledger: { contention_wait_ms: 10000 }\n';
    const scarce = testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } }, more);
    const box = await start({ policy: scarce, env: UPSTREAM_ENV, data: newPath(), args: ['--drain-ms', '0'] });
    const before = upstream.requests.length;
    // Requests after the first one would be answered.
    upstream.next({ hang: 'headers' });
    const ask = () => box.post('/v1/chat/completions', { model: 'best', messages: hello, max_tokens: 100 });
    const holder = ask();
    await waitFor(() => upstream.requests.length > before);
    const waiter = ask();
    const page = async () => (await fetch(`${box.url}/metrics`)).text();
    await waitFor(async () => (await page()).includes('signalbox_contention_waiting 1\n'));
    box.signal('SIGTERM');
    for (const answer of await Promise.all([holder, waiter])) expect(answer.status).toBe(503);
    expect(await box.exited).toBe(0);
    const { reservations, faults } = await closedBooks(box.data);
    expect([reservations.size, faults]).toEqual([2, []]);
    expect(box.lines.filter((line) => line.includes('"outcome":"abandoned"'))).toHaveLength(2);
  });

  test('SIGTERM lets running requests finish, refuses new connections, and ends the server with 0', async () => {
    const box = await start({ policy, env: UPSTREAM_ENV });
    const before = upstream.requests.length;
    upstream.next({ text: 'JSON to its end', headersAfterMs: 400 });
    const json = box.post('/v1/chat/completions', { model: 'auto', messages: hello });
    await waitFor(() => upstream.requests.length > before);
    upstream.next({ text: ['SSE ', 'to ', 'its ', 'end'], betweenChunksMs: 100 });
    const sse = await box.post('/v1/chat/completions', { model: 'auto', messages: hello, stream: true });
    box.signal('SIGTERM');
    await draining(box);
    expect(await fetch(`${box.url}/healthz`).catch((error: { code?: string }) => error.code)).toBe('ECONNREFUSED');
    const { chunks, done } = await eventsOf(sse);
    expect(done).toBe(true);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('SSE to its end');
    expect((await answerOf(await json)).choices[0]?.message.content).toBe('JSON to its end');
    expect(await box.exited).toBe(0);
  });

  test('SIGTERM cuts off requests that take longer than the drain time, with an error, and settles them', async () => {
    const data = newPath();
    const box = await start({ policy, env: UPSTREAM_ENV, data, args: ['--drain-ms', '100'] });
    const before = upstream.requests.length;
    upstream.next({ text: ['a ', 'b '], hang: 2 }, { hang: 'headers' });
    const sse = await box.post('/v1/chat/completions', { model: 'auto', messages: hello, stream: true });
    const json = box.post('/v1/chat/completions', { model: 'auto', messages: hello });
    await waitFor(() => upstream.requests.length === before + 2);
    const id = sse.headers.get('x-signalbox-decision-id');
    box.signal('SIGTERM');
    const { chunks, done } = await eventsOf(sse);
    expect(done).toBe(false);
    const last = chunks.at(-1)!;
    expect(last).toMatchObject({ error: { code: 'overloaded' }, platform: { decision_id: id, estimated: true } });
    expect(last.platform.credits_consumed).toBeGreaterThan(0);
    const cut = await json;
    expect(cut.status).toBe(503);
    // The request is charged, so the client must not retry automatically.
    expect(cut.headers.get('x-should-retry')).toBe('false');
    expect(await box.exited).toBe(0);

    const again = await start({ policy, env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: box.key }, data });
    expect(again.lines.join('\n')).not.toContain('earlier run');
    const { outcome } = (await (await again.get(`/v1/decisions/${id}`)).json()) as {
      outcome: { status: string; error: string; credits_consumed: number };
    };
    expect(outcome).toMatchObject({ status: 'abandoned', error: 'overloaded' });
    expect(outcome.credits_consumed).toBe(last.platform.credits_consumed);
  });
});

test('after kill -9 with an open stream, the next start charges the orphaned hold and logs it', async () => {
  const data = newPath();
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
  const box = await start({ isProcess: true, policy, env, data });
  upstream.next({ text: ['a ', 'b '], hang: 2 });
  const sse = box.post('/v1/chat/completions', { model: 'auto', messages: hello, stream: true, budget_limit: 2 });
  await (await sse).body!.getReader().read();
  box.signal('SIGKILL');
  await box.exited;

  const again = await start({ policy, env, data });
  const line = again.lines.find((text) => text.includes('an earlier run left open'));
  const told = JSON.parse(line!) as { count: number; credits_charged: number; decisions: string };
  expect(told).toMatchObject({ count: 1, credits_released: 0, decisions: expect.stringMatching(/^dec_\w{11}$/) });
  expect(told.credits_charged).toBeGreaterThan(0);
  expect(told.credits_charged).toBeLessThanOrEqual(2);

  await again.stop();
  const third = await start({ policy, env, data });
  expect(third.lines.join('\n')).not.toContain('earlier run');
});
