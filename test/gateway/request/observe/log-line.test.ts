import { describe, expect, test } from 'bun:test';
import type { AttemptRecord } from '../../../../src/core/decision/attempt.ts';
import { idText } from '../../../../src/core/id.ts';
import { plainUsage } from '../../../../src/core/money/usage.ts';
import type { ExchangeResult } from '../../../../src/gateway/exchange/exchange-facts.ts';
import { logRequests, requestLine } from '../../../../src/gateway/request/observe/log-line.ts';
import type { RequestContext } from '../../../../src/gateway/request/request-context.ts';
import type { RoutingAttempt } from '../../../../src/gateway/request/request-facts.ts';
import type { Log, LogFields } from '../../../../src/host/telemetry/log.ts';
import {
  attemptRecord,
  type ContextFacts,
  callerNamed,
  contextWith,
  resultOf as settled,
} from '../../../support/request-context.ts';

const CHAT = '/v1/chat/completions';
const ID = 123_456_789_012_345;

type Deep<T> = { readonly [K in keyof T]?: Deep<T[K]> };

const seenOf = (facts: ContextFacts): RequestContext => contextWith({ id: ID, at: 1_000, ...facts });

const attempt = (provider: string, failure: AttemptRecord['failure']) =>
  attemptRecord({ model: 'luna', provider, upstream: 'luna-2026', failure });

const routingOf = (facts: Deep<RoutingAttempt['facts']>): RoutingAttempt =>
  ({
    facts: { task: 'code', ...facts },
    snapshot: { revision: 'pol_judged', found: null },
    rejections: [],
  }) as unknown as RoutingAttempt;

const resultOf = (
  outcome: Partial<ExchangeResult['outcome']>,
  platform: Partial<ExchangeResult['platform']> = {},
): ExchangeResult =>
  settled(
    {
      ...{ attempts: [attempt('openai', null)], usage: plainUsage(12, 34), charged: 12_300 },
      ...{ firstPartMs: 312, totalMs: 2_100, ...outcome },
    },
    {
      ...{ routed_model: 'luna', route_reason: 'auto:usual', credits_consumed: 0.0123, cost_saved_credits: 0.05 },
      ...{ decision_id: 'dec_00000000001', policy_revision: 'pol_settled', ...platform },
    },
  );

const chatOf = (fields: ContextFacts = {}) =>
  seenOf({
    route: CHAT,
    keyId: 'k7mw2pq9x4ta',
    status: 200,
    routing: routingOf({ model: 'auto', named: null }),
    decisionId: 'dec_00000000001',
    result: resultOf({}),
    ...fields,
  });

/** Returns the fields as they appear in the log line. */
const toldOf = (fields: LogFields = {}): unknown => JSON.parse(JSON.stringify(fields));

