import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { ERRORS, type ErrorCode } from '../../src/core/errors.ts';
import { grant } from '../gateway/money/books.ts';
import { ANSWERS } from '../support/answer-schemas.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { CONTRACT, expectError } from '../support/error-contract.ts';
import type { Behaviour, FakeUpstream } from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { withKey } from '../support/signalbox.ts';
import { strict } from '../support/strict-schema.ts';
import { startThreeModels, type ThreeModels } from '../support/three-models.ts';

let three: ThreeModels;
let box: Signalbox;
let first: FakeUpstream;
let models: string;
let chatOnly: string;
/** A key with a balance, and a key with a budget, of one microcredit. */
let [poor, tiny] = ['', ''];
/** A key with a balance that pays for one request at a time. */
let modest: string;
/** A key that may send one request a minute. */
let slow: string;

beforeAll(async () => {
  // The server runs as a process, because the limit on headers belongs to the program.
  three = await startThreeModels({ isProcess: true });
  ({ box, first } = three);
  models = await three.makeKey('--model', 'plain');
  chatOnly = await three.makeKey('--scope', 'chat');
  poor = await three.makeKey();
  tiny = await three.makeKey('--budget', '0.000001/day');
  modest = await three.makeKey();
  slow = await three.makeKey('--label', 'pace=once');
  await grant(box.data, idOf(poor), 1);
  await grant(box.data, idOf(modest), 700_000);
});

afterAll(() => three.stop());

/** Returns the ID in a key's text. */
const idOf = (key: string): string => key.split('_')[2]!;
const hello = [{ role: 'user', content: 'Say hello.' }];
const chat = (body: object, init?: RequestInit) =>
  box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body }, init);
const chatWith = (one: Signalbox, body: object = {}) =>
  one.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body });
const send = (text: string, init: RequestInit = {}) => box.post('/v1/chat/completions', null, { ...init, body: text });

/** Sets the next answer of all upstreams. */
function upstreamsSay(behaviour: Behaviour): void {
  for (const upstream of [three.first, three.second, three.third]) upstream.next(behaviour);
}

/**
 * The error code and when it comes, the field, a request that provokes it, and whether to retry if that differs from the table of errors.
 */
type Case = readonly [code: ErrorCode, when: string, param: string | null, () => Promise<Response>, retry?: boolean];

const post = (path: string, body: string, headers: Record<string, string>) =>
  fetch(box.url + path, { method: 'POST', body, headers });
const JSON_TYPE = { 'content-type': 'application/json' };

