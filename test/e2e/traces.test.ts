import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { adviceOf, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { type ArrivedSpan, type Collector, startCollector } from '../support/otlp.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Traces of a real server, as a collector receives them. */
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const STEPS = ['admit', 'pin', 'profile', 'shortlist', 'decide', 'reserve', 'dispatch', 'settle'];

const first = useUpstream();
const second = useUpstream();
let collector: Collector;
let box: Signalbox;
const boxes: Signalbox[] = [];

beforeEach(() => {
  collector = startCollector();
});
afterEach(async () => {
  for (const upstream of [first, second]) {
    upstream.behave({});
    upstream.requests.length = 0;
  }
  await Promise.all(boxes.splice(0).map((one) => one.stop()));
  if (collector !== common?.collector) await collector.stop();
});
afterAll(() => Promise.all([common?.box.stop(), common?.collector.stop()]));

/** `best` is at the provider `first`; `plain`, which is less good, at `second`. */
const policy = (): string =>
  testPolicy(
    { first: first.url, second: second.url },
    { best: { endpoints: ['first'], quality: 0.9 }, plain: { endpoints: ['second'], quality: 0.5 } },
  );

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  box = await boxFor(collector, env);
  boxes.push(box);
}

const boxFor = ({ url }: Collector, env: Readonly<Record<string, string>> = {}): Promise<Signalbox> =>
  startSignalbox({
    // OpenTelemetry reads this variable from the environment of the process.
    isProcess: 'OTEL_EXPORTER_OTLP_HEADERS' in env,
    policy: policy(),
    env: { ...UPSTREAM_ENV, OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '20', ...env },
  });

/** All tests whose upstreams work share this server, so that it records no failures of upstreams. */
let common: { readonly box: Signalbox; readonly collector: Collector } | null = null;
async function join(): Promise<void> {
  if (common === null) {
    const own = startCollector();
    common = { box: await boxFor(own), collector: own };
  }
  await collector.stop();
  ({ box, collector } = common);
  collector.spans.length = 0;
  collector.requests.length = 0;
}

