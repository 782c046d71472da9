import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { passRequest } from '../../plugins/providers/anthropic/passthrough.ts';
import { serviceOf } from '../../plugins/providers/anthropic/service.ts';
import type { HttpCall, ProviderCall } from '../../src/contract/provider.ts';
import { wrapState } from '../../src/core/request/wrapped-state.ts';
import { createMessage } from '../../src/dialects/anthropic-messages/surface.ts';
import { providerCall } from '../support/provider-call.ts';
import { readOn } from '../support/read-request.ts';

function passed(body: object, call: Partial<ProviderCall> = {}, headers = new Headers()): HttpCall {
  const { request } = readOn(createMessage, body, headers);
  return passRequest(
    { ...providerCall(), upstream: 'claude-haiku-5-5', outputCap: 500, stream: false, ...call, request },
    serviceOf({ service: 'anthropic' }),
  );
}

const text = fc.string({ maxLength: 5, unit: 'binary' });
const mark = fc.constantFrom({}, { cache_control: null }, { cache_control: { type: 'ephemeral', ttl: '5m' } });
const extra = fc.dictionary(
  text.map((name) => `x_${name}`),
  fc.jsonValue({ maxDepth: 2 }),
  { maxKeys: 2, noNullPrototype: true },
);
const withMarks = (block: fc.Arbitrary<object>) =>
  fc.tuple(block, mark, extra).map(([members, marks, extras]) => ({ ...members, ...marks, ...extras }));

const said = withMarks(text.map((words) => ({ type: 'text', text: words })));
const thought = fc.tuple(text, text).map(([thinking, signature]) => ({ type: 'thinking', thinking, signature }));
const redacted = text.map((data) => ({ type: 'redacted_thinking', data }));
const call = withMarks(extra.map((input) => ({ type: 'tool_use', id: 't', name: 'f', input })));
const result = withMarks(
  fc.array(said, { maxLength: 2 }).map((content) => ({ type: 'tool_result', tool_use_id: 't', content })),
);
const native = withMarks(text.map((id) => ({ type: 'search_result', id })));

const message = fc.oneof(
  fc.tuple(text, extra).map(([content, extras]) => ({ role: 'user', content, ...extras })),
  fc.array(fc.oneof(said, result, native), { maxLength: 3 }).map((content) => ({ role: 'user', content })),
  fc
    .array(fc.oneof(thought, redacted, said, call), { maxLength: 4 })
    .map((content) => ({ role: 'assistant', content })),
);
const bodies = fc
  .tuple(fc.array(message, { minLength: 1, maxLength: 4 }), fc.array(said, { maxLength: 3 }), extra, fc.boolean())
  .map(([messages, system, extras, isNull]) => ({
    model: 'auto',
    ...extras,
    max_tokens: 900,
    system,
    messages,
    thinking: isNull ? null : { type: 'adaptive' },
    context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
  }));

const ours = { budget_limit: 5, constraints: { max_latency_ms: 9_000 }, route_strategy: { cost_weight: 1 } };

const isKept = (send: (body: object) => HttpCall) =>
  fc.property(bodies, (body) => {
    expect(send({ ...body, ...ours }).body).toBe(
      JSON.stringify({ ...body, model: 'claude-haiku-5-5', max_tokens: 500 }),
    );
  });

