import { afterAll, describe, expect, test } from 'bun:test';
import { createChatMetrics } from '../../src/gateway/request/observe/chat-metrics.ts';
import type { RequestContext } from '../../src/gateway/request/request-context.ts';
import { counter } from '../../src/host/telemetry/counts.ts';
import type { Family } from '../../src/host/telemetry/families.ts';
import { metricsPage } from '../../src/host/telemetry/page.ts';
import { createEdgeMetrics } from '../../src/http/edge-metrics.ts';
import { documentedFamilies } from '../docs/metrics-page.ts';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { allSamples, type Page, readPage, seriesName, total } from '../support/prometheus.ts';
import { contextWith } from '../support/request-context.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';

const CHATS = 'signalbox_chats_total';
const MORE = `gateway: { retries_max: 0, failed_auth_per_minute: 1000000, keyless_per_minute: 1000000 }
constraints: [{ name: not-plain, when: request.metadata.dear == "true", require: model.price.output >= 4.0 }]
`;

const [first, second] = [1, 2].map(() => startFakeUpstream({ key: UPSTREAM_KEY })) as [FakeUpstream, FakeUpstream];
const policy = testPolicy(
  { first: first.url, second: second.url },
  {
    best: { endpoints: ['first', 'second'], quality: 0.9 },
    plain: { endpoints: ['second'], quality: 0.5, price: { input: 0.1, output: 0.4 } },
  },
  MORE,
);

interface UsageAnswer {
  readonly total_credits: number;
  readonly days: readonly { readonly input_tokens: number; readonly output_tokens: number }[];
}

const box = useSignalbox({ policy });
afterAll(async () => {
  await Promise.all([first.stop(), second.stop()]);
});

const pageOf = async ({ url }: Pick<Signalbox, 'url'>): Promise<Page> =>
  readPage(await (await fetch(`${url}/metrics`)).text());

/** Returns the metrics page once it has counted this many chats. A caller gets its answer before the server counts the answer. */
async function pageAfter(chats: number, of: Pick<Signalbox, 'url'> = box): Promise<Page> {
  return waitFor(async () => {
    const page = await pageOf(of);
    return (total(page, CHATS) ?? 0) >= chats ? page : null;
  });
}

const messages = [{ role: 'user', content: 'Say hello.' }];
const chat = (body: object = {}, init: RequestInit = {}, to = box) =>
  to.post('/v1/chat/completions', { model: 'best', messages, max_tokens: 20, ...body }, init);
