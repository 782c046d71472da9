import { describe, expect, test } from 'bun:test';
import { simulated } from '../../plugins/providers/simulated.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { Pause, ProviderCall } from '../../src/contract/provider.ts';
import type { ChatRequest, ChatTool } from '../../src/core/api/chat-request.ts';
import { estimateTokens } from '../../src/core/request/tokens.ts';
import { openCall } from '../../src/providers/call.ts';
import { inTime } from '../support/in-time.ts';
import { ALARMS, DEADLINES, partsOf, providerCall, textIn } from '../support/provider-call.ts';

const adapter = simulated.prepare({});
if (adapter.kind !== 'in-process') throw new Error('not in-process');

const all = (call: ProviderCall): (StreamPart | Pause)[] => [...adapter.answer(call)];
const partsFor = (call: ProviderCall) => all(call).filter((part) => part.type !== 'pause');
const ask = (request: Partial<ChatRequest>, rest: Parameters<typeof providerCall>[1] = {}) =>
  partsFor(providerCall(request, rest));
const finishOf = (parts: readonly StreamPart[], choice = 0) =>
  parts.find((part) => part.type === 'finish' && part.choice === choice);
const usageOf = (parts: readonly StreamPart[]) => parts.find((part) => part.type === 'usage')?.usage;
const said = (content: string): Partial<ChatRequest> => ({ messages: [{ role: 'user', content }] });

const tool = (name: string, description: string, parameters: object = { type: 'object' }): ChatTool => ({
  type: 'function',
  function: { name, description, parameters },
});
const TOOLS = [
  tool('get_time', 'Tells the clock'),
  tool('get_weather', 'Weather of a city', {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 }, unit: { enum: ['C', 'F'] } },
    required: ['city', 'days', 'unit'],
  }),
];

function called(parts: readonly StreamPart[]) {
  const calls = parts.filter((part) => part.type === 'tool-call');
  return calls.length === 0
    ? null
    : { name: calls[0]?.name, id: calls[0]?.id, arguments: calls.map((part) => part.arguments).join('') };
}

describe('a simulated answer', () => {
  test('says that it is simulated, repeats its model and the prompt, and explains how to get real answers', () => {
    const text = textIn(ask(said('How tall is the\n moon?')));
    expect(text).toContain('simulated');
    expect(text).toContain('"fake-model"');
    expect(text).toContain('"How tall is the moon?"');
    expect(text).toContain('OPENAI_API_KEY');
  });

  test('is the same for the same request', () => {
    const request = { ...said('Again'), tools: TOOLS, n: 3 };
    expect(all(providerCall(request))).toEqual(all(providerCall(request)));
  });

  test('has the catalog’s speed', async () => {
    const call = providerCall(said('Pace'), { model: { ttftMs: 30, outputTokensPerSecond: 1_000 } });
    const waits = all(call).map((part) => (part.type === 'pause' ? part.ms : 0));
    expect(waits[0]).toBe(30);
    const total = waits.reduce((sum, ms) => sum + ms);
    const tokens = estimateTokens(textIn(partsFor(call)));
    expect(total).toBeCloseTo(30 + tokens, -1);
    await inTime(total + 200, async () => {
      const started = performance.now();
      await partsOf(
        openCall({ adapter, dial: null, apiKey: null }, call, {
          deadlines: DEADLINES,
          totalBy: started + 10_000,
          alarms: ALARMS,
        }),
      );
      expect(performance.now() - started).toBeGreaterThanOrEqual(total - 2);
    });
  });

  test.each(['Hello', '你好'.repeat(50), '💡'.repeat(50), 'ü'.repeat(300)])(
    'respects its output cap: %s',
    (content) => {
      for (const outputCap of [1, 2, 20, 60]) {
        const parts = ask(said(content), { outputCap });
        expect(finishOf(parts)).toMatchObject({ reason: 'length' });
        expect(usageOf(parts)?.outputTokens).toBeLessThanOrEqual(outputCap);
        expect(textIn(parts).isWellFormed()).toBe(true);
      }
      for (const part of ask(said(content))) if (part.type === 'text') expect(part.text.isWellFormed()).toBe(true);
    },
  );

  test('has the requested number of choices, all finished and counted', () => {
    const one = ask(said('x'));
    const three = ask({ ...said('x'), n: 3 });
    for (const choice of [0, 1, 2]) expect(finishOf(three, choice)).toMatchObject({ reason: 'stop' });
    expect(finishOf(three, 3)).toBeUndefined();
    expect(usageOf(three)?.outputTokens).toBeGreaterThan(2 * (usageOf(one)?.outputTokens ?? 0));
    expect(usageOf(three)?.inputTokens).toBe(usageOf(one)?.inputTokens as number);
  });
});

