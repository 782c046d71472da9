import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Log, LogFields } from '../../../../src/host/telemetry/log.ts';
import type { SpanResult } from '../../../../src/host/telemetry/trace.ts';
import type { Tracer } from '../../../../src/host/telemetry/tracing/start.ts';
import { openTracer } from '../../../../src/host/telemetry/tracing/tracer.ts';
import { waitFor } from '../../../support/answers.ts';
import { type ArrivedSpan, type Collector, startCollector } from '../../../support/otlp.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const parent = (flags = '01', tracestate?: string) =>
  new Headers({ traceparent: `00-${TRACE}-${SPAN}-${flags}`, ...(tracestate && { tracestate }) });
const told = (name: string, more: Partial<SpanResult> = {}): SpanResult => ({
  name,
  attributes: {},
  error: null,
  ...more,
});
const ROOT = told('POST /v1/chat/completions');

let collector: Collector;
let warnings: { readonly message: string; readonly fields: LogFields | undefined }[];
let tracers: Tracer[];
const log: Log = {
  info() {},
  warn: (message, fields) => void warnings.push({ message, fields }),
  error() {},
};

beforeEach(() => {
  collector = startCollector();
  warnings = [];
  tracers = [];
});
afterEach(async () => {
  await Promise.all(tracers.map((tracer) => tracer.close(0)));
  await collector.stop();
});

async function open(env: Readonly<Record<string, string>> = {}, clock?: () => number): Promise<Tracer> {
  const all: Readonly<Record<string, string>> = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env };
  const tracer = await openTracer({ env: (name) => all[name], version: '1.2.3', log, ...(clock && { clock }) });
  if (!tracer) throw new Error('nothing is traced');
  tracers.push(tracer);
  return tracer;
}

/** Returns the numbers of spans `exported` and `lost`. */
function counted(tracer: Tracer): Record<string, number> {
  const [family] = tracer.families;
  if (!family) throw new Error('no counter');
  return Object.fromEntries([...family.samples()].map(([{ outcome }, value]) => [outcome, value]));
}

function named(name: string): ArrivedSpan {
  const found = collector.spans.filter((span) => span.name === name);
  expect(found).toHaveLength(1);
  return found[0]!;
}

/** Traces a request with two calls, the first of which fails. */
function failover(tracer: Tracer, headers = new Headers()) {
  const trace = tracer.begin(headers);
  trace.step('admit');
  trace.step('decide');
  trace.step('dispatch');
  const first = trace.call();
  first.end(told('chat first', { error: 'timeout', attributes: { 'error.type': 'timeout', none: undefined } }));
  const second = trace.call();
  second.end(told('chat second', { attributes: { whole: 3, part: 0.5, yes: true, list: ['a', 'b'] } }));
  trace.step('settle');
  trace.end(ROOT);
  return { trace, first, second };
}

