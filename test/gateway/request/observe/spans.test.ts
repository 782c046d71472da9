import { describe, expect, test } from 'bun:test';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import type { ChatRequest } from '../../../../src/core/api/chat-request.ts';
import type { ErrorCode } from '../../../../src/core/errors.ts';
import type { Provider } from '../../../../src/core/policy/snapshot.ts';
import { type CallFacts, callSpan } from '../../../../src/gateway/exchange/call-span.ts';
import { requestSpan } from '../../../../src/gateway/request/observe/spans.ts';
import type { RequestContext } from '../../../../src/gateway/request/request-context.ts';
import type { RoutingAttempt } from '../../../../src/gateway/request/request-facts.ts';
import type { SpanAttributes } from '../../../../src/host/telemetry/trace.ts';
import { providerNamed } from '../../../routing/build.ts';
import { chatRequest } from '../../../support/model-request.ts';
import {
  attemptRecord,
  type ContextFacts,
  contextWith,
  resultOf as settled,
} from '../../../support/request-context.ts';

const PRICE = { lines: [] } as unknown as CallFacts['endpoint']['price'];

const provider = (more: Partial<Provider> = {}) =>
  providerNamed('mine', { baseUrl: 'http://127.0.0.1:8080/v1', ...more });

const ATTEMPT = attemptRecord({
  ...{ model: 'best', provider: 'mine', upstream: 'best-2', startMs: 4, ms: 1_200, firstPartMs: 340 },
  ...{ requestId: 'req-1', finishReasons: ['stop'] },
});

const UNITS = { cached_input: 60, cache_write: 10 };
const USAGE = { inputTokens: 100, outputTokens: 40, reasoningTokens: 25, units: UNITS };

const seen = (more: Partial<CallFacts> = {}): CallFacts => ({
  provider: provider(),
  endpoint: { provider: 'mine', upstream: 'best-2', regions: [], price: PRICE, capabilities: 0 },
  request: chatRequest(),
  outputCap: 512,
  attempt: ATTEMPT,
  usage: USAGE,
  ...more,
});

/** Returns the attributes that have a value. */
const stated = (attributes: SpanAttributes): Record<string, unknown> =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

/** Everything that a caller can set, with words that must not be visible to others. */
const CANARY = 'canary-canary-canary';
const FULL: ChatRequest = {
  model: CANARY,
  messages: [{ role: 'user', content: CANARY, name: CANARY }],
  stream: true,
  max_tokens: 100,
  temperature: 0.7,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: 0.2,
  n: 3,
  stop: [CANARY],
  seed: 7,
  tools: [{ type: 'function', function: { name: CANARY } }],
  tool_choice: { type: 'function', function: { name: CANARY } },
  response_format: { type: 'json_object' },
  user: CANARY,
  metadata: { word: CANARY },
  agent_wallet: CANARY,
};

describe('the span of an upstream call', () => {
  test('the span of a call has the request, the endpoint and the outcome', () => {
    const { name, attributes, error } = callSpan(seen());
    expect([name, error]).toEqual(['chat best-2', null]);
    expect(stated(attributes)).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mine',
      'gen_ai.request.model': 'best-2',
      'gen_ai.request.max_tokens': 512,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 40,
      'gen_ai.usage.cache_read.input_tokens': 60,
      'gen_ai.usage.cache_write.input_tokens': 10,
      'gen_ai.usage.reasoning.output_tokens': 25,
      'server.address': '127.0.0.1',
      'server.port': 8080,
      'signalbox.provider': 'mine',
      'signalbox.model': 'best',
      'signalbox.provider_request_id': 'req-1',
    });
  });

  test('the span of a call has the figures that the caller set, and none of the caller’s text', () => {
    const { attributes } = callSpan(seen({ request: chatRequest(FULL) }));
    expect(stated(attributes)).toMatchObject({
      'gen_ai.request.stream': true,
      'gen_ai.request.max_tokens': 512,
      'gen_ai.request.temperature': 0.7,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.frequency_penalty': 0.1,
      'gen_ai.request.presence_penalty': 0.2,
      'gen_ai.request.choice.count': 3,
      'gen_ai.request.seed': 7,
      'gen_ai.output.type': 'json',
      'gen_ai.response.time_to_first_chunk': 0.34,
    });
    expect(JSON.stringify(attributes)).not.toContain(CANARY);
  });

  test('the span of a failed call has the kind of failure, and no figures without a usage', () => {
    const attempt = { ...ATTEMPT, failure: 'timeout' as const, firstPartMs: null, finishReasons: [], requestId: null };
    const { attributes, error } = callSpan(
      seen({ attempt, usage: null, request: chatRequest({ ...FULL, seed: 1e300 }) }),
    );
    expect(error).toBe('timeout');
    expect(attributes['error.type']).toBe('timeout');
    const names = Object.keys(stated(attributes));
    expect(names.filter((name) => /usage|response|seed|request_id/.test(name))).toEqual([]);
  });

  test('the span of a call omits impossible figures, and finish reasons that are not words', () => {
    const attempt = { ...ATTEMPT, finishReasons: ['stop', ''] };
    const { attributes } = callSpan(seen({ attempt, usage: { ...USAGE, units: { cached_input: 1_000 } } }));
    expect(attributes['gen_ai.usage.input_tokens']).toBeUndefined();
    expect(attributes['gen_ai.response.finish_reasons']).toEqual(['stop', 'other']);
  });

  test.each<[name: string, of: Partial<Provider>, address: string | undefined, port: number | undefined]>([
    ['openai', { adapter: 'openai', baseUrl: 'https://api.openai.com/v1' }, 'api.openai.com', 443],
    ['azure.ai.openai', { adapter: 'openai', baseUrl: 'https://me.openai.azure.com/v1' }, 'me.openai.azure.com', 443],
    ['anthropic', { adapter: 'anthropic', baseUrl: 'http://proxy/anthropic' }, 'proxy', 80],
    ['gcp.gemini', { adapter: 'gemini', baseUrl: 'http://[::1]:9000' }, '::1', 9000],
    ['mistral_ai', { baseUrl: 'https://api.mistral.ai/v1' }, 'api.mistral.ai', 443],
    ['x_ai', { name: 'xai', baseUrl: 'https://proxy.example' }, 'proxy.example', 443],
    ['groq', { name: 'fast', baseUrl: 'https://api.groq.com/openai/v1' }, 'api.groq.com', 443],
    ['mine', { baseUrl: 'https://notapi.groq.com.example/v1' }, 'notapi.groq.com.example', 443],
    ['constructor', { name: 'constructor', adapter: 'toString' }, '127.0.0.1', 8080],
    ['simulated', { name: 'simulated', adapter: 'simulated', baseUrl: null }, undefined, undefined],
  ])('the span names the provider as OpenTelemetry does: %s for %j', (name, of, address, port) => {
    const { attributes } = callSpan(seen({ provider: provider(of) }));
    expect(attributes).toMatchObject({ 'gen_ai.provider.name': name });
    expect([attributes['server.address'], attributes['server.port']]).toEqual([address, port]);
  });
});

