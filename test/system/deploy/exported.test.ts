import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { documentedFamilies } from '../../docs/metrics-page.ts';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import type { Metric } from '../../support/promql.ts';
import { type Signalbox, startSignalbox, withKey } from '../../support/signalbox.ts';
import { EXPORTED, VALUES } from './exported.ts';

/** A line of the metrics page with a value. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

const LINE = /^(\w+)(?:\{(.*)\})? \S+$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

const typesOf = (page: string): Map<string, string> =>
  new Map([...page.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]));

const samplesOf = (page: string): Sample[] =>
  page.split('\n').flatMap((line) => {
    const [, name, labels = ''] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    return [{ name, labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, key, value]) => [key, value])) }];
  });

const TARGET = ['job', 'instance'];

function metricOf(name: string): Metric | undefined {
  return EXPORTED.get(name) ?? EXPORTED.get(name.replace(/_(?:bucket|sum|count)$/, ''));
}

/** Returns labels that differ from the table, and label values that the table lacks. */
function faultsOf({ name, labels }: Sample): string[] {
  const metric = metricOf(name);
  if (!metric) return [`${name} is not in the table`];
  const found = Object.keys(labels).filter((label) => label !== 'le');
  const stated = metric.labels.filter((label) => !TARGET.includes(label));
  const odd = Object.entries(metric.values ?? {}).filter(([label, values]) => !values.includes(labels[label] ?? ''));
  return [
    ...(found.sort().join() === [...stated].sort().join() ? [] : [`${name} has ${found}, not ${stated}`]),
    ...odd.map(([label]) => `${name} has ${label}="${labels[label]}"`),
  ];
}

const LIMITS = '{ requests_per_minute: 6000, tokens_per_minute: 1000000, concurrent_requests: 50 }';