const cases: readonly Case[] = [
  ['invalid_api_key', 'there is no key', null, () => post('/v1/chat/completions', '{}', JSON_TYPE)],
  [
    'invalid_api_key',
    'the key is malformed',
    null,
    () => box.get('/v1/models', { headers: { authorization: 'Bearer sk-123' } }),
  ],
  [
    'invalid_api_key',
    'the key is unknown',
    null,
    () => box.get('/v1/models', withKey('sb_live_nobody_0123456789012345678901234567890123456789012')),
  ],
  ['insufficient_permissions', 'the key lacks the scope', null, () => box.post('/v1/route', {}, withKey(chatOnly))],
  [
    'insufficient_permissions',
    'the named model is not on the key’s list',
    'model',
    () => chat({ model: 'best' }, withKey(models)),
  ],
  ['invalid_json', 'the body is not JSON', null, () => send('{"model":')],
  ['invalid_json', 'the body is empty', null, () => send('')],
  ['invalid_json', 'the body nests too deep', null, () => send('['.repeat(10_000) + ']'.repeat(10_000))],
  ['invalid_type', 'the body is a list', null, () => send('[]')],
  ['invalid_type', 'a field has the wrong type', 'temperature', () => chat({ temperature: 'hot' })],
  [
    'invalid_type',
    'a field of a content part is wrong',
    'messages[1].content[1].image_url.url',
    () =>
      chat({
        messages: [
          hello[0],
          {
            role: 'user',
            content: [
              { type: 'text', text: 'x' },
              { type: 'image_url', image_url: { url: 5 } },
            ],
          },
        ],
      }),
  ],
  ['invalid_type', 'messages is a text', 'messages', () => chat({ messages: 'hi' })],
  [
    'invalid_type',
    'a number is too large for a double',
    'seed',
    () => send('{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1e999}'),
  ],
  [
    'invalid_value',
    'a role is unknown',
    'messages[0].role',
    () => chat({ messages: [{ role: 'robot', content: 'x' }] }),
  ],
  [
    'invalid_value',
    'the type of a content part is unknown',
    'messages[0].content[0].type',
    () => chat({ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }),
  ],
  ['invalid_value', 'there are no messages', 'messages', () => chat({ messages: [] })],
  [
    'invalid_value',
    'the two output limits differ',
    'max_completion_tokens',
    () => chat({ max_tokens: 5, max_completion_tokens: 6 }),
  ],
  [
    'invalid_value',
    'the tool to call does not exist',
    'tool_choice.function.name',
    () =>
      chat({
        tools: [{ type: 'function', function: { name: 'a' } }],
        tool_choice: { type: 'function', function: { name: 'b' } },
      }),
  ],
  ['missing_field', 'there is no model', 'model', () => send('{"messages":[{"role":"user","content":"x"}]}')],
  [
    'missing_field',
    'a message says nothing',
    'messages[0].content',
    () => chat({ messages: [{ role: 'user', content: null }] }),
  ],
  [
    'missing_field',
    'a tool message has no matching call',
    'messages[0].tool_call_id',
    () => chat({ messages: [{ role: 'tool', content: 'x' }] }),
  ],
  [
    'unknown_field',
    'route_strategy has an unknown member',
    'route_strategy.speed_weight',
    () => chat({ route_strategy: { speed_weight: 1 } }),
  ],
  ['unknown_field', 'a route query has one', 'tasktype', () => box.post('/v1/route', { tasktype: 'coding' })],
  ['out_of_range', 'the temperature is above 2', 'temperature', () => chat({ temperature: 2.1 })],
  ['out_of_range', 'the budget is 0', 'budget_limit', () => chat({ budget_limit: 0 })],
  [
    'out_of_range',
    'both weights are 0',
    'route_strategy',
    () => chat({ route_strategy: { cost_weight: 0, quality_weight: 0 } }),
  ],
  ['out_of_range', 'there are too many messages', 'messages', () => chat({ messages: Array(2049).fill(hello[0]) })],
  [
    'out_of_range',
    'there are too many tools',
    'tools',
    () => chat({ tools: Array(257).fill({ type: 'function', function: { name: 'a' } }) }),
  ],
  [
    'unsupported_parameter',
    'a field would change the bill',
    'modalities',
    () => chat({ modalities: ['text', 'audio'] }),
  ],
  ['no_eligible_model', 'no model gives several choices', 'n', () => chat({ n: 2 })],
  ['budget_limit_too_low', 'the budget buys nothing', 'budget_limit', () => chat({ budget_limit: 0.0001 })],
  [
    'context_length_exceeded',
    'the prompt is too long for every context window',
    'messages',
    () => chat({ messages: [{ role: 'user', content: 'word '.repeat(100_000) }] }),
  ],
  [
    'context_length_exceeded',
    'the upstreams report that the prompt is too long',
    'messages',
    () => {
      upstreamsSay({ status: 400, error: { code: 'context_length_exceeded', message: 'too long' } });
      return chat({});
    },
  ],
  [
    'upstream_rejected_request',
    'the upstream refuses the content',
    null,
    () => {
      first.next({ status: 400, error: { type: 'invalid_request_error', message: 'That image is no image.' } });
      return chat({ model: 'best' });
    },
  ],
  ['insufficient_quota', 'the balance is too small', null, () => chat({}, withKey(poor))],
  [
    'insufficient_quota',
    'the funds cannot pay for a recommendation either',
    null,
    () => box.post('/v1/route', {}, withKey(poor)),
  ],
  ['request_exceeds_budget', 'the key has a tiny budget', null, () => chat({}, withKey(tiny))],
  [
    'budget_contended',
    'another request holds the whole balance',
    null,
    async () => {
      const leaving = new AbortController();
      const before = first.requests.length;
      first.next({ hang: 'headers' });
      const asked = { model: 'best', max_tokens: 100 };
      const held = chat(asked, { ...withKey(modest), signal: leaving.signal }).catch(() => null);
      await waitFor(() => first.requests.length > before);
      const response = await chat(asked, withKey(modest));
      leaving.abort();
      await held;
      return response;
    },
  ],
  [
    'rate_limit_exceeded',
    'a key has used up its requests of the minute',
    null,
    async () => {
      await box.post('/v1/route', {}, withKey(slow));
      return chat({}, withKey(slow));
    },
  ],
  ['model_not_found', 'a model is unknown', 'model', () => chat({ model: 'gpt-none' })],
  ['model_not_found', 'the list of models has no such model', 'model', () => box.get('/v1/models/gpt/none')],
  [
    'model_not_found',
    'the model is requested through a host name of two letters',
    'model',
    () => box.get('/v1/models/x', { headers: { host: 'gw' } }),
  ],
  ['not_found', 'a path is unknown', null, () => box.get('/v1/engines')],
  ['not_found', 'a path is unknown, without a key', null, () => fetch(`${box.url}/nothing`)],
  ['not_found', 'a decision is unknown', null, () => box.get('/v1/decisions/dec_none')],
  [
    'not_found',
    'a decision belongs to another key',
    null,
    async () => box.get(`/v1/decisions/${(await answerOf(await chat({}))).platform.decision_id}`, withKey(models)),
  ],
  ['upgrade_required', 'a request to a WebSocket route is no upgrade', null, () => box.get('/v1/responses')],
  ['method_not_allowed', 'chat is read', null, () => box.get('/v1/chat/completions')],
  [
    'unsupported_media_type',
    'the body is a form',
    null,
    () => send('a=b', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  ],
  ['request_too_large', 'the content-length is above the limit', null, () => send(`"${'a'.repeat(10_485_760)}"`)],
  ['request_too_large', 'the body holds too many values', null, () => send(`[${'0,'.repeat(1_000_000)}0]`)],
  [
    'headers_too_large',
    'the headers have more than 16 KiB',
    null,
    () => box.get('/v1/models', { headers: { 'x-big': 'a'.repeat(20_000) } }),
  ],
  ['no_eligible_model', 'a ceiling leaves none', null, () => chat({ constraints: { max_latency_ms: 1 } })],
  [
    'upstream_rate_limited',
    'every upstream answers 429',
    null,
    async () => {
      upstreamsSay({ status: 429, headers: { 'retry-after': '7' } });
      return chatWith(await three.afresh());
    },
  ],
  [
    'upstream_failed',
    'the only provider has refused the key before',
    null,
    async () => {
      const fresh = await three.afresh();
      first.next({ fail: 'auth' });
      await chatWith(fresh, { model: 'best' });
      return chatWith(fresh, { model: 'best' });
    },
    false,
  ],
  [
    'upstream_failed',
    'every attempt failed',
    null,
    () => {
      upstreamsSay({ status: 500 });
      return chat({ stream: true });
    },
  ],
  [
    'unsupported_parameter',
    'a tool is of a kind that is not supported',
    'tools[0].type',
    () => chat({ tools: [{ type: 'custom', custom: { name: 'x' } }] }),
  ],
  [
    'invalid_value',
    'an image has no valid address',
    'messages[0].content[0].image_url.url',
    () => chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }),
  ],
  [
    'unsupported_media_type',
    'the body is compressed',
    null,
    () => box.post('/v1/chat/completions', {}, { headers: { 'content-encoding': 'gzip' } }),
  ],
  [
    'upstream_failed',
    'the upstream refuses the operator’s key, which a retry cannot change',
    null,
    async () => {
      first.next({ status: 401, error: { message: `Incorrect API key provided: ${UPSTREAM_KEY}.` } });
      return chatWith(await three.afresh(), { model: 'best' });
    },
    false,
  ],
];