const chat = (body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  box.post(
    '/v1/chat/completions',
    { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20, ...body },
    { headers },
  );

/** Returns the spans of the one request that was traced: first the request's own span, then the others by their beginning. */
async function arrived(): Promise<readonly [root: ArrivedSpan, ...rest: ArrivedSpan[]]> {
  const root = await waitFor(() => collector.spans.find(({ kind }) => kind === 'server'));
  const rest = collector.spans.filter((span) => span !== root);
  expect(rest.every(({ traceId }) => traceId === root.traceId)).toBe(true);
  return [root, ...rest.toSorted((a, b) => Number(a.start - b.start))];
}

const ofKind = (spans: readonly ArrivedSpan[], kind: string) => spans.filter((span) => span.kind === kind);
const names = (spans: readonly ArrivedSpan[]) => spans.map(({ name }) => name);

/** Expects that steps are within the request and calls within the dispatch, in time and in the tree. */
function expectTree(spans: readonly ArrivedSpan[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const [root] = spans;
  expect(byId.size).toBe(spans.length);
  for (const span of spans) {
    expect(span.end).toBeGreaterThanOrEqual(span.start);
    if (span === root) continue;
    const parent = byId.get(span.parentId);
    expect(parent?.name).toBe(span.kind === 'client' ? 'dispatch' : root!.name);
    expect(span.start).toBeGreaterThanOrEqual(parent!.start);
    expect(span.end).toBeLessThanOrEqual(parent!.end);
  }
}

describe('the trace of a chat', () => {
  for (const stream of [false, true]) {
    test(`the trace of a chat as ${stream ? 'a stream' : 'JSON'} has a span with its eight steps and its call`, async () => {
      await join();
      const response = await chat({ stream });
      const { platform, usage } = stream
        ? (await eventsOf(response)).chunks.findLast((chunk) => chunk.platform !== undefined)!
        : await answerOf(response);
      const spans = await arrived();
      const [root] = spans;
      expectTree(spans);
      expect(names(ofKind(spans, 'internal'))).toEqual(STEPS);
      expect(root).toMatchObject({ name: 'POST /v1/chat/completions', parentId: '', error: null });
      expect(root.attributes).toMatchObject({
        'http.request.method': 'POST',
        'http.route': '/v1/chat/completions',
        'http.response.status_code': 200,
        'signalbox.request_id': response.headers.get('x-request-id')!,
        'signalbox.decision_id': platform.decision_id,
        'signalbox.policy_revision': platform.policy_revision,
        'signalbox.selector': 'auto',
        'signalbox.model': 'best',
        'signalbox.outcome': 'completed',
        'signalbox.credits': platform.credits_consumed,
      });
      const [call] = ofKind(spans, 'client');
      expect(call).toMatchObject({ name: 'chat best-upstream', error: null });
      expect(call!.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'best-upstream',
        'gen_ai.request.max_tokens': 20,
        'gen_ai.response.finish_reasons': ['stop'],
        'server.address': '127.0.0.1',
        'server.port': first.port,
      });
      if (!stream) {
        expect(call!.attributes['gen_ai.usage.input_tokens']).toBe(usage.prompt_tokens);
        expect(call!.attributes['gen_ai.usage.output_tokens']).toBe(usage.completion_tokens);
      }
      expect('gen_ai.response.time_to_first_chunk' in call!.attributes).toBe(stream);
    });
  }

  test('the spans of a streamed chat and of its dispatch last until the stream ends', async () => {
    await join();
    first.next({ text: ['a', 'b', 'c'], betweenChunksMs: 60 });
    await (await chat({ stream: true })).text();
    const spans = await arrived();
    expectTree(spans);
    const dispatch = spans.find(({ name }) => name === 'dispatch')!;
    expect(Number(dispatch.end - dispatch.start) / 1e6).toBeGreaterThan(100);
  });

  test('a chat that fails over has a span for each attempt, and the failed one has its error', async () => {
    await start();
    first.behave({ status: 500 });
    await chat();
    const spans = await arrived();
    expectTree(spans);
    const calls = ofKind(spans, 'client');
    expect(calls.map(({ name, error }) => [name, error])).toEqual([
      ['chat best-upstream', 'server'],
      ['chat plain-upstream', null],
    ]);
    expect(calls[0]!.attributes['error.type']).toBe('server');
    expect(calls[0]!.end).toBeLessThanOrEqual(calls[1]!.start);
    expect(spans[0].attributes).toMatchObject({ 'signalbox.model': 'plain', 'signalbox.attempts': 2 });
    expect(spans[0].error).toBeNull();
  });

  test('the span of a chat without an answer is an error', async () => {
    await start();
    for (const upstream of [first, second]) upstream.behave({ status: 500 });
    expect((await chat()).status).toBeGreaterThanOrEqual(500);
    const spans = await arrived();
    expectTree(spans);
    expect(spans[0].error).not.toBeNull();
    expect(spans[0].attributes['error.type']).toBe(spans[0].error);
    expect(ofKind(spans, 'client').every(({ error }) => error === 'server')).toBe(true);
  });

  test('a chat whose caller disconnects still has its spans', async () => {
    await start();
    first.behave({ text: ['a', 'b'], hang: 2 });
    const leaving = new AbortController();
    const response = await box.post(
      '/v1/chat/completions',
      { model: 'auto', stream: true, messages: [{ role: 'user', content: 'Say hello.' }] },
      { signal: leaving.signal },
    );
    await response.body!.getReader().read();
    leaving.abort();
    const spans = await arrived();
    expectTree(spans);
    expect(spans[0].attributes['signalbox.outcome']).toBe('abandoned');
    expect(names(ofKind(spans, 'client'))).toEqual(['chat best-upstream']);
  });
});

describe('the trace of a request that is not carried out', () => {
  test('the trace of a refused request has the steps until its refusal', async () => {
    await join();
    expect((await chat({ max_tokens: -1 })).status).toBe(400);
    const spans = await arrived();
    expectTree(spans);
    expect(names(spans.slice(1))).toEqual(['admit']);
    // A mistake of the caller is not an error of the server.
    expect(spans[0]).toMatchObject({ error: null, attributes: { 'http.response.status_code': 400 } });
  });

  test('the trace of a recommendation ends with the decision', async () => {
    await join();
    const response = await box.post('/v1/route', { messages: [{ role: 'user', content: 'Say hello.' }] });
    const { decision_id } = await adviceOf(response);
    const spans = await arrived();
    expectTree(spans);
    expect(spans[0]).toMatchObject({ name: 'POST /v1/route', attributes: { 'signalbox.decision_id': decision_id } });
    expect(names(spans.slice(1))).toEqual(STEPS.slice(0, 5));
  });
});

describe('the trace of a caller', () => {
  test('a caller’s trace continues in the server, and at each provider under the span of its call', async () => {
    await start();
    first.behave({ status: 500 });
    await chat({}, { traceparent: PARENT, tracestate: 'vendor=value' });
    const spans = await arrived();
    expect(spans[0]).toMatchObject({ traceId: TRACE, parentId: 'b7ad6b7169203331', state: 'vendor=value' });
    const sent = [first, second].flatMap(({ requests }) => requests.map(({ headers }) => headers));
    expect(sent.map((headers) => headers.get('tracestate'))).toEqual(['vendor=value', 'vendor=value']);
    expect(sent.map((headers) => headers.get('traceparent'))).toEqual(
      ofKind(spans, 'client').map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
    );
  });

  test('a caller’s unsampled trace is not sampled here, and is passed to the provider as unsampled', async () => {
    await join();
    await chat({}, { traceparent: PARENT.replace(/01$/, '00') });
    await chat();
    const [root] = await arrived();
    expect(root.traceId).not.toBe(TRACE);
    expect(first.requests[0]!.headers.get('traceparent')).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  test('a caller’s trace is not continued if nothing is traced', async () => {
    await start({ OTEL_SDK_DISABLED: 'true' });
    await chat({}, { traceparent: PARENT, tracestate: 'vendor=value' });
    const { headers } = first.requests[0]!;
    expect([headers.get('traceparent'), headers.get('tracestate')]).toEqual([null, null]);
  });
});

describe('the sampling of traces', () => {
  test('an unknown sampler prevents the start, with one sentence', async () => {
    const env = { ...UPSTREAM_ENV, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER: 'sometimes' };
    const { code, err, out } = await runHere(['serve', '--port', '0', '--data', `${box.data}-none`], env);
    expect(code).not.toBe(0);
    expect(`${err}${out}`).toContain('OTEL_TRACES_SAMPLER is “sometimes”');
    expect(`${err}${out}`).not.toContain('    at ');
  });
});

describe('a collector of traces', () => {
  test('the collector gets the headers from a file, and changed headers with the next batch', async () => {
    const folder = temporaryFolder();
    const file = `${folder}/headers`;
    writeFileSync(file, 'x-token=collector-secret-one,x-plain=%20a\n');
    await start({ OTEL_EXPORTER_OTLP_HEADERS_FILE: file });
    await chat();
    await waitFor(() => collector.requests.some(({ headers }) => headers.get('x-token') === 'collector-secret-one'));
    writeFileSync(file, 'x-token=collector-secret-two\n');
    await fetch(`${box.url}/admin/policy/reload`, { method: 'POST', headers: { authorization: `Bearer ${box.key}` } });
    await chat();
    await waitFor(() => collector.requests.some(({ headers }) => headers.get('x-token') === 'collector-secret-two'));
    expect(box.lines.join('\n')).not.toContain('collector-secret');
    rmSync(folder, { recursive: true });
  });

  test('the collector gets neither texts of requests nor secrets', async () => {
    const canary = 'xylophonequartz';
    await start({ OTEL_EXPORTER_OTLP_HEADERS: 'x-token=collector-secret', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' });
    first.behave({ status: 500, error: { message: `no ${canary}` } });
    second.behave({ text: canary, finish: 'stop' });
    const body = {
      messages: [
        { role: 'system', content: canary },
        { role: 'user', content: canary, name: canary },
      ],
      user: canary,
      metadata: { word: canary },
      stop: [canary],
      tools: [{ type: 'function', function: { name: canary } }],
    };
    expect((await chat(body, { 'user-agent': canary })).status).toBe(200);
    await chat({ ...body, stream: true }).then((response) => response.text());
    await chat({ model: canary });
    await box.get(`/${canary}?${canary}`);
    await waitFor(() => ofKind(collector.spans, 'server').length >= 3);
    const { requests } = collector;
    expect(requests[0]!.headers.get('x-token')).toBe('collector-secret');
    expect(requests[0]!.headers.get('content-encoding')).toBe('gzip');
    const bytes = Buffer.concat(requests.map((request) => request.bytes)).toString('latin1');
    for (const word of [canary, UPSTREAM_KEY, box.key, 'collector-secret']) expect(bytes).not.toContain(word);
    expect(box.lines.join('\n')).not.toContain('collector-secret');
  });

  test('a stalled collector delays no request, and delays the stop only for the time that it is waited for', async () => {
    collector.behave('stall');
    await start();
    await chat();
    await waitFor(() => collector.requests.length > 0);
    const began = performance.now();
    for (let at = 0; at < 20; at++) expect((await chat()).status).toBe(200);
    // Far less than the ten seconds for which the collector is waited for.
    expect(performance.now() - began).toBeLessThan(8_000);
    box.signal('SIGTERM');
    expect(await box.exited).toBe(0);
    expect(box.lines.some((line) => line.includes('traces cannot be exported'))).toBe(true);
  });

  test('the collector gets the waiting spans before the server stops', async () => {
    await start({ OTEL_BSP_SCHEDULE_DELAY: '600000' });
    await chat();
    expect(collector.requests).toHaveLength(0);
    box.signal('SIGTERM');
    expect(await box.exited).toBe(0);
    expect(ofKind(collector.spans, 'server')).toHaveLength(1);
  });

  test('the metrics count the spans that the collector got', async () => {
    await start();
    await chat();
    const { length } = await arrived();
    const page = await waitFor(async () => {
      const text = await (await fetch(`${box.url}/metrics`)).text();
      return /signalbox_spans_total\{outcome="exported"\} [1-9]/.test(text) && text;
    });
    expect(page).toContain(`signalbox_spans_total{outcome="exported"} ${length}\n`);
    expect(page).toContain('signalbox_spans_total{outcome="lost"} 0\n');
  });
});