describe('The table for the checks of alerts and dashboard', () => {
  let one: FakeUpstream;
  let two: FakeUpstream;
  let box: Signalbox;
  let page = '';

  beforeAll(async () => {
    one = startFakeUpstream({ key: UPSTREAM_KEY });
    two = startFakeUpstream({ key: UPSTREAM_KEY });
    box = await startSignalbox({
      policy: testPolicy(
        { one: one.url, two: two.url },
        { best: { endpoints: ['one', 'two'] }, plain: { endpoints: ['two'], quality: 0.5 } },
        'selectors:\n  auto: { strategy: auto }\nbudgets:\n  - { name: everybody, limit_credits: 1000, window: month }\n',
      )
        .replace('version: 1', 'version: 1\nescalate: { on: [correction], share_max: 0 }')
        .replace(/(plain:\n\s+endpoints: \[\{ [^}]*) \}/, `$1, limits: ${LIMITS} }`),
      // No collector listens at this address; the server counts spans nevertheless.
      env: {
        ...UPSTREAM_ENV,
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
        // An empty file in place of a file of headers.
        OTEL_EXPORTER_OTLP_HEADERS_FILE: '/dev/null',
      },
    });
    await traffic();
    // A request is counted when it is over, which may be shortly after its answer.
    page = await waitFor(async () => {
      const text = await (await box.get('/metrics')).text();
      return /outcome="broken"/.test(text) ? text : null;
    });
  });

  async function traffic(): Promise<void> {
    const body = { model: 'auto', messages: [{ role: 'user', content: 'Say hello.' }] };
    const chat = async (more: object = {}, init: RequestInit = {}) =>
      (await box.post('/v1/chat/completions', { ...body, ...more }, init)).text();
    const again = { headers: { 'idempotency-key': 'the-same' } };
    await chat({}, again);
    await chat({}, again);
    // The answer is long enough to measure its rate.
    const slow = { text: Array.from({ length: 40 }, () => 'word '), betweenChunksMs: 5 };
    one.next(slow);
    two.next(slow);
    await eventsOf(await box.post('/v1/chat/completions', { ...body, model: 'best', stream: true }));
    await eventsOf(await box.post('/v1/chat/completions', { ...body, model: 'plain', stream: true }));
    one.next({ fail: 'server' });
    await chat({ model: 'best' });
    two.next({ cutAfter: 2, text: ['a', 'b', 'c', 'd'] });
    // A broken stream can end with its connection.
    const broken = await box.post('/v1/chat/completions', { ...body, model: 'plain', stream: true });
    await broken.text().catch(() => {});
    await chat({ model: 'nobody' });
    // The key has a place for one escalated conversation.
    for (const content of ['Say hello.', 'Say goodbye.']) {
      const failed = [
        { role: 'assistant', content: 'No.' },
        { role: 'user', content: 'That is wrong.' },
      ];
      await chat({ messages: [{ role: 'user', content }, ...failed] });
    }
    // The budget is smaller than the cost of the complete output.
    const capped = await box.makeKey('--budget', '1/week:cap');
    await box.post(`/admin/keys/${capped.split('_')[2]}/grant`, { credits: 3 });
    await chat({ model: 'plain' }, withKey(capped));
    await chat({ budget_limit: 0.000001 });
    await chat({}, { headers: { authorization: 'Bearer nobody' } });
    await (await box.post('/v1/route', body)).text();
    const { platform } = await answerOf(await box.post('/v1/chat/completions', body));
    const { decision_id } = platform;
    await (await box.post('/v1/feedback', { decision_id, score: 1 })).text();
  }

  afterAll(async () => {
    await box?.stop();
    await one?.stop();
    await two?.stop();
  });

  test('has the names and types that a real server exports', () => {
    const stated = [...EXPORTED].map(([name, { type }]) => `${name} ${type}`);
    const exported = [...typesOf(page)].map(([name, type]) => `${name} ${type}`);
    expect(stated.sort()).toEqual(exported.sort());
  });

  test('has the labels and values that a real server exports', () => {
    expect(samplesOf(page).flatMap(faultsOf)).toEqual([]);
  });

  test('was seen with values, except for metrics that need a chain, a webhook, a counting service, a guard, a cache, a fallback, a token source, or an hour', () => {
    const seen = new Set(samplesOf(page).map(({ name }) => name.replace(/_(?:bucket|sum|count)$/, '')));
    expect([...EXPORTED.keys()].filter((name) => !seen.has(name)).sort()).toEqual([
      'signalbox_alerts_total',
      'signalbox_cache_requests_total',
      'signalbox_endpoint_warm_ttft_seconds',
      'signalbox_guard_credits_total',
      'signalbox_guard_failing',
      'signalbox_guard_failures_total',
      'signalbox_guard_matches_total',
      'signalbox_named_models_left_out_total',
      'signalbox_payment_gas_ratio',
      'signalbox_payment_network_ready',
      'signalbox_payment_quotes_total',
      'signalbox_payments_credits_total',
      'signalbox_payments_total',
      'signalbox_payments_unsettled',
      'signalbox_prompt_counts_total',
      'signalbox_token_source_expiry_timestamp_seconds',
      'signalbox_token_source_failing',
    ]);
  });

  test('has no label that Prometheus reserves for summaries and histograms', () => {
    const reserved = documentedFamilies.filter(({ labels }) => labels.some((label) => /^(?:le|quantile)$/.test(label)));
    expect(reserved.map(({ name }) => name)).toEqual([]);
  });

  test.skipIf(Bun.which('promtool') === null)('passes `promtool check metrics`', async () => {
    const child = Bun.spawn(['promtool', 'check', 'metrics'], {
      stdin: new TextEncoder().encode(page),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [faults, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect([faults, code]).toEqual(['', 0]);
  });

  test('has the bucket for the objective of the first token', () => {
    const bounds = samplesOf(page).filter(({ name }) => name === 'signalbox_chat_ttft_seconds_bucket');
    expect(bounds.map(({ labels }) => labels.le)).toContain('5');
  });

  test('states values only for labels that exist', () => {
    const stated = Object.entries(VALUES).flatMap(([name, values]) =>
      Object.keys(values).map((label) => [name, label]),
    );
    expect(stated.filter(([name = '', label = '']) => !EXPORTED.get(name)?.labels.includes(label))).toEqual([]);
  });

  test('is reported if it is wrong', () => {
    expect(faultsOf({ name: 'signalbox_chat_total', labels: {} })).toEqual([
      'signalbox_chat_total is not in the table',
    ]);
    expect(faultsOf({ name: 'signalbox_task_answers', labels: { tasks: 'x' } })).toHaveLength(1);
    expect(faultsOf({ name: 'signalbox_http_errors_total', labels: { code: 'bad' } })).toHaveLength(1);
  });
});
