import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Collector, startCollector } from '../support/otlp.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Page, readPage, total } from '../support/prometheus.ts';
import { chatHead, connect } from '../support/raw-http.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Whoever leaves is told nothing, so nothing of it may look like an error of the gateway: operators are woken for those. */
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

/** The lines that there are more, once there are so many. */
async function linesAfter(before: number, count: number): Promise<Line[]> {
  await waitFor(() => linesSoFar().length >= before + count);
  const lines = linesSoFar().slice(before);
  expect(lines).toHaveLength(count);
  return lines;
}

/** Sends a chat request that asks for 0.442 Credits; what is returned leaves. */
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

/** What is told of each and all of them: no error, and no status, which nobody has seen. */
function expectUntold(line: Line): void {
  expect(line.level).toBe('info');
  expect(Object.keys(line).filter((field) => TOLD.includes(field))).toEqual([]);
}

describe('A caller that disconnects before there is an answer', () => {
  test('while the body comes has sent nothing wrong', async () => {
    const before = linesSoFar().length;
    const connection = await connect(box.url);
    await connection.write(`${chatHead(box.key, 'content-length: 500')}{"model":`);
    await waitFor(async () => total(await page(), 'signalbox_requests_open') === 1);
    connection.close();
    const [line] = await linesAfter(before, 1);
    expectUntold(line!);
  });

  test.each([false, true])(
    'while an upstream works, or while others hold the money, is no failure of theirs, stream: %p',
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
      // What nothing was set aside for leaves no record, so that its line must name none.
      expect(waited).not.toHaveProperty('decision');
      expect((await box.get(`/v1/decisions/${held!.decision}`)).status).toBe(200);
      expect(held).toMatchObject({ outcome: 'abandoned', attempts: 1 });
    },
  );

  test('is counted as that alone', async () => {
    const told = await page();
    expect(total(told, 'signalbox_http_requests_total', { route: '/v1/chat/completions', status: '0' })).toBe(5);
    expect(total(told, 'signalbox_http_requests_total', { route: '/v1/chat/completions' })).toBe(5);
    expect(total(told, 'signalbox_chats_total', { outcome: 'abandoned' })).toBe(5);
    expect(total(told, 'signalbox_chats_total')).toBe(5);
    expect(total(told, 'signalbox_http_errors_total') ?? 0).toBe(0);
  });

  test('leaves no span with an error', async () => {
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
