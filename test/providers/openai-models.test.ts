import { describe, expect, test } from 'bun:test';
import { openai } from '../../plugins/providers/openai.ts';
import type { Capability } from '../../src/core/capability.ts';
import type { ChatRequest } from '../../src/core/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { wireRequest } from '../support/wire-request.ts';

const adapter = openai.prepare({});
if (adapter.kind !== 'wire') throw new Error('not a wire adapter');

const sent = (upstream: string, request: Partial<ChatRequest>, capabilities: Capability[] = ['reasoning']) =>
  wireRequest(adapter, providerCall(request, { upstream, model: { capabilities, acceptsTemperature: false } }));
const tools = [{ type: 'function' as const, function: { name: 'f' } }];

describe('a model of OpenAI’s', () => {
  test('that reasons is capped in the newer field, and drops what is only a hint', () => {
    const { body, dropped } = sent('gpt-6.1-sol', { temperature: 0.2, top_p: 0.9, user: 'u', metadata: { a: 'b' } });
    expect(body).toEqual({
      model: 'gpt-6.1-sol',
      messages: [{ role: 'user', content: 'Hello' }],
      user: 'u',
      max_completion_tokens: 1_000,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(dropped).toEqual(['temperature', 'top_p']);
  });

  test.each<[string, Capability[]]>([
    ['gpt-6.1-sol', []],
    ['gpt-6-astra', ['tools']],
    ['gpt-5', []],
    ['o4-mini', ['single_tool_calls']],
    ['a-deployment', []],
  ])('named %s lacks what reasoning models refuse', (upstream, more) => {
    const traits = providerCall({}, { model: { capabilities: ['reasoning'] } }).model;
    expect(adapter.lacks?.(traits, upstream).toSorted()).toEqual(
      ['stop', 'penalties', 'logit_bias', 'logprobs', ...more].toSorted() as Capability[],
    );
    expect(adapter.lacks?.({ ...traits, capabilities: [] }, upstream)).toEqual([]);
  });

  test.each<[string, string, string]>([
    ['o4-mini', 'none', 'low'],
    ['o4-mini', 'xhigh', 'high'],
    ['gpt-5-mini', 'none', 'minimal'],
    ['gpt-5.1', 'minimal', 'low'],
    ['gpt-5.2', 'max', 'xhigh'],
    ['gpt-5.6-terra', 'minimal', 'low'],
    ['gpt-6-astra', 'none', 'low'],
    ['gpt-6.1-sol', 'medium', 'medium'],
    ['gpt-6.1-sol', 'default', 'default'],
    ['a-deployment', 'max', 'max'],
  ])('named %s is asked for the effort %s as %s', (upstream, asked, effort) => {
    const { body, dropped } = sent(upstream, { reasoning_effort: asked });
    expect(body.reasoning_effort).toBe(effort);
    expect(dropped).toEqual([]);
  });

  test('that takes no effort beside tools is asked for none, and the caller is told', () => {
    expect(sent('gpt-5.6-terra', { tools }).body.reasoning_effort).toBe('none');
    expect(sent('gpt-5.6-terra', { tools }).dropped).toEqual([]);
    const told = sent('gpt-6-luna', { tools, reasoning_effort: 'high' });
    expect(told.body.reasoning_effort).toBe('none');
    expect(told.dropped).toEqual(['reasoning_effort']);
    expect(sent('gpt-5-mini', { tools, reasoning_effort: 'high' }).body.reasoning_effort).toBe('high');
  });

  test('that does not reason is asked for no effort', () => {
    const { body, dropped } = sent('gpt-4.1', { tools, reasoning_effort: 'high' }, []);
    expect(body).not.toHaveProperty('reasoning_effort');
    expect(dropped).toEqual(['reasoning_effort']);
  });
});
