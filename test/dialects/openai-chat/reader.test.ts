import { expect, test } from 'bun:test';
import type { ChatRequest } from '../../../src/core/api/chat-request.ts';
import { readChatRequest, readRouteRequest } from '../../../src/dialects/openai-chat/reader.ts';

const BODY: ChatRequest & Record<string, unknown> = {
  model: 'auto',
  stream: true,
  top_k: 5,
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      name: 'ada',
      content: [
        { type: 'text', text: 'Look:', cache_control: { type: 'ephemeral' } } as { type: 'text'; text: string },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
        { type: 'file', file: { file_data: 'data:text/plain;base64,AA==', filename: 'a.txt' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      refusal: 'No.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      ...{ reasoning_details: [{ data: 'x' }] },
    },
    { role: 'tool', tool_call_id: 'c1', content: 'done' },
  ],
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
  tool_choice: { type: 'function', function: { name: 'look' } },
  response_format: { type: 'json_schema', json_schema: { name: 'form', schema: { type: 'object' } } },
  max_tokens: 7,
  stop: 'END',
  user: 'u1',
  metadata: { team: 'red' },
  budget_limit: 2,
  constraints: { max_latency_ms: 900 },
  route_strategy: { cost_weight: 1 },
};

const request = readChatRequest(BODY);

test('a chat request is read into turns of typed parts, each with its path in the original', () => {
  const { turns, tools, toolChoice } = request.conversation;
  const [system, user, assistant, result] = turns;
  expect(turns.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  expect(system!.parts).toEqual([
    {
      type: 'text',
      text: 'Be brief.',
      at: ['messages', 0, 'content'],
      valueAt: ['messages', 0, 'content'],
      extras: {},
    },
  ]);
  expect(user!.name).toBe('ada');
  expect(user!.parts.map(({ type }) => type)).toEqual(['text', 'image', 'audio', 'file']);
  expect(user!.parts[0]!.extras).toEqual({ cache_control: { type: 'ephemeral' } });
  expect(assistant!.parts.map(({ type }) => type)).toEqual(['refusal', 'tool-call']);
  expect(assistant!.extras).toEqual({ reasoning_details: [{ data: 'x' }] });
  expect(result!.toolCallId).toBe('c1');
  expect(tools.map(({ name, at }) => ({ name, at }))).toEqual([{ name: 'look', at: ['tools', 0] }]);
  expect(toolChoice).toEqual({ name: 'look' });
});

test('every path leads to the value that was read from it', () => {
  for (const { parts, at } of request.conversation.turns) {
    expect(request.originalAt(at)).toBeDefined();
    for (const part of parts) {
      expect(request.originalAt(part.at)).toBeDefined();
      const value =
        part.type === 'tool-call'
          ? part.arguments
          : 'text' in part
            ? part.text
            : 'url' in part
              ? part.url
              : 'data' in part
                ? part.data
                : undefined;
      expect<unknown>(request.originalAt(part.valueAt)).toBe(value);
    }
  }
  const { answerFormat } = request.settings;
  expect(request.originalAt(answerFormat!.valueAt)).toBe(
    BODY.response_format && Reflect.get(BODY.response_format, 'json_schema'),
  );
});

test('paths of messages and calls are correct in a long conversation, and no plugin can change them', () => {
  const call = { id: 'c', type: 'function' as const, function: { name: 'look', arguments: '{}' } };
  const calls = Array.from({ length: 20 }, (_, at) => ({ ...call, function: { name: 'look', arguments: `${at}` } }));
  const messages = Array.from({ length: 1_100 }, (_, at) => ({
    role: 'assistant' as const,
    content: `${at}`,
    tool_calls: calls,
  }));
  const long = readChatRequest({ ...BODY, messages });
  for (const { at, parts } of long.conversation.turns) {
    expect(at).toEqual(['messages', at[1]!]);
    expect(long.originalAt(parts[0]!.valueAt)).toBe(`${at[1]}`);
    expect(parts.slice(1).map((part) => long.originalAt(part.valueAt))).toEqual(calls.map((_, nth) => `${nth}`));
  }
  const { at } = long.conversation.turns[0]!;
  expect(() => Array.prototype.push.call(at, 'content')).toThrow(TypeError);
});

test('settings, routing fields and fields that are not in the dialect are separated', () => {
  const { settings, routing, extras, model, stream, operation } = request;
  expect({ model, stream, operation }).toEqual({ model: 'auto', stream: true, operation: 'chat' });
  expect(settings).toMatchObject({ outputTokensMax: 7, stop: 'END', user: 'u1' });
  expect(settings.answerFormat).toMatchObject({ type: 'json-schema', name: 'form', schema: { type: 'object' } });
  expect(routing).toMatchObject({
    budgetCredits: 2,
    latencyMsMax: 900,
    weights: { cost: 1 },
    metadata: { team: 'red' },
  });
  expect(extras).toEqual({ top_k: 5 });
});

test('a request keeps what was read, and an edited request is read again and shares the rest of the original', () => {
  expect(request.conversation).toBe(request.conversation);
  const masked = request.edit([{ at: request.conversation.turns[0]!.parts[0]!.valueAt, value: '…' }]);
  expect(masked.conversation.turns[0]!.parts[0]).toMatchObject({ text: '…' });
  expect(masked.originalAt(['messages', 1])).toBe(request.originalAt(['messages', 1]));
  expect(request.edit([])).toBe(request);
});

test('an older function call and its result are read as a tool call and its result', () => {
  const { turns } = readChatRequest({
    model: 'auto',
    messages: [
      { role: 'assistant', content: null, ...{ function_call: { name: 'look', arguments: '{"a":1}' } } },
      { role: 'function', name: 'look', content: 'done' },
    ],
  }).conversation;
  expect(turns[0]!.parts[0]).toMatchObject({
    type: 'tool-call',
    id: 'function_look',
    name: 'look',
    arguments: '{"a":1}',
  });
  expect(turns[1]).toMatchObject({ role: 'tool', toolCallId: 'function_look' });
});

test('a member named `__proto__` is an extra field like others', () => {
  const body: ChatRequest = JSON.parse(
    '{"model":"auto","messages":[{"role":"user","content":"a"}],"__proto__":{"x":1}}',
  );
  expect(JSON.stringify(readChatRequest(body).extras)).toBe('{"__proto__":{"x":1}}');
});

test('a route query without messages has no turns, the selector `auto`, and the sizes that it states', () => {
  const query = readRouteRequest({ task_type: 'coding', estimated_input_tokens: 9 });
  expect(query.model).toBe('auto');
  expect(query.conversation.turns).toEqual([]);
  expect(query.routing).toMatchObject({ task: 'coding', inputTokens: 9 });
});
