import { describe, expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { calls, made, result as told } from '../support/tool-messages.ts';
import { wireAdapter, wireRequest } from '../support/wire-request.ts';

/**
 * Histories and tools that the API would reject. The adapter repairs such histories and tools if possible, and otherwise refuses them with
 * the name of the field.
 */
const adapter = wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'by_caller', threads: false }));

const user: ChatMessage = { role: 'user', content: 'a' };
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: 'r' }] });
const text = (said: string) => ({ type: 'text', text: said });

const callOf = (request: Partial<ChatRequest>, upstream = 'claude-opus-4-8') => providerCall(request, { upstream });
const bodyOf = (request: Partial<ChatRequest>) => wireRequest(adapter, callOf(request)).body;
const messagesOf = (messages: ChatMessage[]) => bodyOf({ messages }).messages;
const refusalOf = (request: Partial<ChatRequest>, upstream?: string) => adapter.request(callOf(request, upstream));

describe('results of tools', () => {
  test('without a call in the preceding answer become user content', () => {
    expect(messagesOf([user, calls('c1'), told('c1'), told('c1', 'again'), told('lost', 'late')])).toEqual([
      { role: 'user', content: [text('a')] },
      { role: 'assistant', content: [use('c1')] },
      { role: 'user', content: [result('c1'), text('again'), text('late')] },
    ]);
  });

  test.each<[string, ChatMessage[]]>([
    ['at the end', [user, calls('c1')]],
    ['for one of two calls', [user, calls('c1', 'c2'), told('c2')]],
    ['before the next answer', [user, calls('c1'), user, { role: 'assistant', content: 'b' }, told('c1')]],
  ])('that are missing %s are reported with the message that contains the call', (_, messages) => {
    expect(refusalOf({ messages })).toEqual({
      kind: 'rejected',
      message: 'messages[1] calls a tool, but no later message has its result',
    });
  });
});

test('a thinking block at the end is omitted', () => {
  const detail = {
    type: 'reasoning.text',
    text: 'Hm',
    signature: 's',
    format: 'anthropic-claude-v1',
    id: 'thought-0-1-0',
  };
  expect(
    messagesOf([user, { role: 'assistant', content: 'b', reasoning_details: [detail] } as ChatMessage, user]),
  ).toEqual([
    { role: 'user', content: [text('a')] },
    { role: 'assistant', content: [text('b')] },
    { role: 'user', content: [text('a')] },
  ]);
});

test('instructions alone stay a user’s turn when the thinking about them is sent back', () => {
  const system: ChatMessage = { role: 'system', content: 's' };
  const detail = {
    type: 'reasoning.text',
    text: 'Hm',
    signature: 's',
    format: 'anthropic-claude-v1',
    id: 'thought-0-0-0',
  };
  const answer = { role: 'assistant', content: 'b', reasoning_details: [detail] } as ChatMessage;
  expect(messagesOf([system])).toEqual([{ role: 'user', content: [text('s')] }]);
  expect(messagesOf([system, answer, user])).toEqual([
    { role: 'user', content: [text('s')] },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: 's' }, text('b')] },
    { role: 'user', content: [text('a')] },
  ]);
  // A greeting without thinking does not count as such an answer.
  expect(messagesOf([system, { role: 'assistant', content: 'b' }, user])).toHaveLength(2);
});

test.each([
  [{}, 'A city.'],
  [{ description: 'A town.' }, 'A town.'],
])('the description of an answer is in its schema, unless the schema has a description: %j', (own, description) => {
  const schema = { type: 'object', properties: {}, additionalProperties: false, ...own };
  const response_format = { type: 'json_schema', json_schema: { name: 'x', description: 'A city.', schema } } as const;
  expect(bodyOf({ response_format }).output_config).toEqual({
    format: { type: 'json_schema', schema: { ...schema, description } },
  });
});

describe('a field that cannot be repaired is refused by name:', () => {
  const tool = (name: string, parameters?: object) => ({ type: 'function' as const, function: { name, parameters } });
  const image = (url: string): ChatMessage[] => [
    { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
  ];

  test.each<[string, Partial<ChatRequest>]>([
    ['messages', { messages: [{ role: 'user', content: ' ' }] }],
    ['messages', { messages: [user, { role: 'assistant', content: 'b' }, { role: 'user', content: '' }] }],
    ['messages', { messages: [user, { role: 'assistant', tool_calls: [made('c', 'a.b')] }, told('c')] }],
    ['messages[0].content[0].image_url.url', { messages: image('http://example.com/a.png') }],
    ['messages[0].content[0].image_url.url', { messages: image('data:image/png;base64,') }],
    ['messages[0].content[0].image_url.url', { messages: image('data:image/png;base64,no bytes') }],
    ['tools[1].function.name', { tools: [tool('a'), tool('a.b')] }],
    ['tools[1].function.name', { tools: [tool('a'), tool('a')] }],
    ['tools[0].function.parameters', { tools: [tool('a', { type: 'object', anyOf: [] })] }],
  ])('%s', (field, request) => {
    expect(refusalOf(request)).toEqual({ kind: 'rejected', message: expect.stringContaining(`${field} `) });
  });

  test('the schema of parameters is always the schema of an object', () => {
    expect(bodyOf({ tools: [tool('a', { type: ['object', 'null'], properties: {} })] }).tools).toEqual([
      { name: 'a', input_schema: { type: 'object', properties: {} } },
    ]);
  });
});

test('calls of the same answer that share an ID get their results in order', () => {
  expect(messagesOf([user, calls('c', 'c'), told('c', 'first'), told('c', 'second')])).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: [use('c'), use('c_2')] },
    {
      role: 'user',
      content: [
        { tool_use_id: 'c', content: [text('first')] },
        { tool_use_id: 'c_2', content: [text('second')] },
      ],
    },
  ]);
});

test('the operator’s messages within a conversation become marked text of the user if the model does not accept them there', () => {
  const late = text('<system-reminder>\nlate\n</system-reminder>');
  const [a, b, c, d] = [...'abcd'].map(text);
  const call = { id: 'c1', type: 'function' as const, function: { name: 'f', arguments: '{}' } };
  const said: ChatMessage[] = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'system', content: 'late' },
    { role: 'user', content: 'c' },
    { role: 'assistant', content: 'd', tool_calls: [call] },
    { role: 'developer', content: 'late' },
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
  ];
  expect(wireRequest(adapter, callOf({ messages: said }, 'claude-haiku-4-5')).body).toMatchObject({
    system: [text('S')],
    messages: [
      { role: 'user', content: [a] },
      { role: 'assistant', content: [b] },
      { role: 'user', content: [late, c] },
      { role: 'assistant', content: [d, { type: 'tool_use' }] },
      // The API requires results before other content.
      { role: 'user', content: [{ type: 'tool_result' }, late] },
    ],
  });
});