describe('a request that is passed on unchanged', () => {
  test('keeps every block, mark, signature, unknown member and their order', () => {
    fc.assert(isKept(passed), { numRuns: 300 });
  });

  test.each<[string, (body: string) => string]>([
    ['a mark', (body) => body.replace('"cache_control":{"type":"ephemeral","ttl":"5m"}', '"cache_control":null')],
    ['a null', (body) => body.replace('"thinking":null,', '')],
    ['a signature', (body) => body.replace(/"signature":"[^"]+/, '"signature":"')],
  ])('the test detects a request that loses %s', (_, spoil) => {
    const spoilt = (body: object): HttpCall => {
      const sent = passed(body);
      return { ...sent, body: spoil(sent.body) };
    };
    expect(fc.check(isKept(spoilt), { numRuns: 500, endOnFailure: true }).failed).toBe(true);
  });

  const hello = { model: 'best', max_tokens: 4_000, messages: [{ role: 'user', content: 'Hi.' }] };
  const sentOf = (body: object, more: Partial<ProviderCall> = {}) =>
    JSON.parse(passed({ ...hello, ...body }, more).body);

  test('requests a stream if the answer is to be streamed, whatever its caller receives', () => {
    expect(sentOf({ stream: true }).stream).toBeUndefined();
    expect(sentOf({}, { stream: true }).stream).toBe(true);
  });

  test('keeps a thinking budget above the caller’s own cap, which the provider must check', () => {
    const thinking = { type: 'enabled', budget_tokens: 9_000 };
    expect(sentOf({ thinking }, { outputCap: 4_000 }).thinking).toEqual(thinking);
  });

  test('limits its thinking to half of a lowered cap, or removes it if that is below the minimum budget', () => {
    const thinking = { type: 'enabled', budget_tokens: 3_000 };
    const half = { ...thinking, budget_tokens: 1_900 };
    expect(sentOf({ thinking: half }, { outputCap: 3_800 }).thinking).toEqual(half);
    expect(sentOf({ thinking }, { outputCap: 3_001 }).thinking).toEqual({ ...thinking, budget_tokens: 1_500 });
    expect(sentOf({ thinking }, { outputCap: 1_025 }).thinking).toEqual({ ...thinking, budget_tokens: 1_024 });
    const { body, dropped } = passed({ ...hello, thinking }, { outputCap: 1_024 });
    expect([JSON.parse(body).thinking, dropped]).toEqual([undefined, ['thinking']]);
  });

  test('loses thinking blocks of other providers’ models, and messages with nothing else', () => {
    const foreign = { type: 'thinking', thinking: 'Hm.', signature: wrapState({}) };
    const own = { type: 'thinking', thinking: 'Hm.', signature: 'sig' };
    const kept = { role: 'assistant', content: [own, { type: 'text', text: 'Hi.' }] };
    const messages = [
      { role: 'assistant', content: [foreign] },
      { role: 'assistant', content: [foreign, ...kept.content] },
    ];
    expect(sentOf({ messages }).messages).toEqual([kept]);
  });

  const say = (role: string, content: unknown) => ({ role, content });
  const marked = say('user', [{ type: 'text', text: '<system-reminder>\nS\n</system-reminder>' }]);
  const [user, assistant, system] = [say('user', 'a'), say('assistant', 'b'), say('system', 'S')];
  const searching = say('assistant', [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }]);
  test.each<[string, object[], object[]]>([
    ['between a user’s turn and an answer', [user, system, assistant, user], [user, system, assistant, user]],
    ['at the end', [user, system], [user, system]],
    ['after a tool that the provider runs', [user, searching, system], [user, searching, system]],
    ['behind an answer', [user, assistant, system], [user, assistant, marked]],
    ['before the user', [user, system, user], [user, marked, user]],
    ['behind another', [user, assistant, system, system], [user, assistant, marked, system]],
    ['at the beginning', [system, user], [marked, user]],
  ])(
    'keeps a system message %s unchanged, or marked as text if the provider rejects it there',
    (_, messages, expected) => {
      expect(sentOf({ messages }).messages).toEqual(expected);
      const older = expected.map((one) => (one === system ? marked : one));
      expect(sentOf({ messages }, { upstream: 'claude-haiku-4-5' }).messages).toEqual(older);
    },
  );
});

describe('the version 2026-10-21 of Anthropic’s API, which refuses temperature, top_p and top_k', () => {
  const SAMPLING = { temperature: 0.3, top_p: 0.9, top_k: 5 };
  const body = { model: 'auto', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...SAMPLING };
  // This model accepts the three fields with the earlier version.
  const sent = (version: string | null, isSelected: true | undefined) => {
    const headers = new Headers(version === null ? {} : { 'anthropic-version': version });
    const call = passed(body, { upstream: 'claude-haiku-4-5', isSelected }, headers);
    const { temperature, top_p, top_k } = JSON.parse(call.body);
    return { temperature, top_p, top_k, dropped: call.dropped };
  };

  test.each(['2026-10-21', '2027-01-01'])(
    'a selector’s request with the version %s is sent without the fields',
    (version) => {
      expect<unknown>(sent(version, true)).toEqual({ dropped: ['temperature', 'top_p', 'top_k'] });
    },
  );

  test('a request with an earlier version keeps the fields, and so does a request that names its model', () => {
    expect(sent('2023-06-01', true)).toEqual({ ...SAMPLING, dropped: [] });
    expect(sent(null, true)).toEqual({ ...SAMPLING, dropped: [] });
    expect(sent('2026-10-21', undefined)).toEqual({ ...SAMPLING, dropped: [] });
  });
});