const stream = async (body: object = {}) => eventsOf(await chat({ stream: true, ...body }));
const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  prompt_tokens_details: { cached_tokens: 60 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

describe('the metrics page of a server', () => {
  test('the metrics have the same tokens as the ledger, also if a failed attempt was charged', async () => {
    const own = await startSignalbox({ policy, env: UPSTREAM_ENV });
    try {
      // An answer without a choice is not an answer, but still has a price.
      const nothing = { raw: [JSON.stringify({ id: 'x', object: 'chat.completion', choices: [], usage })] };
      first.next(nothing);
      await chat({}, {}, own);
      first.next(nothing);
      second.next({ status: 500 });
      expect((await chat({}, {}, own)).status).toBe(502);
      const page = await pageAfter(2, own);
      const { days, total_credits: credits } = (await (await own.get('/v1/usage')).json()) as UsageAnswer;
      const sum = (of: 'input_tokens' | 'output_tokens') => days.reduce((all, day) => all + day[of], 0);
      const tokens = (...kinds: string[]) =>
        kinds.reduce((all, kind) => all + (total(page, 'signalbox_tokens_total', { kind }) ?? 0), 0);
      expect(sum('input_tokens')).toBeGreaterThan(200);
      expect(tokens('input', 'input_cached', 'input_cache_write')).toBe(sum('input_tokens'));
      expect(tokens('output', 'output_reasoning')).toBe(sum('output_tokens'));
      expect(total(page, 'signalbox_credits_spent_total')).toBeCloseTo(credits, 6);
    } finally {
      await own.stop();
    }
  });

  test('the metrics have exactly what happened', async () => {
    const spent: number[] = [];
    const pay = ({ platform }: { readonly platform: { readonly credits_consumed: number } }) =>
      void spent.push(platform.credits_consumed);
    first.next({ usage });
    pay(await answerOf(await chat()));
    pay((await stream()).chunks.at(-1)!);
    // The request fails over to the other endpoint, then to the other model.
    first.next({ status: 500 });
    pay(await answerOf(await chat()));
    first.next({ status: 500 });
    second.next({ status: 500 });
    pay(await answerOf(await chat({ model: 'auto' })));
    first.next({ text: ['a', 'b', 'c'], cutAfter: 3 });
    pay((await stream()).chunks.at(-1)!);
    first.next({ status: 500 });
    second.next({ status: 500 });
    expect((await chat()).status).toBe(502);
    const again = { headers: { 'idempotency-key': 'the-same' } };
    pay(await answerOf(await chat({}, again)));
    expect((await chat({}, again)).headers.get('x-signalbox-replayed')).toBe('true');
    expect((await chat({ model: 'no-such' })).status).toBe(404);
    expect((await chat({ temperature: 'warm' })).status).toBe(400);
    expect((await chat({}, { headers: { authorization: 'Bearer no' } })).status).toBe(401);
    expect((await chat({ model: 'plain', metadata: { dear: 'true' } })).status).toBe(422);
    const route = { model: 'auto', messages, metadata: { dear: 'true' } };
    expect((await box.post('/v1/route', route)).status).toBe(200);

    const page = await pageAfter(12);
    const chats = page.get(CHATS)!.samples.map(({ labels, value }) => [Object.values(labels).join(' ').trim(), value]);
    expect(Object.fromEntries(chats)).toEqual({
      'chat pinned best first best-upstream completed': 3,
      'chat pinned best second best-upstream completed': 1,
      'chat auto plain second plain-upstream completed': 1,
      'chat pinned best first best-upstream broken': 1,
      'chat pinned    failed': 1,
      // These requests are known only by their stored answer, by nothing, and by the model that the key may not use.
      'chat     replayed': 1,
      'chat     refused': 3,
      'chat pinned    refused': 1,
    });
    expect(total(page, 'signalbox_chat_duration_seconds_count')).toBe(7);
    expect(total(page, 'signalbox_chat_ttft_seconds_count')).toBe(2);
    expect(total(page, 'signalbox_chat_dispatch_seconds_count')).toBe(7);
    const failovers = (labels: Record<string, string>) => total(page, 'signalbox_failovers_total', labels);
    expect(failovers({ provider: 'first', model: 'best', to: 'endpoint' })).toBe(3);
    expect(failovers({ provider: 'second', model: 'best', to: 'model' })).toBe(1);
    expect(failovers({})).toBe(4);
    expect(total(page, 'signalbox_credits_spent_total')).toBeCloseTo(
      spent.reduce((sum, one) => sum + one),
      6,
    );
    expect(total(page, 'signalbox_tokens_total', { kind: 'input_cached' })).toBe(60);
    expect(total(page, 'signalbox_tokens_total', { kind: 'output_reasoning' })).toBe(5);
    const rejections = (kind: string) => total(page, 'signalbox_rejections_total', { kind });
    expect(rejections('constraint')).toBe(2);
    expect(total(page, 'signalbox_rejections_total', { rule: 'not-plain' })).toBe(2);
    const route200 = { route: '/v1/chat/completions', status: '200', method: 'POST' };
    expect(total(page, 'signalbox_http_requests_total', route200)).toBe(7);
    expect(total(page, 'signalbox_http_errors_total', { code: 'model_not_found' })).toBe(1);
    expect(total(page, 'signalbox_http_errors_total', { code: 'upstream_failed' })).toBe(1);
    expect(total(page, 'signalbox_http_request_duration_seconds_count', { route: '/v1/route' })).toBe(1);
    expect(total(page, 'signalbox_attempts_total', { outcome: 'server' })).toBe(5);
    expect(total(page, 'signalbox_metrics_errors_total')).toBe(0);
  });

  test('the metrics have exactly the documented families, with the documented types and labels', async () => {
    const page = await pageOf(box);
    const shown = [...page.values()].map(({ name, type, help }) => ({ name, type, help }));
    // This family exists only while traces are exported.
    const documented = documentedFamilies.filter(({ name }) => name !== 'signalbox_spans_total');
    const told = documented.map(({ name, type, help }) => ({ name, type, help: help.replaceAll('\\', '\\\\') }));
    const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1);
    expect(shown.sort(byName)).toEqual(told.sort(byName));
    const labels = new Map(documentedFamilies.map(({ name, labels }) => [name, labels.join()]));
    for (const { name, type, samples } of page.values()) {
      for (const { labels: own } of samples) {
        const names = Object.keys(own).filter((label) => type !== 'histogram' || label !== 'le');
        expect([name, names.join()]).toEqual([name, labels.get(name)!]);
      }
    }
  });

  test('HEAD /metrics answers like GET, with the content type', async () => {
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${box.url}/metrics`, { method });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect((await response.text()) === '').toBe(method === 'HEAD');
    }
  });
});

/** Returns the series that only the second page has. */
function newSeries(before: Page, after: Page): string[] {
  const known = new Set(allSamples(before).map(seriesName));
  return allSamples(after)
    .map(seriesName)
    .filter((series) => !known.has(series));
}

/** Methods that a client can send, although no route has them. */
const METHODS = ['PURGE', 'PROPFIND', 'LOCK'];

describe('callers who send arbitrary values', () => {
  const FLOOD = 20;
  /** Sends requests with different values for everything that a caller chooses. */
  async function flood(from: number, to: number): Promise<void> {
    const outside = async (at: number) => {
      const key = await box.post('/admin/keys', { name: `key ${at}`, labels: { team: `team-${at}` } });
      const { key: secret } = (await key.json()) as { readonly key: string };
      const init = { headers: { authorization: `Bearer ${secret}`, 'idempotency-key': `once-${at}` } };
      const wallet = `0x${at.toString(16).padStart(40, 'a')}`;
      const answers = [
        chat({ metadata: { [`name-${at}`]: `value-${at}` }, user: `user-${at}` }, init),
        chat({ agent_wallet: wallet }),
        chat({ model: `model-${at}` }),
        chat({ [`field_${at}`]: 1, stream: true }),
        chat({}, { headers: { authorization: `Bearer key-${at}` } }),
        box.post('/v1/route', { model: `selector-${at}`, messages }),
        fetch(`${box.url}/path-${at}`),
        fetch(`${box.url}/v1/path-${at}`, { headers: { authorization: `Bearer ${box.key}` } }),
        box.get(`/v1/decisions/dec_${at}`),
        fetch(`${box.url}/v1/models`, { method: METHODS[at % METHODS.length]! }),
      ];
      for (const answer of answers) await (await answer).text();
    };
    for (let at = from; at < to; at++) await outside(at);
  }

  test('values that callers choose create no series', async () => {
    await flood(0, 3);
    // Readings are published each second, and may add series.
    await Bun.sleep(1_500);
    const before = await pageOf(box);
    const chats = total(before, CHATS)!;
    await flood(3, FLOOD);
    const after = await pageAfter(chats + (FLOOD - 3) * 5);
    expect(newSeries(before, after)).toEqual([]);
    expect(total(after, CHATS)! - chats).toBe((FLOOD - 3) * 5);
    expect(total(after, 'signalbox_http_requests_total', { method: 'other' })).toBe(FLOOD);
  });

  /** Metrics pages after requests of many keys, each with its own words, as the gateway sees them. */
  async function pages(also: (seen: RequestContext) => void, families: readonly Family[]): Promise<[Page, Page]> {
    const chats = createChatMetrics();
    const edge = createEdgeMetrics();
    const page = metricsPage([...chats.families, ...edge.families, ...families]);
    const see = (from: number, to: number) => {
      for (let at = from; at < to; at++) {
        const seen = contextWith({
          id: at,
          method: at % 2 ? `METHOD${at}` : 'POST',
          route: '/v1/chat/completions',
          status: 404,
          code: 'model_not_found',
          keyId: `key${at}`,
        });
        chats.count(seen);
        edge.count(seen, at);
        also(seen);
      }
    };
    see(0, 4);
    const before = readPage(await page());
    see(4, 300);
    return [before, readPage(await page())];
  }

  test('the test would notice metrics that are counted by key', async () => {
    expect(newSeries(...(await pages(() => {}, [])))).toEqual([]);
    const byKey = counter({ name: 'by_key_total', help: 'As it must not be.', labels: ['key'] });
    const byMethod = counter({ name: 'by_method_total', help: 'As it must not be.', labels: ['method'] });
    const also = ({ keyId, method }: RequestContext) => {
      byKey.at(keyId ?? '').value++;
      byMethod.at(method).value++;
    };
    const made = newSeries(...(await pages(also, [byKey.family, byMethod.family])));
    expect(made.filter((series) => series.startsWith('by_key_total'))).toHaveLength(296);
    expect(made.filter((series) => series.startsWith('by_method_total'))).toHaveLength(148);
  });
});