describe('the spans of a request', () => {
  for (const protocol of ['http/protobuf', 'http/json']) {
    test(`the spans of a request are a tree: steps within the request, calls within their step (${protocol})`, async () => {
      const tracer = await open({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
      const { trace } = failover(tracer);
      await tracer.close();
      expect(collector.requests.map(({ path }) => path)).toEqual(['/v1/traces']);
      expect(collector.spans.map(({ name, kind, error }) => [name, kind, error])).toEqual([
        ['POST /v1/chat/completions', 'server', null],
        ['admit', 'internal', null],
        ['decide', 'internal', null],
        ['dispatch', 'internal', null],
        ['settle', 'internal', null],
        ['chat first', 'client', 'timeout'],
        ['chat second', 'client', null],
      ]);
      const root = named('POST /v1/chat/completions');
      expect(root).toMatchObject({ traceId: trace.traceId, spanId: trace.spanId, parentId: '' });
      for (const step of ['admit', 'decide', 'dispatch', 'settle']) expect(named(step).parentId).toBe(root.spanId);
      for (const call of ['chat first', 'chat second']) expect(named(call).parentId).toBe(named('dispatch').spanId);
      expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
      expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(7);
      expect(named('chat first').attributes).toEqual({ 'error.type': 'timeout' });
      expect(named('chat second').attributes).toEqual({ whole: 3, part: 0.5, yes: true, list: ['a', 'b'] });
      expect(counted(tracer)).toEqual({ exported: 7, lost: 0 });
    });
  }

  test('the times of spans contain one another, to the microsecond, and are current', async () => {
    const tracer = await open();
    const before = BigInt(Date.now()) * 1_000_000n;
    failover(tracer);
    await tracer.close();
    const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
    for (const span of collector.spans) {
      expect(span.end).toBeGreaterThanOrEqual(span.start);
      const above = byId.get(span.parentId);
      if (!above) continue;
      expect(span.start).toBeGreaterThanOrEqual(above.start);
      expect(span.end).toBeLessThanOrEqual(above.end);
    }
    const root = named('POST /v1/chat/completions');
    const slack = 100_000_000n;
    expect(root.start).toBeGreaterThan(before - slack);
    expect(root.start).toBeLessThan(BigInt(Date.now()) * 1_000_000n + slack);
    const steps = ['admit', 'decide', 'dispatch', 'settle'].map(named);
    for (const [at, step] of steps.slice(1).entries()) expect(step.start).toBe(steps[at]!.end);
  });

  test('open spans are closed at the end, and a step lasts until its last call ends', async () => {
    let now = 1_000;
    const tracer = await open({}, () => now);
    const trace = tracer.begin(new Headers());
    trace.step('dispatch');
    const call = trace.call();
    trace.call();
    now += 10;
    trace.step('settle');
    now += 10;
    call.end(told('chat slow'));
    call.end(told('again'));
    now += 10;
    trace.end(ROOT);
    trace.end(told('again'));
    trace.step('settle');
    await tracer.close();
    expect(collector.spans.map(({ name, start, end }) => [name, Math.round(Number(end - start) / 1e6)])).toEqual([
      ['POST /v1/chat/completions', 30],
      ['dispatch', 30],
      ['settle', 20],
      ['chat slow', 20],
      ['chat', 30],
    ]);
  });

  test('the times of spans follow the system clock when it is set', async () => {
    const shift = 3_600_000;
    let now = Date.now() - shift;
    const own = performance.now();
    const tracer = await openTracer({
      env: (name) => (name === 'OTEL_EXPORTER_OTLP_ENDPOINT' ? collector.url : undefined),
      version: '1',
      log,
      clock: () => performance.now() - own,
      now: () => now,
    });
    tracers.push(tracer!);
    now += shift;
    tracer!.begin(new Headers()).end(ROOT);
    await tracer!.close();
    expect(Math.abs(Number(collector.spans[0]!.start / 1_000_000n) - now)).toBeLessThan(1_000);
  });

  test('spans name the server that made them', async () => {
    const tracer = await open();
    tracer.begin(new Headers()).end(ROOT);
    await tracer.close();
    expect(collector.spans[0]).toMatchObject({
      scope: 'signalbox',
      resource: { 'service.name': 'signalbox', 'service.version': '1.2.3', 'telemetry.sdk.name': 'opentelemetry' },
    });
    expect(collector.spans[0]!.resource['service.instance.id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('the trace context of a caller', () => {
  test('a caller’s trace is joined, and propagated to each upstream call with its own span', async () => {
    const tracer = await open();
    const { trace, first, second } = failover(tracer, parent('01', 'vendor=value'));
    await tracer.close();
    expect(trace).toMatchObject({ traceId: TRACE, isSampled: true });
    for (const [call, name] of [[first, 'chat first'] as const, [second, 'chat second'] as const]) {
      expect(call.headers).toEqual({
        traceparent: `00-${TRACE}-${named(name).spanId}-01`,
        tracestate: 'vendor=value',
      });
    }
    const root = named('POST /v1/chat/completions');
    expect(root).toMatchObject({ traceId: TRACE, parentId: SPAN, state: 'vendor=value' });
    // In OTLP, only the parent of the request is known to be remote.
    expect(root.flags & 0x300).toBe(0x300);
    expect(named('dispatch').flags & 0x300).toBe(0x100);
  });

  test('an invalid trace context is ignored', async () => {
    const tracer = await open();
    const trace = tracer.begin(new Headers({ traceparent: `00-${'0'.repeat(32)}-${SPAN}-01`, tracestate: 'a=1' }));
    expect(trace.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(trace.call().headers).toEqual({
      traceparent: expect.stringMatching(new RegExp(`^00-${trace.traceId}-[0-9a-f]{16}-01$`)),
    });
  });

  test('the context of an unsampled request is propagated, without spans', async () => {
    const tracer = await open();
    const { trace, first, second } = failover(tracer, parent('00', 'vendor=value'));
    await tracer.close();
    expect(trace).toMatchObject({ traceId: TRACE, isSampled: false });
    for (const { headers } of [first, second]) {
      expect(headers.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
      expect(headers.tracestate).toBe('vendor=value');
    }
    expect(first.headers.traceparent).not.toBe(second.headers.traceparent);
    expect(collector.requests).toEqual([]);
  });
});

describe('an untrusted caller', () => {
  test('a caller can choose sampling through its trace ID only if contexts of callers are accepted', async () => {
    const share = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.000001' };
    const chosen = `${'0'.repeat(31)}1`;
    const headers = new Headers({ traceparent: `00-${chosen}-${SPAN}-01`, tracestate: 'vendor=value' });
    expect((await open(share)).begin(headers)).toMatchObject({ traceId: chosen, isSampled: true });
    const apart = (await open({ ...share, OTEL_PROPAGATORS: 'none' })).begin(headers);
    expect(apart.isSampled).toBe(false);
    expect(apart.traceId).not.toBe(chosen);
  });

  test.each(['always_on', 'always_off'])(
    'an untrusted caller neither joins a trace nor gets a context with “none” (%s)',
    async (sampler) => {
      const tracer = await open({ OTEL_PROPAGATORS: 'none', OTEL_TRACES_SAMPLER: sampler });
      const { trace, first, second } = failover(tracer, parent('01', 'vendor=value'));
      await tracer.close();
      expect(trace.traceId).not.toBe(TRACE);
      expect([first.headers, second.headers]).toEqual([{}, {}]);
      expect(collector.spans).toHaveLength(sampler === 'always_on' ? 7 : 0);
      expect(
        collector.spans.filter(({ traceId, parentId, state }) => traceId === TRACE || parentId === SPAN || state),
      ).toEqual([]);
    },
  );

  test.each(['tracecontext', 'tracecontext,baggage'])('a caller joins a trace with “%s”', async (names) => {
    expect((await open({ OTEL_PROPAGATORS: names })).begin(parent('01')).traceId).toBe(TRACE);
  });
});

describe('sampling', () => {
  test.each<readonly [string, string, boolean, boolean, boolean]>([
    ['', '', true, true, false],
    ['always_on', '', true, true, true],
    ['always_off', '', false, false, false],
    ['traceidratio', '1', true, true, true],
    ['traceidratio', '0', false, false, false],
    ['parentbased_always_on', '', true, true, false],
    ['parentbased_always_off', '', false, true, false],
    ['parentbased_traceidratio', '0', false, true, false],
    ['parentbased_traceidratio', '', true, true, false],
  ])(
    'sampling by “%s” of “%s”: without a parent %p, with a sampled one %p, with another %p',
    async (name, arg, none, yes, no) => {
      const tracer = await open({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: arg });
      const begun = [new Headers(), parent('01'), parent('00')].map((headers) => tracer.begin(headers).isSampled);
      expect(begun).toEqual([none, yes, no]);
    },
  );

  test('sampling by a ratio keeps about that share, and decides the same for the same trace', async () => {
    const tracer = await open({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' });
    const traces = Array.from({ length: 4_000 }, () => tracer.begin(new Headers()));
    const kept = traces.filter(({ isSampled }) => isSampled).length;
    // Six standard deviations.
    expect(Math.abs(kept - 1_000)).toBeLessThan(165);
    for (const { traceId, isSampled } of traces.slice(0, 200)) {
      const again = tracer.begin(new Headers({ traceparent: `00-${traceId}-${SPAN}-00` }));
      expect(again.isSampled).toBe(isSampled);
    }
  });
});

describe('a collector', () => {
  test('if a collector rejects spans, the number lost is logged once, and no request is affected', async () => {
    collector.behave(401);
    const tracer = await open({ OTEL_BSP_SCHEDULE_DELAY: '5' });
    for (let round = 1; round <= 3; round++) {
      tracer.begin(new Headers()).end(ROOT);
      await waitFor(() => counted(tracer).lost === round);
    }
    expect(warnings).toEqual([{ message: 'traces cannot be exported', fields: { lost: 1, reason: 'HTTP 401' } }]);
    await tracer.close();
    expect(warnings[1]?.fields).toEqual({ lost: 2, reason: 'HTTP 401' });
    expect(counted(tracer)).toEqual({ exported: 0, lost: 3 });
  });

  test('a collector that is busy for a short time gets the spans again', async () => {
    collector.behave(503, { 'retry-after': '1' });
    const tracer = await open({ OTEL_BSP_SCHEDULE_DELAY: '5' });
    tracer.begin(new Headers()).end(ROOT);
    await waitFor(() => collector.requests.length === 1);
    collector.behave('take');
    await waitFor(() => counted(tracer).exported === 1);
    expect(collector.requests).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  test('a stalled collector costs a bounded number of spans, and the close waits no longer than its limit', async () => {
    collector.behave('stall');
    const tracer = await open({
      OTEL_BSP_SCHEDULE_DELAY: '5',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
    });
    tracer.begin(new Headers()).end(ROOT);
    await waitFor(() => collector.requests.length === 1);
    for (let at = 0; at < 30; at++) tracer.begin(new Headers()).end(ROOT);
    expect(counted(tracer)).toEqual({ exported: 0, lost: 20 });
    const began = performance.now();
    await tracer.close(200);
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(counted(tracer)).toEqual({ exported: 0, lost: 31 });
    tracer.begin(new Headers()).end(ROOT);
    expect(counted(tracer)).toEqual({ exported: 0, lost: 32 });
  });

  test('an export to a stalled collector is abandoned after its timeout', async () => {
    collector.behave('stall');
    const tracer = await open({ OTEL_BSP_SCHEDULE_DELAY: '5', OTEL_EXPORTER_OTLP_TIMEOUT: '100' });
    tracer.begin(new Headers()).end(ROOT);
    await waitFor(() => counted(tracer).lost === 1);
    expect(warnings[0]?.fields).toEqual({ lost: 1, reason: 'timeout' });
  });

  test('an export to a collector that never ends its response is abandoned, too', async () => {
    collector.behave('dribble');
    const tracer = await open({ OTEL_BSP_SCHEDULE_DELAY: '5', OTEL_EXPORTER_OTLP_TIMEOUT: '200' });
    for (let round = 1; round <= 2; round++) {
      tracer.begin(new Headers()).end(ROOT);
      await waitFor(() => counted(tracer).lost === round);
    }
    expect(warnings[0]?.fields).toEqual({ lost: 1, reason: 'timeout' });
    const began = performance.now();
    await tracer.close();
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(counted(tracer)).toEqual({ exported: 0, lost: 2 });
  });

  test('an unreachable collector causes no error, and the log omits its address with the password', async () => {
    await collector.stop();
    const address = new URL(collector.url);
    address.password = 'hush-hush-hush';
    address.username = 'me';
    const tracer = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: address.href,
      OTEL_BSP_SCHEDULE_DELAY: '5',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    });
    tracer.begin(new Headers()).end(ROOT);
    await waitFor(() => counted(tracer).lost === 1);
    expect(JSON.stringify(warnings)).not.toContain('hush');
    expect(warnings).toHaveLength(1);
  });

  test('the collector gets the waiting spans in batches when the tracer closes', async () => {
    const tracer = await open({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '100' });
    for (let at = 0; at < 150; at++) tracer.begin(new Headers()).end(ROOT);
    await Promise.all([tracer.close(), tracer.close()]);
    expect(collector.spans).toHaveLength(150);
    expect(counted(tracer)).toEqual({ exported: 150, lost: 0 });
  });
});
