import { describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { openai } from '../../plugins/providers/openai.ts';
import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import type { Capability } from '../../src/core/request/capability.ts';
import { providerCall } from '../support/provider-call.ts';
import { wireAdapter, wireRequest } from '../support/wire-request.ts';

const adapterOf = (settings: object) => wireAdapter(openai.prepare({ ...Value.Create(openai.settings), ...settings }));
const adapter = adapterOf({});

const sent = (upstream: string, request: Partial<ChatRequest>, capabilities: Capability[] = ['reasoning']) =>
  wireRequest(adapter, providerCall(request, { upstream, model: { capabilities, acceptsTemperature: false } }));
const tools = [{ type: 'function' as const, function: { name: 'f' } }];

describe('a model of OpenAI’s', () => {
  test('that reasons is capped in the newer field, and loses sampling hints', () => {
    const { path, body, dropped } = sent('gpt-6.1-sol', {
      temperature: 0.2,
      top_p: 0.9,
      user: 'u',
      metadata: { a: 'b' },
    });
    expect(path).toBe('/chat/completions');
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
    ['gpt-6-astra', []],
    ['gpt-5', []],
    ['o4-mini', ['single_tool_calls']],
    ['a-deployment', []],
  ])('named %s lacks the features that reasoning models reject', (upstream, more) => {
    const traits = providerCall({}, { model: { capabilities: ['reasoning'] } }).model;
    expect(adapter.lacks?.(traits, upstream).toSorted()).toEqual(
      ['stop', 'penalties', 'logit_bias', 'logprobs', ...more].toSorted() as Capability[],
    );
    expect(adapter.lacks?.({ ...traits, capabilities: [] }, upstream)).toEqual([]);
  });

  test.each<[string, string, string, string | null]>([
    ['o4-mini', 'none', 'low', null],
    ['o4-mini', 'xhigh', 'high', null],
    ['gpt-5-mini', 'none', 'minimal', null],
    ['gpt-5.1', 'minimal', 'low', null],
    ['gpt-5.2', 'max', 'xhigh', null],
    ['gpt-5.4', 'max', 'xhigh', 'xhigh'],
    ['gpt-5.6-terra', 'minimal', 'low', 'low'],
    ['gpt-5.6-terra', 'max', 'xhigh', 'max'],
    ['gpt-6-astra', 'none', 'low', 'low'],
    ['gpt-6-astra', 'max', 'xhigh', 'max'],
    ['gpt-6.1-sol', 'medium', 'medium', 'medium'],
    ['gpt-6.1-sol', 'default', 'default', 'default'],
    ['a-deployment', 'max', 'max', null],
  ])(
    'named %s gets the effort %s as %s, and with tools the nearest possible one',
    (upstream, asked, effort, beside) => {
      const alone = sent(upstream, { reasoning_effort: asked });
      // The change is reported for models that cannot stop reasoning.
      const told = asked === 'none' && effort !== 'none' ? ['reasoning_effort'] : [];
      expect([alone.path, alone.body.reasoning_effort, alone.dropped]).toEqual(['/chat/completions', effort, told]);
      const { path, body, dropped } = sent(upstream, { reasoning_effort: asked, tools });
      if (beside === null) {
        expect([path, body.reasoning_effort, dropped]).toEqual(['/chat/completions', effort, told]);
      } else {
        expect([path, dropped]).toEqual(['/responses', told]);
        expect(body.reasoning).toEqual({ effort: beside, summary: 'auto' });
      }
    },
  );

  test('that cannot reason with tools uses chat completions', () => {
    const { path, body, dropped } = sent('gpt-5.6-terra', { tools, reasoning_effort: 'none' });
    expect([path, body.reasoning_effort, dropped]).toEqual(['/chat/completions', 'none', []]);
  });

  test('that does not reason gets no effort', () => {
    const { path, body, dropped } = sent('gpt-4.1', { tools, reasoning_effort: 'high' }, []);
    expect(path).toBe('/chat/completions');
    expect(body).not.toHaveProperty('reasoning_effort');
    expect(dropped).toEqual(['reasoning_effort']);
  });

  test('of the o-series gets no `parallel_tool_calls`', () => {
    const asked = { tools, parallel_tool_calls: true };
    expect(sent('o4-mini', asked).body).not.toHaveProperty('parallel_tool_calls');
    expect(sent('gpt-5', asked).body).toHaveProperty('parallel_tool_calls', true);
  });
});

test('a model of Bedrock has the rules of its family, whatever vendor and profile precede its name', () => {
  const bedrock = adapterOf(openai.presets?.['bedrock-openai']?.settings ?? {});
  for (const upstream of ['openai.gpt-6-luna', 'global.openai.gpt-6-luna']) {
    const model = { capabilities: ['reasoning' as const], acceptsTemperature: false };
    const { path, body } = wireRequest(bedrock, providerCall({ tools }, { model, upstream }));
    expect([path, body.model]).toEqual(['/responses', upstream]);
  }
});

test('Azure gets the key in its own header, and a token as a bearer', () => {
  expect(adapter.auth).toEqual({ header: 'authorization', prefix: 'Bearer ' });
  expect(adapterOf(openai.presets?.['azure-openai']?.settings ?? {}).auth).toEqual({
    header: 'api-key',
    prefix: '',
    token: { header: 'authorization', prefix: 'Bearer ' },
  });
});

test('Signalbox does not use or send capabilities that a model lacks according to the catalog', () => {
  const model = { capabilities: ['tools' as const], lacks: ['single_tool_calls' as const, 'forced_tools' as const] };
  const call = providerCall({ tools, tool_choice: 'auto', parallel_tool_calls: true }, { model });
  expect(adapter.lacks?.(call.model, 'm')).toEqual(['single_tool_calls', 'forced_tools']);
  expect(wireRequest(adapter, call).body).not.toContainAnyKeys(['tool_choice', 'parallel_tool_calls']);
});