describe('the log line of a request', () => {
  test('the line of a chat says who requested what, who answered, how long it took and what it cost, in this order', () => {
    const line = requestLine(chatOf(), 9_000);
    expect(line).toMatchObject({ level: 'info', message: 'chat' });
    expect(JSON.stringify(line.fields)).toBe(
      JSON.stringify({
        request: idText('req_', ID),
        key: 'k7mw2pq9x4ta',
        status: 200,
        decision: 'dec_00000000001',
        selector: 'auto',
        task: 'code',
        model: 'luna',
        endpoint: 'openai/luna-2026',
        reason: 'auto:usual',
        attempts: 1,
        input_tokens: 12,
        output_tokens: 34,
        credits: 0.0123,
        saved_credits: 0.05,
        ttft_ms: 312,
        total_ms: 2_100,
        outcome: 'completed',
        revision: 'pol_settled',
      }),
    );
  });

  test('the line of a key that no longer works has the key and why it does not work', () => {
    const denied = { caller: callerNamed('k7mw2pq9x4ta'), reason: 'revoked' } as const;
    const { fields } = requestLine(seenOf({ status: 401, code: 'invalid_api_key', denied }), 9_000);
    expect(fields).toMatchObject({ key: 'k7mw2pq9x4ta', denied: 'revoked' });
  });

  test('the line has the cached and reasoning tokens if there are any, and the payment', () => {
    const usage = { ...plainUsage(12, 34), reasoningTokens: 6, units: { cached_input: 5 } };
    const payment = { id: 'pay_1' } as ExchangeResult['platform']['payment'] & object;
    expect(toldOf(requestLine(chatOf({ result: resultOf({ usage }, { payment }) }), 9_000).fields)).toMatchObject({
      cached_tokens: 5,
      reasoning_tokens: 6,
      payment: 'pay_1',
    });
  });

  test('the line of a failed or broken request is a warning, and names each failed attempt and the last endpoint', () => {
    const attempts = [attempt('openai', 'timeout'), attempt('azure', 'server')];
    for (const status of ['failed', 'broken'] as const) {
      const result = resultOf({ status, error: 'upstream_failed', attempts, usage: null, firstPartMs: null });
      const line = requestLine(chatOf({ result, status: status === 'failed' ? 502 : 200 }), 9_000);
      expect(line.level).toBe('warn');
      expect(toldOf(line.fields)).toMatchObject({
        outcome: status,
        error: 'upstream_failed',
        endpoint: 'azure/luna-2026',
        attempts: 2,
        failures: 'openai/luna:timeout azure/luna:server',
      });
      expect(toldOf(line.fields)).not.toContainKeys(['input_tokens', 'ttft_ms']);
    }
  });

  test('the line names the model that a request named, although the request was refused', () => {
    const seen = chatOf({
      routing: routingOf({ model: 'luna', named: ['luna'] }),
      result: null,
      decisionId: null,
      status: 402,
      code: 'insufficient_quota',
    });
    expect(toldOf(requestLine(seen, 1_007.6).fields)).toEqual({
      request: idText('req_', ID),
      key: 'k7mw2pq9x4ta',
      status: 402,
      error: 'insufficient_quota',
      selector: 'pinned',
      task: 'code',
      model: 'luna',
      total_ms: 8,
      revision: 'pol_judged',
    });
  });

  test('the line says that a stored answer was sent again', () => {
    expect(requestLine(chatOf({ result: null, isReplayed: true }), 1_001).fields.outcome).toBe('replayed');
  });

  test('the line of any other request has its method and its route', () => {
    const line = requestLine(seenOf({ method: 'GET', route: '/admin/keys/:id', keyId: 'boss', status: 200 }), 1_003);
    expect(line).toMatchObject({ level: 'info', message: 'request' });
    expect(toldOf(line.fields)).toEqual({
      request: idText('req_', ID),
      key: 'boss',
      method: 'GET',
      route: '/admin/keys/:id',
      status: 200,
      total_ms: 3,
    });
  });

  test('only a POST on the chat route is logged as a chat; other methods are logged like on other routes', () => {
    const seen = chatOf({ method: 'GET', routing: null, result: null, decisionId: null, status: 405 });
    expect(requestLine(seen, 1_001)).toMatchObject({
      message: 'request',
      fields: { method: 'GET', route: CHAT, outcome: undefined },
    });
  });

  test('the line has the trace ID if a trace was recorded', () => {
    const trace = { traceId: 'a'.repeat(32), isSampled: true } as RequestContext['trace'];
    expect(requestLine(chatOf({ trace }), 9_000).fields.trace).toBe('a'.repeat(32));
    expect(requestLine(chatOf({ trace: trace && { ...trace, isSampled: false } }), 9_000).fields.trace).toBeUndefined();
  });
});

describe('the log lines of requests', () => {
  function start() {
    const written: LogFields[] = [];
    const write = (_: string, fields: LogFields = {}) => void written.push(fields);
    const log: Log = { info: write, warn: write, error: write };
    return { told: logRequests(log), written };
  }
  const stranger = (status = 401) => seenOf({ route: 'other', status, code: 'invalid_api_key' });

  test('a successful request on an open route has no line', () => {
    for (const route of ['/healthz', '/readyz', '/metrics', '/docs', '/docs/:asset', '/.well-known/x402']) {
      const { told, written } = start();
      for (const status of [200, 429, 503]) told(seenOf({ method: 'GET', route, status }), 1_001);
      expect(written.map(({ status }) => status)).toEqual([503]);
    }
  });

  test('unknown callers get at most 60 lines a minute, and the next line says how many were omitted', () => {
    const { told, written } = start();
    for (let i = 0; i < 1_000; i++) told(stranger(), 5_000 + i);
    expect(written.length).toBe(60);
    told(stranger(), 64_999);
    expect(written.length).toBe(60);
    told(stranger(), 65_000);
    told(stranger(), 65_001);
    expect(written.slice(60).map(({ suppressed }) => suppressed)).toEqual([941, undefined]);
  });

  test('lines of known callers and of defects of the gateway are never omitted', () => {
    const { told, written } = start();
    for (let i = 0; i < 100; i++) told(stranger(), 5_000);
    for (let i = 0; i < 100; i++) told(chatOf({ status: 400, result: null }), 5_000);
    for (let i = 0; i < 100; i++) told(stranger(500), 5_000);
    expect(written.length).toBe(260);
  });
});
