import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ERRORS, type ErrorCode } from '../../src/core/errors.ts';
import { grant } from '../money/books.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { CONTRACT, expectError } from '../support/error-contract.ts';
import type { Behaviour, FakeUpstream } from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { withKey } from '../support/signalbox.ts';
import { startThreeModels, type ThreeModels } from '../support/three-models.ts';

let three: ThreeModels;
let box: Signalbox;
let first: FakeUpstream;
let models: string;
let chatOnly: string;
/** They have a balance, or a budget, of one microcredit. */
let [poor, tiny] = ['', ''];
/** Has a balance that pays for one request at a time. */
let modest: string;
/** May send one request a minute. */
let slow: string;

beforeAll(async () => {
  // The limit on headers is the program's own.
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

/** The ID in a key's text. */
const idOf = (key: string): string => key.split('_')[2]!;
const hello = [{ role: 'user', content: 'Say hello.' }];
const chat = (body: object, init?: RequestInit) =>
  box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body }, init);
const chatWith = (one: Signalbox, body: object = {}) =>
  one.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body });
const send = (text: string, init: RequestInit = {}) => box.post('/v1/chat/completions', null, { ...init, body: text });

/** What all upstreams answer next. */
function upstreamsSay(behaviour: Behaviour): void {
  for (const upstream of [three.first, three.second, three.third]) upstream.next(behaviour);
}

interface Case {
  readonly code: ErrorCode;
  readonly when: string;
  readonly param?: string;
  /** Where it differs from the table. */
  readonly retry?: boolean;
  readonly provoke: () => Promise<Response>;
}

const post = (path: string, body: string, headers: Record<string, string>) =>
  fetch(box.url + path, { method: 'POST', body, headers });
const JSON_TYPE = { 'content-type': 'application/json' };

