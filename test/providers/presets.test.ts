import { describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { EFFORTS } from '../../plugins/providers/openai-compatible/efforts.ts';
import { presets } from '../../plugins/providers/openai-compatible/presets.ts';
import { DialectSettings, PLAIN } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import type { Capability } from '../../src/core/request/capability.ts';
import { openaiAdapter, providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';

const NAMES = Object.keys(presets);
const settingsOf = (name: string): DialectSettings => ({ ...PLAIN, ...presets[name]?.settings });

/** Returns the request to a preset's service for a reasoning model. */
const sent = (name: string, request: Partial<ChatRequest>, capabilities: Capability[] = ['reasoning']) =>
  wireRequest(openaiAdapter(settingsOf(name)), providerCall(request, { model: { capabilities } }));

describe('the presets', () => {
  test('are those of the documentation', () => {
    expect(NAMES.toSorted()).toEqual(
      [
        ...['cerebras', 'deepseek', 'fireworks', 'groq', 'llama-cpp', 'lm-studio', 'mistral'],
        ...['moonshotai', 'ollama', 'openrouter', 'together', 'vllm', 'xai', 'zai'],
      ].toSorted(),
    );
  });

  test.each(NAMES)(
    'of %s have settings that fit, an address or a variable for one, and a key unless the server is local',
    (name) => {
      const preset = presets[name];
      if (!preset) throw new Error('no preset');
      expect([...Value.Errors(DialectSettings, settingsOf(name))]).toEqual([]);
      const { baseUrl, baseUrlEnv, apiKeyEnv, allowPrivateNetwork = false } = preset;
      expect([baseUrl, baseUrlEnv].filter((one) => one !== undefined)).toHaveLength(1);
      if (baseUrl !== undefined) expect(new URL(baseUrl).href.replace(/\/$/, '')).toBe(baseUrl);
      if (baseUrl !== undefined) expect(baseUrl).toStartWith('https://');
      expect(allowPrivateNetwork).toBe(apiKeyEnv === undefined);
      for (const variable of [baseUrlEnv, apiKeyEnv]) if (variable) expect(variable).toMatch(/^[A-Z_]+$/);
    },
  );

  test('are complete: the schema’s defaults are the settings of a plain server', () => {
    expect(Value.Create(DialectSettings)).toEqual(PLAIN);
  });
});

describe('an effort', () => {
  test.each<[string, string, readonly string[]]>([
    // Requested efforts: none, minimal, low, medium, high, xhigh, max.
    ['mistral', 'mistral-small-2603', ['none', 'high', 'high', 'high', 'high', 'high', 'high']],
    ['groq', 'qwen/qwen3.8-27b', ['none', 'low', 'low', 'medium', 'high', 'high', 'high']],
    ['groq', 'openai/gpt-oss-120b', ['low', 'low', 'low', 'medium', 'high', 'high', 'high']],
    ['moonshotai', 'kimi-k3', ['low', 'low', 'low', 'high', 'high', 'max', 'max']],
    ['zai', 'glm-5.3', ['low', 'low', 'low', 'high', 'high', 'max', 'max']],
    ['fireworks', 'accounts/fireworks/models/glm-5p3', ['none', 'low', 'low', 'medium', 'high', 'xhigh', 'max']],
    ['vllm', 'openai/gpt-oss-20b', ['low', 'low', 'low', 'medium', 'high', 'high', 'high']],
    ['vllm', 'Qwen/Qwen3.8-27B', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']],
  ])('is sent to %s for %s as the nearest effort that it accepts', (name, upstream, efforts) => {
    for (const [at, asked] of EFFORTS.entries()) {
      const call = { upstream, model: { capabilities: ['reasoning' as const] } };
      const adapter = openaiAdapter(settingsOf(name));
      const { body, dropped } = wireRequest(adapter, providerCall({ reasoning_effort: asked }, call));
      expect(body.reasoning_effort).toBe(efforts[at]!);
      expect(dropped).toEqual(asked === 'none' && efforts[at] !== 'none' ? ['reasoning_effort'] : []);
    }
  });

  test('that is unknown is unchanged', () => {
    expect(sent('mistral', { reasoning_effort: 'default' }).body.reasoning_effort).toBe('default');
  });
});

const ask: Partial<ChatRequest> = {
  seed: 7,
  user: 'u',
  n: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  logprobs: false,
  response_format: { type: 'text' },
  stop: 'END',
};

describe('a request', () => {
  test.each<[string, object]>([
    ['mistral', { random_seed: 7, max_tokens: 1_000, stop: ['END'], stream: true }],
    ['groq', { seed: 7, user: 'u', max_completion_tokens: 1_000, stop: ['END'] }],
    ['deepseek', { seed: 7, max_tokens: 1_000, stop: ['END'] }],
    ['xai', { seed: 7, user: 'u', max_completion_tokens: 1_000, stop: ['END'] }],
    ['openrouter', { seed: 7, user: 'u', max_tokens: 1_000, stop: ['END'] }],
    ['together', { seed: 7, max_tokens: 1_000, stop: ['END'] }],
    ['fireworks', { seed: 7, user: 'u', max_tokens: 1_000, stop: ['END'] }],
    ['cerebras', { seed: 7, user: 'u', max_completion_tokens: 1_000, stop: ['END'] }],
    ['moonshotai', { seed: 7, max_completion_tokens: 1_000, stop: ['END'] }],
    ['zai', { seed: 7, max_tokens: 1_000, stop: ['END'], stream: true }],
    ['ollama', { seed: 7, max_tokens: 1_000, stop: ['END'] }],
    ['lm-studio', { seed: 7, max_tokens: 1_000, stop: ['END'] }],
    ['vllm', { seed: 7, max_tokens: 1_000, stop: ['END'] }],
    ['llama-cpp', { seed: 7, max_tokens: 1_000, stop: ['END'] }],
  ])('to %s has the names that it knows, and no empty values', (name, fields) => {
    const { body, dropped } = sent(name, ask, []);
    const options = 'stream' in fields ? {} : { stream: true, stream_options: { include_usage: true } };
    expect(body).toEqual({
      model: 'fake-model',
      messages: [{ role: 'user', content: 'Hello' }],
      ...fields,
      ...options,
    });
    expect(dropped).toEqual('user' in fields ? [] : ['user']);
  });

  test.each(NAMES)('to %s uses `developer` only where supported', (name) => {
    const [message] = sent(name, { messages: [{ role: 'developer', content: 'Be kind.' }] }).body.messages as object[];
    const role = name === 'openrouter' ? 'developer' : 'system';
    expect(message).toEqual({ role, content: 'Be kind.' });
  });
});

const answer: ChatMessage & Record<string, unknown> = {
  role: 'assistant',
  content: null,
  annotations: null,
  reasoning_content: 'Hm',
  reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 's', index: 0 }],
  extra_content: { google: { thought_signature: 'm' } },
  metadata: { mine: 1 },
  tool_calls: [
    {
      id: 'call_1',
      type: 'function',
      function: { name: 'f', arguments: '{}' },
      extra_content: { google: { thought_signature: 'c' } },
    } as never,
  ],
};
const bareCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const wholeCall = { ...bareCall, extra_content: { google: { thought_signature: 'c' } } };
const rest = { extra_content: answer.extra_content, metadata: answer.metadata, tool_calls: [wholeCall] };

describe('an earlier answer in a request', () => {
  test.each<[string, object]>([
    ['groq', { reasoning: 'Hm', tool_calls: [bareCall] }],
    ['cerebras', { reasoning: 'Hm', tool_calls: [bareCall] }],
    ['deepseek', { reasoning_content: 'Hm', ...rest }],
    ['moonshotai', { reasoning_content: 'Hm', ...rest }],
    ['zai', { reasoning_content: 'Hm', ...rest }],
    ['together', { reasoning_content: 'Hm', ...rest }],
    ['fireworks', { reasoning_content: 'Hm', ...rest }],
    ['llama-cpp', { reasoning_content: 'Hm', ...rest }],
    ['ollama', { reasoning: 'Hm', ...rest }],
    ['vllm', { reasoning: 'Hm', ...rest }],
    ['openrouter', { reasoning_details: answer.reasoning_details, ...rest }],
    ['xai', rest],
    ['lm-studio', rest],
  ])('is sent to %s with its reasoning under the name that the service expects', (name, members) => {
    expect(sent(name, { messages: [answer] }).body.messages).toEqual([
      { role: 'assistant', content: null, ...members },
    ]);
  });

  test('is sent to a strict server without unsupported members, and the caller’s own ones are reported', () => {
    const { dropped } = sent('groq', { messages: [answer] });
    expect(dropped).toEqual(['messages[0].extra_content', 'messages[0].metadata']);
  });

  test('has no reasoning for a model that does not reason', () => {
    const [message] = sent('groq', { messages: [answer] }, []).body.messages as object[];
    expect(message).not.toHaveProperty('reasoning');
  });

  test('has reasoning for services that require it on every answer', () => {
    const messages: ChatMessage[] = [{ role: 'assistant', content: 'Hi' }];
    const text: ChatMessage & Record<string, unknown> = {
      role: 'assistant',
      content: 'Hi',
      reasoning_details: [
        { type: 'reasoning.text', text: 'a' },
        { type: 'reasoning.summary', summary: 'b' },
      ],
    };
    expect(sent('deepseek', { messages: [...messages, text, { role: 'user', content: 'Go' }] }).body.messages).toEqual([
      { role: 'assistant', content: 'Hi', reasoning_content: ' ' },
      { role: 'assistant', content: 'Hi', reasoning_content: 'ab' },
      { role: 'user', content: 'Go' },
    ]);
  });

  test('that is a refusal is plain text for a server without refusals', () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ];
    expect(sent('mistral', { messages }).body.messages).toEqual([
      { role: 'assistant', content: 'No.' },
      { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
    ]);
    expect(sent('openrouter', { messages }).body.messages).toEqual([
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ]);
  });
});