describe('tools', () => {
  test('are called if the question has a word of their name, with the required properties', () => {
    const parts = ask({ ...said('What is the weather in Oslo?'), tools: TOOLS });
    expect(called(parts)).toEqual({
      name: 'get_weather',
      id: 'call_simulated_1_0',
      arguments: '{"city":"simulated","days":2,"unit":"C"}',
    });
    expect(finishOf(parts)).toMatchObject({ reason: 'tool_calls' });
    expect(textIn(parts)).toBe('');
    const camel = [tool('getTime', ''), tool('getWeather', '')];
    expect(called(ask({ ...said('What is the weather in Oslo?'), tools: camel }))?.name).toBe('getWeather');
  });

  test.each([
    'Anything',
    'Say hello',
    'Which clock tells the best story of a city?',
    `Summarize the conversation. ${'Mention the weather. '.repeat(40)}`,
  ])('are not called for a question without a word of their name, or for long instructions: %s', (question) => {
    const parts = ask({ ...said(question), tools: TOOLS });
    expect(called(parts)).toBeNull();
    expect(finishOf(parts)).toMatchObject({ reason: 'stop' });
  });

  test('are not called for the notes that an agent puts before the question', () => {
    const notes = { type: 'text' as const, text: 'Use get_weather for the weather.' };
    const content = [notes, { type: 'text' as const, text: 'Say hello' }];
    const parts = ask({ messages: [{ role: 'user', content }], tools: TOOLS });
    expect(called(parts)).toBeNull();
    expect(textIn(parts)).toContain('You said: "Say hello"');
  });

  test('are not called after their result, which the answer repeats', () => {
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', tool_call_id: 'c', content: '12 degrees' },
    ];
    const parts = ask({ messages, tools: TOOLS });
    expect(called(parts)).toBeNull();
    expect(textIn(parts)).toContain('12 degrees');
    expect(called(ask({ messages, tools: TOOLS, tool_choice: 'required' }))).not.toBeNull();
    const withNote: ChatRequest['messages'] = [
      ...messages,
      { role: 'user', content: 'The weather tool has answered.' },
    ];
    const afterNote = ask({ messages: withNote, tools: TOOLS });
    expect(called(afterNote)).toBeNull();
    expect(textIn(afterNote)).toContain('The tool answered: "12 degrees"');
  });

  test('are called again for a new question after an answer', () => {
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', tool_call_id: 'c', content: '12 degrees' },
      { role: 'assistant', content: 'It has 12 degrees.' },
      { role: 'user', content: 'And the weather tomorrow?' },
    ];
    expect(called(ask({ messages, tools: TOOLS }))?.name).toBe('get_weather');
  });

  test('obey tool_choice', () => {
    const request = { ...said('The weather?'), tools: TOOLS };
    expect(called(ask({ ...request, tool_choice: 'none' }))).toBeNull();
    const named = { type: 'function' as const, function: { name: 'get_time' } };
    expect(called(ask({ ...request, tool_choice: named }))).toMatchObject({ name: 'get_time', arguments: '{}' });
    expect(called(ask({ ...request, ...said('Say hello'), tool_choice: 'required' }))?.name).toBe('get_time');
  });
});

describe('JSON', () => {
  test('is given on request', () => {
    const text = textIn(ask({ ...said('A "quoted" word'), response_format: { type: 'json_object' } }));
    expect(JSON.parse(text)).toMatchObject({ simulated: true, you_said: 'A "quoted" word' });
  });

  test('fits its schema: required properties by type, references, alternatives, nesting', () => {
    const schema = {
      type: 'object',
      required: ['s', 'i', 'b', 'list', 'ref', 'either', 'maybe', 'when', 'fixed'],
      properties: {
        s: { type: 'string', minLength: 12 },
        i: { type: 'integer', exclusiveMinimum: 4 },
        b: { type: 'boolean' },
        list: { type: 'array', items: { type: 'number', maximum: 0.5 }, minItems: 2 },
        ref: { $ref: '#/$defs/point' },
        either: { anyOf: [{ type: 'null' }, { type: 'string' }] },
        maybe: { type: ['string', 'null'] },
        when: { type: 'string', format: 'date' },
        fixed: { const: 'k' },
        optional: { type: 'string' },
      },
      $defs: { point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
    };
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'n', schema } };
    expect(JSON.parse(textIn(ask({ ...said('x'), response_format }, { outputCap: 5_000 })))).toEqual({
      s: 'simulated...',
      i: 5,
      b: true,
      list: [0.5, 0.5],
      ref: { x: 1 },
      either: null,
      maybe: 'simulated',
      when: '2000-01-01',
      fixed: 'k',
    });
  });

  const node = (items: object) => ({
    type: 'object',
    required: ['name', 'children'],
    properties: { name: { type: 'string' }, children: { type: 'array', items } },
  });
  const self = { $ref: '#' };
  const either = { anyOf: [self, { type: 'null' }] };
  test.each<[string, object, object]>([
    ['whose items are the schema itself', node(self), { name: 'simulated', children: [] }],
    [
      'whose items contain the schema',
      node({ type: 'object', required: ['node'], properties: { node: self } }),
      { name: 'simulated', children: [] },
    ],
    ['with another way to end', node(either), { name: 'simulated', children: [null] }],
    [
      'by name',
      { $ref: '#/$defs/tree', $defs: { tree: node({ $ref: '#/$defs/tree' }) } },
      { name: 'simulated', children: [] },
    ],
  ])('ends a recursive schema with an empty list, or with the first alternative that ends: %s', (_, schema, value) => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'n', schema } };
    expect(JSON.parse(textIn(ask({ ...said('x'), response_format }, { outputCap: 5_000 })))).toEqual(value);
  });

  test.each([
    { $ref: '#' },
    { $ref: '#/nowhere' },
    { type: 'array', items: { $ref: '#' }, minItems: 1_000_000 },
    { type: 'object', required: ['a', 'b', 'c'], properties: { a: { $ref: '#' }, b: { $ref: '#' }, c: { $ref: '#' } } },
    { type: 'object', required: [7, '__proto__'], properties: null },
    { enum: [], type: 'nonsense' },
  ])('stays bounded and valid for a hostile schema: %j', (schema) => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'n', schema } };
    const text = textIn(ask({ ...said('x'), response_format }, { outputCap: 1_000_000 }));
    JSON.parse(text);
    expect(text.length).toBeLessThan(100_000);
  });
});