/**
 * Codes with a test of their own, in error-details.test.ts, key-changes.test.ts, policy.test.ts, idempotency.test.ts,
 * model-servers.test.ts, test/sign-in, test/security, test/http and test/system/e2e/hostile.test.ts.
 */
const OWN_TEST: readonly string[] =
  'not_signed_in wrong_origin wrong_host key_suspended conflict in_flight thread_not_found idempotency_key_reused idempotency_answer_unavailable precondition_failed policy_invalid request_timeout length_required upstream_timeout upstream_out_of_credit no_healthy_model overloaded internal_error payment_required payment_invalid agent_wallet_mismatch unsupported_x402_version payment_unavailable payment_unsettled learning_off nothing_to_score feedback_conflict feedback_window_over content_blocked guard_failed'.split(
    ' ',
  );

test('the table of errors equals the OpenAPI contract, and a test provokes every error code in the table', () => {
  const table = Object.entries<{ status: number; type: string; retry: boolean; code?: string }>(ERRORS);
  const shown = table.map(([name, { status, type, retry, code }]) => [name, [status, type, code ?? name, retry]]);
  expect(Object.fromEntries(shown)).toEqual(CONTRACT);
  const provoked: ReadonlySet<string> = new Set([...OWN_TEST, ...cases.map(([code]) => code)]);
  expect(table.filter(([name]) => !provoked.has(name))).toEqual([]);
});

/** Codes of requests whose key Signalbox has not read, and of people. */
const UNKNOWN_CALLER: ReadonlySet<ErrorCode> = new Set([
  'invalid_api_key',
  'not_signed_in',
  'wrong_host',
  'headers_too_large',
]);

/** Checks that an answer is found by the ID of its request, exactly if its caller is known. The entry follows the answer. */
async function expectFound(response: Response, code: ErrorCode, isKnown: boolean): Promise<void> {
  const id = response.headers.get('x-request-id');
  const look = () => fetch(new URL(`/admin/requests/${id}`, response.url), withKey(box.key));
  if (!isKnown) expect((await look()).status).toBe(404);
  else {
    const found = await waitFor(async () => {
      const answer = await look();
      return answer.ok ? answer : null;
    });
    expect(await found.json()).toMatchObject({ request_id: id, error: code });
  }
}

describe('each error has its documented status, type, code, param and headers, and no other field:', () => {
  const documented = TypeCompiler.Compile(strict(ANSWERS.ErrorBody));
  for (const [code, when, param, provoke, retry] of cases) {
    test(`${code} when ${when}`, async () => {
      const response = await provoke();
      const error = await expectError(response, code, param, retry);
      expect([...documented.Errors({ error })]).toEqual([]);
      await expectFound(response, code, !UNKNOWN_CALLER.has(code) && !when.endsWith('without a key'));
    });
  }
});
