import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Collector, startCollector } from '../support/otlp.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Page, readPage, total } from '../support/prometheus.ts';
import { chatHead, connect } from '../support/raw-http.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/**
 * A caller who disconnects receives no answer, so nothing about the request may look like an error of the gateway. Operators get alerts
 * about such errors.
 */
const MORE = `gateway: { retries_max: 0 }
budgets: [{ name: whole, limit_credits: 0.6, window: total }]
ledger: { contention_wait_ms: 10000 }
`;

let upstream: FakeUpstream;
let collector: Collector;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  collector = startCollector();
  const policy = testPolicy({ first: upstream.url }, { luna: { endpoints: ['first'] } }, MORE);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
  box = await startSignalbox({ policy, env: { ...UPSTREAM_ENV, ...traced } });
});
afterAll(async () => {
  await box.stop();
  await Promise.all([upstream.stop(), collector.stop()]);
});

type Line = Readonly<Record<string, unknown>>;

const linesSoFar = (): Line[] =>
  box.lines.map((text) => JSON.parse(text) as Line).filter(({ message }) => message === 'chat');
const page = async (): Promise<Page> => readPage(await (await fetch(`${box.url}/metrics`)).text());

/** Returns the additional log lines once there are `count` of them. */
async function linesAfter(before: number, count: number): Promise<Line[]> {
  await waitFor(() => linesSoFar().length >= before + count);
  const lines = linesSoFar().slice(before);
  expect(lines).toHaveLength(count);
  return lines;
}

/** Sends a chat request that needs 0.442 Credits. The returned function disconnects. */
function ask(stream = false): () => Promise<unknown> {
  const leaving = new AbortController();
  const body = { model: 'luna', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100, stream };
  const asked = box.post('/v1/chat/completions', body, { signal: leaving.signal }).catch(() => null);
  return () => {
    leaving.abort();
    return asked;
  };
}

const TOLD = ['status', 'error'];

/** Expects what holds for each of these lines: no error, and no status, because the caller has received none. */
function expectUntold(line: Line): void {
  expect(line.level).toBe('info');
  expect(Object.keys(line).filter((field) => TOLD.includes(field))).toEqual([]);
}

describe('a caller that disconnects before there is an answer', () => {
  test('a caller that disconnects while sending the body causes no error', async () => {
    const before = linesSoFar().length;
    const connection = await connect(box.url);
    await connection.write(`${chatHead(box.key, 'content-length: 500')}{"model":`);
    await waitFor(async () => total(await page(), 'signalbox_requests_open') === 1);
    connection.close();
    const [line] = await linesAfter(before, 1);
    expectUntold(line!);
  });

  test.each([false, true])(
    'a disconnect while an upstream works, or while the money is held, counts as no failure, stream: %p',
    async (stream) => {
      const [before, sent] = [linesSoFar().length, upstream.requests.length];
      upstream.next({ hang: 'headers' });
      const holder = ask(stream);
      await waitFor(() => upstream.requests.length > sent);
      const waiter = ask(stream);
      await waitFor(async () => total(await page(), 'signalbox_contention_waiting') === 1);
      await waiter();
      const [waited] = await linesAfter(before, 1);
      await holder();
      const [, held] = await linesAfter(before, 2);
      expectUntold(waited!);
      expectUntold(held!);
      // If no money was set aside for a request, there is no record of its decision, so its line must not name one.
      expect(waited).not.toHaveProperty('decision');
      expect((await box.get(`/v1/decisions/${held!.decision}`)).status).toBe(200);
      expect(held).toMatchObject({ outcome: 'abandoned', attempts: 1 });
    },
  );

  test('a disconnect is counted only as abandoned', async () => {
    const told = await page();
    expect(total(told, 'signalbox_http_requests_total', { route: '/v1/chat/completions', status: '0' })).toBe(5);
    expect(total(told, 'signalbox_http_requests_total', { route: '/v1/chat/completions' })).toBe(5);
    expect(total(told, 'signalbox_chats_total', { outcome: 'abandoned' })).toBe(5);
    expect(total(told, 'signalbox_chats_total')).toBe(5);
    expect(total(told, 'signalbox_http_errors_total') ?? 0).toBe(0);
  });

  test('a disconnect produces no span with an error', async () => {
    const roots = await waitFor(() => {
      const spans = collector.spans.filter(({ name }) => name === 'POST /v1/chat/completions');
      return spans.length === 5 ? spans : null;
    });
    for (const { error, attributes } of roots) {
      expect(error).toBeNull();
      expect(attributes).not.toContainAnyKeys(['error.type', 'http.response.status_code', 'signalbox.error_code']);
    }
  });
});
