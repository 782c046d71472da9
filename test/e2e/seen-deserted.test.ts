import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Collector, startCollector } from '../support/otlp.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { readPage } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** What is seen of a caller who hangs up before there is an answer: no error, for nobody was told one and nobody is at fault. */

let upstream: FakeUpstream;
let collector: Collector;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  collector = startCollector();
  box = await startSignalbox({
    // Of the large requests below one fits: a second one has to wait.
    policy: testPolicy(
      { first: upstream.url },
      { luna: { endpoints: ['first'] } },
      'budgets: [{ name: whole, limit_credits: 1, window: day, on_exhausted: reject }]\nledger: { contention_wait_ms: 10000 }',
    ),
    env: { ...UPSTREAM_ENV, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' },
  });
});
afterAll(async () => {
  await box.stop();
  await Promise.all([upstream.stop(), collector.stop()]);
});
beforeEach(() => upstream.behave({ hang: 'headers' }));

const chat = (stream: boolean, signal: AbortSignal, max_tokens = 10) =>
  box
    .post(
      '/v1/chat/completions',
      { model: 'luna', stream, max_tokens, messages: [{ role: 'user', content: 'Say hello.' }] },
      { signal },
    )
    .catch(() => null);

/** Lines of chats that are over. */
const told = () => box.lines.flatMap((line) => (line.includes('"message":"chat"') ? [JSON.parse(line)] : []));

/** Samples of a family, as `value label…`. */
async function samplesOf(family: string): Promise<string[]> {
  const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
  const samples = page.get(family)?.samples ?? [];
  return samples.map(({ labels, value }) => [value, ...Object.values(labels)].join(' ').trimEnd());
}

describe('A caller that disconnects before the answer', () => {
  for (const stream of [false, true]) {
    test(`of a ${stream ? 'stream' : 'JSON body'} is reported as no error`, async () => {
      const [asked, before, spans] = [upstream.requests.length, told().length, collector.spans.length];
      const leaving = new AbortController();
      const answer = chat(stream, leaving.signal);
      await waitFor(() => upstream.requests.length > asked);
      leaving.abort();
      await answer;
      const line = await waitFor(() => told()[before]);
      expect(line).toMatchObject({ level: 'info', outcome: 'abandoned', attempts: 1 });
      expect(line).not.toHaveProperty('status');
      expect(line).not.toHaveProperty('error');
      const span = await waitFor(() => collector.spans.slice(spans).find(({ kind }) => kind === 'server'));
      expect(span.error).toBeNull();
      expect(span.attributes).not.toContainAnyKeys(['error.type', 'http.response.status_code', 'signalbox.error_code']);
    });
  }

  test('while the request waits for money is reported in the same way', async () => {
    const [asked, before] = [upstream.requests.length, told().length];
    const [holding, leaving] = [new AbortController(), new AbortController()];
    const held = chat(false, holding.signal, 150);
    await waitFor(() => upstream.requests.length > asked);
    const answer = chat(false, leaving.signal, 150);
    await waitFor(async () => (await samplesOf('signalbox_contention_waiting'))[0] === '1');
    leaving.abort();
    await answer;
    const line = await waitFor(() => told()[before]);
    expect(line).toMatchObject({ level: 'info', selector: 'pinned', outcome: 'abandoned' });
    expect(line).not.toHaveProperty('status');
    expect(line).not.toHaveProperty('error');
    holding.abort();
    await held;
    await waitFor(() => told()[before + 1]);
  });

  test('is counted as disconnected, not as an error', async () => {
    const errors = await samplesOf('signalbox_http_errors_total');
    expect(errors.filter((one) => !one.startsWith('0 '))).toEqual([]);
    expect(await samplesOf('signalbox_http_requests_total')).toContain('4 POST /v1/chat/completions 0');
    expect(await samplesOf('signalbox_chats_total')).toEqual(['4 chat pinned    abandoned']);
  });
});
