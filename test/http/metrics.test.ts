import { describe, expect, test } from 'bun:test';
import type { ErrorCode } from '../../src/core/errors.ts';
import { metricsPage } from '../../src/host/telemetry/page.ts';
import { createEdgeMetrics, gateFamilies } from '../../src/http/edge-metrics.ts';
import { readPage, total } from '../support/prometheus.ts';
import { contextWith } from '../support/request-context.ts';

interface Came {
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly code?: ErrorCode;
  readonly ms?: number;
}

async function pageOf(requests: readonly Came[]) {
  const { count, families } = createEdgeMetrics();
  for (const { method = 'GET', ms = 1, ...rest } of requests) {
    count(contextWith({ at: 1_000, method, route: '/v1/models', status: 200, ...rest }), 1_000 + ms);
  }
  return readPage(await metricsPage(families)());
}

describe('The HTTP server', () => {
  const REQUESTS = 'signalbox_http_requests_total';

  test('counts requests by method, route and status', async () => {
    const page = await pageOf([{}, {}, { status: 404 }, { route: 'other', status: 404 }, { method: 'HEAD' }]);
    const series = page.get(REQUESTS)!.samples.map(({ labels, value }) => [Object.values(labels).join(' '), value]);
    expect(series).toEqual([
      ['GET /v1/models 200', 2],
      ['GET /v1/models 404', 1],
      ['GET other 404', 1],
      ['HEAD /v1/models 200', 1],
    ]);
  });

  test('counts all unknown methods as one', async () => {
    const page = await pageOf([{ method: 'PURGE' }, { method: 'get' }, { method: 'LOCK' }]);
    expect(total(page, REQUESTS, { method: 'other' })).toBe(3);
    expect(page.get(REQUESTS)!.samples).toHaveLength(1);
  });

  test('counts errors by their code, starting at 0 for every code', async () => {
    const page = await pageOf([
      { status: 404, code: 'not_found' },
      { status: 404, code: 'not_found' },
      { status: 503, code: 'overloaded' },
      {},
    ]);
    const errors = (code: ErrorCode) => total(page, 'signalbox_http_errors_total', { code });
    expect([errors('not_found'), errors('overloaded'), errors('internal_error')]).toEqual([2, 1, 0]);
  });

  test('measures the time of requests by route, from their arrival to the end of all their work', async () => {
    const page = await pageOf([{ ms: 2 }, { ms: 400 }, { route: '/healthz', ms: 1 }]);
    const duration = 'signalbox_http_request_duration_seconds';
    expect(total(page, `${duration}_sum`, { route: '/v1/models' })).toBeCloseTo(0.402, 9);
    expect(total(page, `${duration}_bucket`, { route: '/v1/models', le: '0.0025' })).toBe(1);
    expect(total(page, `${duration}_count`)).toBe(3);
  });

  test('shows how many requests run and how many wait at the moment', async () => {
    const gate = { inside: 0, waiting: 0 };
    const page = metricsPage(gateFamilies(gate, { size: 3 }));
    Object.assign(gate, { inside: 7, waiting: 2 });
    const shown = readPage(await page());
    const figures = ['requests_open', 'requests_waiting', 'chats_open'].map((name) =>
      total(shown, `signalbox_${name}`),
    );
    expect(figures).toEqual([7, 2, 3]);
  });
});