const cases: readonly Case[] = [
  { code: 'invalid_api_key', when: 'there is no key', provoke: () => post('/v1/chat/completions', '{}', JSON_TYPE) },
  {
    code: 'invalid_api_key',
    when: 'the key is malformed',
    provoke: () => box.get('/v1/models', { headers: { authorization: 'Bearer sk-123' } }),
  },
  {
    code: 'invalid_api_key',
    when: 'the key is unknown',
    provoke: () => box.get('/v1/models', withKey('sb_live_nobody_0123456789012345678901234567890123456789012')),
  },
  {
    code: 'insufficient_permissions',
    when: 'the key lacks the scope',
    provoke: () => box.post('/v1/route', {}, withKey(chatOnly)),
  },
  {
    code: 'insufficient_permissions',
    when: 'a pinned model is not on the key’s list',
    param: 'model',
    provoke: () => chat({ model: 'best' }, withKey(models)),
  },
  { code: 'invalid_json', when: 'the body is no JSON', provoke: () => send('{"model":') },
  { code: 'invalid_json', when: 'the body is empty', provoke: () => send('') },
  {
    code: 'invalid_json',
    when: 'the body nests too deep',
    provoke: () => send('['.repeat(10_000) + ']'.repeat(10_000)),
  },
  { code: 'invalid_type', when: 'the body is a list', provoke: () => send('[]') },
  {
    code: 'invalid_type',
    when: 'a field has the wrong type',
    param: 'temperature',
    provoke: () => chat({ temperature: 'hot' }),
  },
  {
    code: 'invalid_type',
    when: 'a field of a part is wrong',
    param: 'messages[1].content[1].image_url.url',
    provoke: () =>
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
  },
  { code: 'invalid_type', when: 'messages is a text', param: 'messages', provoke: () => chat({ messages: 'hi' }) },
  {
    code: 'invalid_type',
    when: 'a number is too large for one',
    param: 'seed',
    provoke: () => send('{"model":"auto","messages":[{"role":"user","content":"x"}],"seed":1e999}'),
  },
  {
    code: 'invalid_value',
    when: 'a role is unknown',
    param: 'messages[0].role',
    provoke: () => chat({ messages: [{ role: 'robot', content: 'x' }] }),
  },
  {
    code: 'invalid_value',
    when: 'a part’s type is unknown',
    param: 'messages[0].content[0].type',
    provoke: () => chat({ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }),
  },
  { code: 'invalid_value', when: 'there are no messages', param: 'messages', provoke: () => chat({ messages: [] }) },
  {
    code: 'invalid_value',
    when: 'the two output limits differ',
    param: 'max_completion_tokens',
    provoke: () => chat({ max_tokens: 5, max_completion_tokens: 6 }),
  },
  {
    code: 'invalid_value',
    when: 'the tool to call is not there',
    param: 'tool_choice.function.name',
    provoke: () =>
      chat({
        tools: [{ type: 'function', function: { name: 'a' } }],
        tool_choice: { type: 'function', function: { name: 'b' } },
      }),
  },
  {
    code: 'missing_field',
    when: 'there is no model',
    param: 'model',
    provoke: () => send('{"messages":[{"role":"user","content":"x"}]}'),
  },
  {
    code: 'missing_field',
    when: 'a message says nothing',
    param: 'messages[0].content',
    provoke: () => chat({ messages: [{ role: 'user', content: null }] }),
  },
  {
    code: 'missing_field',
    when: 'a tool message answers no call',
    param: 'messages[0].tool_call_id',
    provoke: () => chat({ messages: [{ role: 'tool', content: 'x' }] }),
  },
  {
    code: 'unknown_field',
    when: 'route_strategy has a member that is not known',
    param: 'route_strategy.speed_weight',
    provoke: () => chat({ route_strategy: { speed_weight: 1 } }),
  },
  {
    code: 'unknown_field',
    when: 'a route query has one',
    param: 'tasktype',
    provoke: () => box.post('/v1/route', { tasktype: 'coding' }),
  },
  {
    code: 'out_of_range',
    when: 'the temperature is above 2',
    param: 'temperature',
    provoke: () => chat({ temperature: 2.1 }),
  },
  { code: 'out_of_range', when: 'the budget is 0', param: 'budget_limit', provoke: () => chat({ budget_limit: 0 }) },
  {
    code: 'out_of_range',
    when: 'both weights are 0',
    param: 'route_strategy',
    provoke: () => chat({ route_strategy: { cost_weight: 0, quality_weight: 0 } }),
  },
  {
    code: 'out_of_range',
    when: 'there are too many messages',
    param: 'messages',
    provoke: () => chat({ messages: Array(2049).fill(hello[0]) }),
  },
  {
    code: 'out_of_range',
    when: 'there are too many tools',
    param: 'tools',
    provoke: () => chat({ tools: Array(257).fill({ type: 'function', function: { name: 'a' } }) }),
  },
  {
    code: 'unsupported_parameter',
    when: 'a field would change the bill',
    param: 'service_tier',
    provoke: () => chat({ service_tier: 'priority' }),
  },
  { code: 'no_eligible_model', when: 'no model gives several choices', param: 'n', provoke: () => chat({ n: 2 }) },
  {
    code: 'budget_limit_too_low',
    when: 'the budget buys nothing',
    param: 'budget_limit',
    provoke: () => chat({ budget_limit: 0.0001 }),
  },
  {
    code: 'context_length_exceeded',
    when: 'the prompt fits no window',
    param: 'messages',
    provoke: () => chat({ messages: [{ role: 'user', content: 'word '.repeat(100_000) }] }),
  },
  {
    code: 'context_length_exceeded',
    when: 'the upstreams say so',
    param: 'messages',
    provoke: () => {
      upstreamsSay({ status: 400, error: { code: 'context_length_exceeded', message: 'too long' } });
      return chat({});
    },
  },
  {
    code: 'upstream_rejected_request',
    when: 'the upstream refuses the content',
    provoke: () => {
      first.next({ status: 400, error: { type: 'invalid_request_error', message: 'That image is no image.' } });
      return chat({ model: 'best' });
    },
  },
  { code: 'insufficient_quota', when: 'the balance is too small', provoke: () => chat({}, withKey(poor)) },
  {
    code: 'insufficient_quota',
    when: 'a recommendation could not be paid either',
    provoke: () => box.post('/v1/route', {}, withKey(poor)),
  },
  { code: 'request_exceeds_budget', when: 'the key has a tiny budget', provoke: () => chat({}, withKey(tiny)) },
  {
    code: 'budget_contended',
    when: 'another request holds what the balance has',
    provoke: async () => {
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
  },
  {
    code: 'rate_limit_exceeded',
    when: 'a key has had its requests of the minute',
    provoke: async () => {
      await box.post('/v1/route', {}, withKey(slow));
      return chat({}, withKey(slow));
    },
  },
  { code: 'model_not_found', when: 'a model is unknown', param: 'model', provoke: () => chat({ model: 'gpt-none' }) },
  { code: 'model_not_found', when: 'it is looked up', param: 'model', provoke: () => box.get('/v1/models/gpt/none') },
  {
    code: 'model_not_found',
    when: 'it is looked up by a host of two letters',
    param: 'model',
    provoke: () => box.get('/v1/models/x', { headers: { host: 'gw' } }),
  },
  { code: 'not_found', when: 'a path is unknown', provoke: () => box.get('/v1/engines') },
  { code: 'not_found', when: 'a path is unknown, without a key', provoke: () => fetch(`${box.url}/nothing`) },
  { code: 'not_found', when: 'a decision is unknown', provoke: () => box.get('/v1/decisions/dec_none') },
  {
    code: 'not_found',
    when: 'a decision is another key’s',
    provoke: async () =>
      box.get(`/v1/decisions/${(await answerOf(await chat({}))).platform.decision_id}`, withKey(models)),
  },
  { code: 'upgrade_required', when: 'no WebSocket is asked for', provoke: () => box.get('/v1/responses') },
  { code: 'method_not_allowed', when: 'chat is read', provoke: () => box.get('/v1/chat/completions') },
  {
    code: 'unsupported_media_type',
    when: 'the body is a form',
    provoke: () => send('a=b', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  },
  {
    code: 'request_too_large',
    when: 'the content-length is above the limit',
    provoke: () => send(`"${'a'.repeat(10_485_760)}"`),
  },
  {
    code: 'request_too_large',
    when: 'the body holds too many values',
    provoke: () => send(`[${'0,'.repeat(1_000_000)}0]`),
  },
  {
    code: 'headers_too_large',
    when: 'they have more than 16 KiB',
    provoke: () => box.get('/v1/models', { headers: { 'x-big': 'a'.repeat(20_000) } }),
  },
  {
    code: 'no_eligible_model',
    when: 'a ceiling leaves none',
    provoke: () => chat({ constraints: { max_latency_ms: 1 } }),
  },
  {
    code: 'upstream_rate_limited',
    when: 'every upstream says slow down',
    provoke: async () => {
      upstreamsSay({ status: 429, headers: { 'retry-after': '7' } });
      return chatWith(await three.afresh());
    },
  },
  {
    code: 'no_healthy_model',
    when: 'the only provider refuses the key',
    provoke: async () => {
      const fresh = await three.afresh();
      first.next({ fail: 'auth' });
      await chatWith(fresh, { model: 'best' });
      return chatWith(fresh, { model: 'best' });
    },
  },
  {
    code: 'upstream_failed',
    when: 'every attempt failed',
    provoke: () => {
      upstreamsSay({ status: 500 });
      return chat({ stream: true });
    },
  },
  {
    code: 'unsupported_parameter',
    when: 'a tool is of a kind that is not supported',
    param: 'tools[0].type',
    provoke: () => chat({ tools: [{ type: 'custom', custom: { name: 'x' } }] }),
  },
  {
    code: 'invalid_value',
    when: 'an image is given by no address',
    param: 'messages[0].content[0].image_url.url',
    provoke: () => chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }),
  },
  {
    code: 'unsupported_media_type',
    when: 'the body is compressed',
    provoke: () => box.post('/v1/chat/completions', {}, { headers: { 'content-encoding': 'gzip' } }),
  },
  {
    code: 'upstream_failed',
    when: 'the operator’s key is refused upstream: it will be again',
    retry: false,
    provoke: async () => {
      first.next({ status: 401, error: { message: `Incorrect API key provided: ${UPSTREAM_KEY}.` } });
      return chatWith(await three.afresh(), { model: 'best' });
    },
  },
];

