import { describe, expect, test } from 'bun:test';
import type { DialectSettings } from '../../plugins/providers/openai-compatible/settings.ts';
import type { ProviderCall } from '../../src/contract/provider.ts';
import { openaiAdapter, providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';

const build = (call: ProviderCall, settings: Partial<DialectSettings> = {}) =>
  wireRequest(openaiAdapter(settings), call);

describe('the request', () => {
  test('contains every OpenAI field that the caller set, and the upstream model name', () => {
    const fields = {
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 0.1,
      presence_penalty: -0.1,
      n: 2,
      stop: ['x'],
      seed: 7,
      logprobs: true,
      top_logprobs: 3,
      logit_bias: { '5': 1 },
      tools: [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }],
      tool_choice: 'required' as const,
      parallel_tool_calls: false,
      response_format: { type: 'json_object' as const },
      user: 'u',
    };
    const { body, path, dropped } = build(providerCall(fields));
    expect(path).toBe('/chat/completions');
    expect(dropped).toEqual([]);
    expect(body).toEqual({
      ...fields,
      model: 'fake-model',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 1_000,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test('contains earlier answers without nulls and reasoning, which strict servers reject', () => {
    const calls = [{ id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } }];
    const answer = {
      role: 'assistant' as const,
      content: null,
      annotations: null,
      reasoning_content: 'Hm',
      tool_calls: calls,
    };
    const call = providerCall({ messages: [answer] }, { model: { capabilities: ['reasoning'] } });
    const bare = { role: 'assistant', content: '', tool_calls: calls };
    expect(build(call).body.messages).toEqual([bare]);
    const kept = build(call, { reasoning_history: 'reasoning_content' });
    expect(kept.body.messages).toEqual([{ ...bare, reasoning_content: 'Hm' }]);
  });

  test('contains no empty lists, and no tool fields without tools', () => {
    const { body, dropped } = build(
      providerCall({ tools: [], tool_choice: 'auto', parallel_tool_calls: false, stop: [] }),
    );
    expect(Object.keys(body)).toEqual(['model', 'messages', 'max_tokens', 'stream', 'stream_options']);
    expect(dropped).toEqual([]);
  });

  test('never contains Signalbox’s own fields, metadata or unlisted unknown fields', () => {
    const own = {
      route_strategy: { cost_weight: 1 },
      constraints: {},
      budget_limit: 5,
      agent_wallet: '0x',
      metadata: { team: 'a' },
      max_completion_tokens: 5_000,
      store: true,
    };
    const { body, dropped } = build(providerCall(own, { stream: false, extras: { top_k: 5 } }));
    expect(dropped).toEqual([]);
    expect(body).toEqual({
      top_k: 5,
      model: 'fake-model',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 1_000,
    });
  });

  test('always caps the output in the provider’s field, whatever the caller or an extra sets', () => {
    const call = providerCall({ max_tokens: 9_999 }, { outputCap: 64, extras: { model: 'other' } });
    expect(build(call).body).toMatchObject({ max_tokens: 64, model: 'fake-model' });
    const { body } = build(call, { max_tokens_field: 'max_completion_tokens' });
    expect(body.max_completion_tokens).toBe(64);
    expect(body).not.toHaveProperty('max_tokens');
  });

  test('drops sampling controls that the model rejects, and reports them', () => {
    const call = providerCall({ temperature: 1, top_p: 0.5, seed: 1 }, { model: { acceptsTemperature: false } });
    const { body, dropped } = build(call);
    expect(dropped.toSorted()).toEqual(['temperature', 'top_p']);
    expect(body).not.toHaveProperty('temperature');
    expect(body.seed).toBe(1);
  });

  test('contains a reasoning effort for models that reason, and drops it for others', () => {
    const request = { reasoning_effort: 'low' };
    expect(build(providerCall(request)).dropped).toEqual(['reasoning_effort']);
    const reasons = build(providerCall(request, { model: { capabilities: ['reasoning'] } }));
    expect(reasons.dropped).toEqual([]);
    expect(reasons.body.reasoning_effort).toBe('low');
  });

  test('requests usage on every stream, in addition to the caller’s options', () => {
    const stream_options = { include_usage: false, include_obfuscation: false };
    const { body } = build(providerCall({ stream_options }));
    expect(body.stream_options).toEqual({ include_usage: true, include_obfuscation: false });
  });

  test('sends a developer message as a system message, unless the provider supports developer messages', () => {
    const call = providerCall({ messages: [{ role: 'developer', content: 'Be kind.' }] });
    expect(build(call).body.messages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    const own = build(call, { developer_role: 'developer' });
    expect(own.body.messages).toEqual([{ role: 'developer', content: 'Be kind.' }]);
  });

  test('sends an empty text for the missing content of an answer with calls, unless the provider accepts null', () => {
    const tool_calls = [{ id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } }];
    for (const content of [{ content: null }, {}]) {
      const call = providerCall({ messages: [{ role: 'assistant', ...content, tool_calls }] });
      expect(build(call).body.messages).toEqual([{ role: 'assistant', content: '', tool_calls }]);
      const sent = build(call, { empty_content: 'null' }).body.messages;
      expect(sent).toEqual([{ role: 'assistant', ...content, tool_calls }]);
    }
  });
});