const requestWith = (facts: ContextFacts = {}): RequestContext =>
  contextWith({ id: 1_234, route: '/v1/chat/completions', status: 200, ...facts });

const resultOf = (status: 'completed' | 'failed' | 'broken' | 'abandoned', error: ErrorCode | null) =>
  settled(
    { status, error, attempts: [ATTEMPT], usage: USAGE, charged: 1_500_000, saved: 500_000, firstPartMs: 350 },
    { routed_model: 'best', route_reason: 'auto:usual', credits_consumed: 1.5, cost_saved_credits: 0.5 },
  );

const routing = {
  facts: {
    operation: 'chat',
    model: 'auto',
    named: null,
    task: 'coding',
    rules: { constraints: [1], preferences: [] },
  },
  snapshot: { revision: 'abc', found: null, constraints: [{ name: 'first' }, { name: 'second' }] },
  rejections: [],
} as unknown as RoutingAttempt;

describe('the span of a request', () => {
  test('the span of a request has its route, its decision and its outcome', () => {
    const told = requestSpan(
      requestWith({ keyId: 'key_1', decisionId: 'dec_1', routing, result: resultOf('completed', null) }),
    );
    expect([told.name, told.error]).toEqual(['POST /v1/chat/completions', null]);
    expect(stated(told.attributes)).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'signalbox.request_id': 'req_000000000ya',
      'signalbox.key_id': 'key_1',
      'signalbox.decision_id': 'dec_1',
      'signalbox.operation': 'chat',
      'signalbox.selector': 'auto',
      'signalbox.task': 'coding',
      'signalbox.policy_revision': 'abc',
      'signalbox.constraints': ['second'],
      'signalbox.outcome': 'completed',
      'signalbox.model': 'best',
      'signalbox.route_reason': 'auto:usual',
      'signalbox.attempts': 1,
      'signalbox.credits': 1.5,
      'signalbox.saved_credits': 0.5,
      'signalbox.input_tokens': 100,
      'signalbox.output_tokens': 40,
      'signalbox.estimated': false,
      'signalbox.time_to_first_part': 0.35,
    });
  });

  test.each<[string, ContextFacts, string | null]>([
    ['a refusal, which is the caller’s mistake', { status: 400, code: 'invalid_json' }, null],
    ['a failure of ours', { status: 503, code: 'no_healthy_model' }, 'no_healthy_model'],
    ['a failure without a name', { status: 500 }, '500'],
    ['a stream that broke', { result: resultOf('broken', 'upstream_failed') }, 'upstream_failed'],
    ['an answer that failed', { status: 400, result: resultOf('failed', null) }, 'failed'],
    ['a caller who left', { status: 0, result: resultOf('abandoned', null) }, null],
    ['a stop of the server', { result: resultOf('abandoned', 'overloaded') }, 'overloaded'],
  ])('the span of a request says whether %s is an error', (_, more, error) => {
    const told = requestSpan(requestWith(more));
    expect(told.error).toBe(error);
    expect(told.attributes['error.type']).toBe(error ?? undefined);
    expect(told.attributes['signalbox.error_code']).toBe(more.code ?? undefined);
  });

  test('the span of a request repeats neither an unknown method nor an unknown path', () => {
    const { name, attributes } = requestSpan(requestWith({ route: 'other', status: 404, method: CANARY }));
    expect([name, attributes['http.request.method'], attributes['http.route']]).toEqual(['HTTP', '_OTHER', undefined]);
    expect(JSON.stringify(attributes)).not.toContain(CANARY);
  });
});

describe('the names of span attributes', () => {
  test('the names of attributes are OpenTelemetry’s own, or begin with `signalbox.`', () => {
    const known = new Set<unknown>(Object.values(conventions).filter((value) => typeof value === 'string'));
    // https://github.com/open-telemetry/semantic-conventions-genai/pull/440 renamed it; no version of the package has the new name.
    known.delete('gen_ai.usage.cache_creation.input_tokens');
    known.add('gen_ai.usage.cache_write.input_tokens');
    const used = [
      ...Object.keys(callSpan(seen({ request: chatRequest(FULL) })).attributes),
      ...Object.keys(requestSpan(requestWith({ routing, result: resultOf('completed', null) })).attributes),
    ];
    expect(used.length).toBeGreaterThan(40);
    expect(used.filter((name) => !name.startsWith('signalbox.') && !known.has(name))).toEqual([]);
  });
});