test('Mistral gets call IDs of nine letters, the same for a call and its result, and its own IDs unchanged', () => {
  const id = 'toolu_01A09q90qw90lq917835lq9';
  const fn = { name: 'f', arguments: '{}' };
  const calls = [id, 'Dx7Kq2mBv'].map((one) => ({ id: one, type: 'function' as const, function: fn }));
  const messages: ChatMessage[] = [
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: id, content: '1' },
    { role: 'tool', tool_call_id: 'Dx7Kq2mBv', content: '2' },
  ];
  const [first, second, third] = sent('mistral', { messages }).body.messages as {
    tool_calls: { id: string }[];
    tool_call_id: string;
  }[];
  const ids = first?.tool_calls.map((call) => call.id) ?? [];
  expect(ids[0]).toMatch(/^[a-z0-9]{9}$/);
  expect(ids[1]).toBe('Dx7Kq2mBv');
  expect([second?.tool_call_id, third?.tool_call_id]).toEqual(ids);
});

describe('tools', () => {
  const tool = (name: string) => ({ type: 'function' as const, function: { name } });
  const tools = [tool('f'), tool('g')];
  const named = { type: 'function' as const, function: { name: 'g' } };

  test('are forced by name, by `required` with that tool alone, or not at all', () => {
    expect(sent('groq', { tools, tool_choice: named }).body).toMatchObject({ tools, tool_choice: named });
    for (const name of ['lm-studio', 'llama-cpp', 'moonshotai']) {
      expect(sent(name, { tools, tool_choice: named }).body).toMatchObject({
        tools: [tool('g')],
        tool_choice: 'required',
      });
    }
  });

  test('that cannot be forced are omitted for `none`, and sent for `auto`', () => {
    for (const name of ['ollama', 'zai', 'deepseek']) {
      const none = sent(name, { tools, tool_choice: 'none', parallel_tool_calls: true }).body;
      expect(Object.keys(none).filter((field) => /tool/.test(field))).toEqual([]);
      const auto = sent(name, { tools, tool_choice: 'auto', parallel_tool_calls: true }).body;
      expect(Object.keys(auto).filter((field) => /tool/.test(field))).toEqual(['tools']);
    }
    expect(sent('deepseek', { tools, tool_choice: 'required' }, []).body.tool_choice).toBe('required');
  });
});