/** Codes with a test of their own, in error-details.test.ts, key-changes.test.ts, hostile.test.ts, policy.test.ts, idempotency.test.ts, test/sign-in, test/security and test/http. */
const OWN_TEST: readonly string[] =
  'not_signed_in wrong_origin wrong_host key_suspended conflict in_flight thread_not_found idempotency_key_reused idempotency_answer_unavailable precondition_failed policy_invalid request_timeout length_required upstream_timeout upstream_out_of_credit overloaded internal_error payment_required payment_invalid agent_wallet_mismatch unsupported_x402_version payment_unavailable payment_unsettled learning_off nothing_to_score feedback_conflict feedback_window_over'.split(
    ' ',
  );

test('the table of errors is the contract’s, and every code of it is provoked here', () => {
  const table = Object.entries<{ status: number; type: string; retry: boolean; code?: string }>(ERRORS);
  const shown = table.map(([name, { status, type, retry, code }]) => [name, [status, type, code ?? name, retry]]);
  expect(Object.fromEntries(shown)).toEqual(CONTRACT);
  const provoked: ReadonlySet<string> = new Set([...OWN_TEST, ...cases.map(({ code }) => code)]);
  expect(table.filter(([name]) => !provoked.has(name))).toEqual([]);
});

describe('each error has its status, type, code, param and headers:', () => {
  for (const { code, when, param, retry, provoke } of cases) {
    test(`${code} when ${when}`, async () => void (await expectError(await provoke(), code, param, retry)));
  }
});
