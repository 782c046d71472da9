import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { ERROR_CODES, ERRORS } from '../../../src/core/errors.ts';
import { errorType } from '../../../src/dialects/anthropic-messages/error.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/** Errors as the official SDK shows them: class, type, our code and the wrong field. */
const upstream = useUpstream({ key: UPSTREAM_KEY });
let box: Signalbox;
let client: Anthropic;

beforeAll(async () => {
  const budgets =
    'budgets:\n  - { name: tiny, match: \'key.labels.team == "tiny"\', limit_credits: 0.001, window: total }\n';
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, budgets);
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  client = new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 0 });
});
afterAll(() => box.stop());

const body = { model: 'best', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi.' }] };

async function failureOf(request: object, by = client): Promise<InstanceType<typeof Anthropic.APIError>> {
  const failed: unknown = await by.messages.create({ ...body, ...request }).catch((error: unknown) => error);
  if (!(failed instanceof Anthropic.APIError)) throw new Error('it did not fail');
  return failed;
}

const file = { type: 'file', file_id: 'file_1' };
const saying = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const text = { type: 'text', text: 'Hi.' };

describe('an error names the wrong field', () => {
  test.each<[string, object, string, string]>([
    ['no cap', { max_tokens: undefined }, 'max_tokens', 'missing_field'],
    ['a wrong role', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role', 'invalid_value'],
    ['a text without its text', saying({ type: 'text' }), 'messages[0].content[0].text', 'missing_field'],
    ['a hot temperature', { temperature: 1.5 }, 'temperature', 'out_of_range'],
    ['a choice without tools', { tool_choice: { type: 'any' } }, 'tool_choice', 'invalid_value'],
    [
      'a cache of a day',
      saying({ ...text, cache_control: { type: 'ephemeral', ttl: '1d' } }),
      'messages[0].content[0].cache_control.ttl',
      'invalid_value',
    ],
    [
      'an uploaded file',
      saying({ type: 'document', source: file }),
      'messages[0].content[0].source.type',
      'unsupported_parameter',
    ],
    ['a thread', { thread: { type: 'create' } }, 'thread', 'thread_unsupported_request'],
  ])('%s', async (_, request, param, code) => {
    const failed = await failureOf(request);
    expect(failed).toBeInstanceOf(Anthropic.BadRequestError);
    expect([failed.type, failed.errorCode, failed.details]).toEqual([
      'invalid_request_error',
      code,
      expect.objectContaining({ param }),
    ]);
    expect(failed.requestID).toMatch(/^req_/);
    expect((failed.error as { request_id: string }).request_id).toBe(failed.requestID!);
  });
});

test('a wrong key, an unknown model and a spent budget raise the classes that clients handle', async () => {
  const stranger = new Anthropic({ apiKey: 'sk-wrong', baseURL: box.url, maxRetries: 0 });
  expect(await failureOf({}, stranger)).toMatchObject({ status: 401, type: 'authentication_error' });
  expect(await failureOf({ model: 'none' })).toMatchObject({ status: 404, type: 'not_found_error' });
  const poor = await box.makeKey('--name', 'poor', '--label', 'team=tiny');
  const spent = await failureOf({}, new Anthropic({ apiKey: poor, baseURL: box.url, maxRetries: 0 }));
  expect(spent).toMatchObject({ status: 402, type: 'billing_error' });
  expect(spent.headers?.get('x-should-retry')).toBe('false');
});

test('a prompt that is too long gets the error text that clients search for', async () => {
  const failed = await failureOf({ messages: [{ role: 'user', content: 'word '.repeat(60_000) }] });
  expect([failed.status, failed.errorCode]).toEqual([400, 'context_length_exceeded']);
  expect(failed.apiMessage).toStartWith('prompt is too long: ');
});

test('the client retries a failing model, and an error after the first words ends the stream', async () => {
  upstream.next({ fail: 'server' }, { text: 'Hello!' });
  const patient = new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 2 });
  expect((await patient.messages.create(body)).content).toMatchObject([{ type: 'text', text: 'Hello!' }]);
  upstream.next({ text: ['one ', 'two '], cutAfter: 2 });
  const stream = client.messages.stream(body);
  const broken: unknown = await stream.finalMessage().catch((error: unknown) => error);
  expect(broken).toMatchObject({ type: 'api_error' });
});

test('every error has the Anthropic type of its status', () => {
  const types = new Map(ERROR_CODES.map((code) => [code, errorType(code)]));
  for (const [code, type] of types) {
    const { status, type: ours } = ERRORS[code];
    if (ours === 'invalid_request_error' && status === 400)
      expect([code, type]).toEqual([code, 'invalid_request_error']);
    if (status === 402) expect([code, type]).toEqual([code, 'billing_error']);
    if (status === 429) expect([code, type]).toEqual([code, 'rate_limit_error']);
    if (status >= 500) expect(['api_error', 'overloaded_error', 'timeout_error']).toContain(type);
  }
});

/**
 * Features that Anthropic bills without a price in the catalog. Signalbox must refuse these features only if it holds money for the
 * request.
 */
const BILLED: readonly (readonly [string, object, string])[] = [
  ['a fast mode', { speed: 'fast' }, 'speed'],
  ['a tier', { service_tier: 'flex' }, 'service_tier'],
  ['a region', { inference_geo: 'us' }, 'inference_geo'],
  ['fallbacks', { fallbacks: 'default' }, 'fallbacks'],
  ['a billing policy', { billing_policy: {} }, 'billing_policy'],
  ['a credit token', { fallback_credit_token: 'x' }, 'fallback_credit_token'],
  ['a compaction', { compaction: {} }, 'compaction'],
  [
    'a compacting edit',
    { context_management: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'compact_20260112' }] } },
    'context_management.edits[1].type',
  ],
];

test.each(BILLED)('Signalbox refuses %s by name if a fund applies, and only then', async (_, request, param) => {
  const failed = await failureOf({ ...request, budget_limit: 100 });
  expect([failed.status, failed.errorCode, failed.details]).toEqual([
    400,
    'unsupported_parameter',
    expect.objectContaining({ param }),
  ]);
  expect(await client.messages.create({ ...body, ...request })).toMatchObject({ type: 'message' });
});

test('Signalbox refuses a cache of one hour without a price if a fund applies', async () => {
  const marked = saying(text, { ...text, cache_control: { type: 'ephemeral', ttl: '1h' } });
  expect((await failureOf({ ...marked, budget_limit: 100 })).errorCode).toBe('unsupported_parameter');
  expect(await client.messages.create({ ...body, ...(marked as object) })).toMatchObject({ type: 'message' });
});

test.each([{ container: 'c' }, { mcp_servers: [{ type: 'url' }] }])(
  'a feature that only Anthropic has excludes models of other services: %j',
  async (request) => {
    const failed = await failureOf(request);
    expect([failed.status, failed.errorCode]).toEqual([422, 'no_eligible_model']);
    expect(failed.apiMessage).toContain('anthropic_messages');
  },
);

test('Signalbox refuses by name a tool that only Anthropic runs if no Anthropic model is available', async () => {
  const failed = await failureOf({ tools: [{ type: 'web_search_20250305', name: 'w' }] });
  expect([failed.status, failed.errorCode, failed.details]).toEqual([
    400,
    'unsupported_parameter',
    expect.objectContaining({ param: 'tools[0].type' }),
  ]);
  expect(failed.apiMessage).toContain('`tools[0]` (`web_search_20250305`)');
});