test('a service lacks the capabilities in its preset, and more for reasoning models', () => {
  const lacks = (name: string, capabilities: Capability[], acceptsTemperature = true) => {
    const traits = providerCall({}, { model: { capabilities, acceptsTemperature } }).model;
    return openaiAdapter(settingsOf(name)).lacks?.(traits, 'some-model') ?? [];
  };
  expect(lacks('deepseek', [])).not.toContain('forced_tools');
  expect(lacks('deepseek', ['reasoning'])).toContain('forced_tools');
  expect(lacks('xai', [])).not.toContain('stop');
  expect(lacks('xai', ['reasoning'])).toContain('stop');
  expect(lacks('openrouter', [])).toEqual(['choices', 'file_ids']);
  expect(lacks('vllm', [])).toEqual(['file_ids']);
  expect(lacks('vllm', [], false)).toContain('penalties');
});

test('cache hints are sent where supported, and otherwise reported as dropped', () => {
  const hint = { cache_control: { type: 'ephemeral' } };
  const request = {
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...hint }], ...hint }],
    tools: [
      { type: 'function', function: { name: 'f' }, ...hint },
      { type: 'function', function: { name: 'g', ...hint } },
    ],
  } as Partial<ChatRequest>;
  const kept = sent('openrouter', request);
  expect(kept.body).toMatchObject(request);
  expect(kept.dropped).toEqual([]);
  const lost = sent('vllm', request);
  expect(JSON.stringify(lost.body)).not.toContain('cache_control');
  expect(lost.dropped).toEqual([
    'messages[0].content[0].cache_control',
    'messages[0].cache_control',
    'tools[0].cache_control',
    'tools[1].function.cache_control',
  ]);
});

const look = { role: 'assistant' as const, content: null, function_call: { name: 'look', arguments: '{"at":2}' } };
const seen: ChatMessage = { role: 'function', name: 'look', content: 'a cat' };
const messages: ChatMessage[] = [{ role: 'user', content: 'Look.' }, look, seen];

test('older function calls are sent as tool calls, each result with its call', () => {
  expect(sent('deepseek', { messages }, []).body.messages).toEqual([
    messages[0],
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'function_look', type: 'function', function: look.function_call }],
    },
    { role: 'tool', content: 'a cat', tool_call_id: 'function_look' },
  ]);
});
