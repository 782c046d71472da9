import { describe, expect, test } from 'bun:test';
import { rulesOf } from '../../plugins/providers/anthropic/models.ts';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import type { Capability } from '../../src/core/request/capability.ts';
import { structuredSchema } from '../../src/core/schema/structured.ts';
import { providerCall } from '../support/provider-call.ts';
import { wireAdapter, wireRequest } from '../support/wire-request.ts';

const adapter = wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache: 'by_caller', threads: false }));

const SHOWN = { type: 'adaptive', display: 'summarized' };

function build(upstream: string, request: Partial<ChatRequest>, rest: Parameters<typeof providerCall>[1] = {}) {
  const model = { capabilities: ['reasoning'] as Capability[], ...rest.model };
  const { body, dropped } = wireRequest(
    adapter,
    providerCall(request, { outputCap: 10_000, ...rest, upstream, model }),
  );
  return { thinking: body.thinking, output_config: body.output_config, dropped };
}

describe('thinking', () => {
  test.each<[string, string | undefined, unknown, unknown, string[]]>([
    ['claude-haiku-4-5', undefined, undefined, undefined, []],
    ['claude-haiku-4-5', 'none', undefined, undefined, []],
    ['claude-haiku-4-5', 'minimal', { type: 'enabled', budget_tokens: 1_024 }, undefined, []],
    ['claude-haiku-4-5', 'medium', { type: 'enabled', budget_tokens: 5_000 }, undefined, []],
    ['claude-haiku-4-5', 'often', undefined, undefined, ['reasoning_effort']],
    ['claude-opus-4-6', undefined, undefined, undefined, []],
    ['claude-opus-4-6', 'xhigh', SHOWN, { effort: 'high' }, []],
    ['claude-opus-4-8', 'xhigh', SHOWN, { effort: 'xhigh' }, []],
    ['claude-opus-4-8', 'none', undefined, undefined, []],
    ['claude-sonnet-5', undefined, SHOWN, undefined, []],
    ['claude-sonnet-5', 'none', { type: 'disabled' }, undefined, []],
    ['claude-sonnet-5', 'often', SHOWN, undefined, ['reasoning_effort']],
    ['claude-sonnet-5-5', 'none', { type: 'between_tools' }, undefined, []],
    ['claude-opus-5-5', 'none', SHOWN, { effort: 'low' }, ['reasoning_effort']],
    ['claude-fable-5-2', 'minimal', SHOWN, { effort: 'low' }, []],
  ])(
    'is requested of %s at effort %s in the form that the model accepts',
    (upstream, effort, thinking, output, dropped) => {
      const asked = build(upstream, { reasoning_effort: effort });
      expect(asked).toEqual({ thinking, output_config: output, dropped });
    },
  );

  test('is not requested of a model that does not reason', () => {
    const model = { capabilities: [] };
    expect(build('claude-haiku-4-5', { reasoning_effort: 'low' }, { model })).toEqual({
      thinking: undefined,
      output_config: undefined,
      dropped: ['reasoning_effort'],
    });
  });

  test('with a budget is omitted if the API would reject it', () => {
    const tools = [{ type: 'function' as const, function: { name: 'f' } }];
    const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } };
    const amid = (state: object): ChatMessage[] => [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: null, tool_calls: [call], ...state },
      { role: 'tool', tool_call_id: 'c', content: 'r' },
    ];
    const signed = { thinking_blocks: [{ type: 'thinking', thinking: 'Hm', signature: 's' }] };
    const high = { reasoning_effort: 'high' as const, tools };
    const left = (request: Partial<ChatRequest>, rest = {}) => build('claude-opus-4-5', request, rest).dropped;
    expect(left({ ...high, tool_choice: 'required' })).toEqual(['reasoning_effort']);
    expect(left({ ...high, messages: [{ role: 'assistant', content: 'I' }] })).toEqual(['reasoning_effort']);
    expect(left(high, { outputCap: 2_047 })).toEqual(['reasoning_effort']);
    expect(left({ ...high, messages: amid({}) })).toEqual(['reasoning_effort']);
    expect(left({ ...high, messages: amid(signed) })).toEqual([]);
    expect(build('claude-opus-4-6', { ...high, messages: amid({}) }).thinking).toEqual(SHOWN);
  });

  test('excludes a temperature, and limits top_p', () => {
    const thoughtful = (request: Partial<ChatRequest>) =>
      wireRequest(
        adapter,
        providerCall(
          { reasoning_effort: 'low', ...request },
          { upstream: 'claude-opus-4-6', model: { capabilities: ['reasoning'] } },
        ),
      );
    expect(thoughtful({ temperature: 0.5, top_p: 0.9 }).dropped).toEqual(['temperature', 'top_p']);
    expect(thoughtful({ top_p: 0.97 })).toMatchObject({ dropped: [], body: { top_p: 0.97 } });
  });

  test('uses the caller’s setting if the policy passes `thinking` on', () => {
    const own = { type: 'enabled', budget_tokens: 2_000 };
    expect(build('claude-opus-4-5', { temperature: 0.1 }, { extras: { thinking: own } })).toEqual({
      thinking: own,
      output_config: undefined,
      dropped: ['temperature'],
    });
  });
});

describe('a thinking budget that the policy passes on', () => {
  const own = { type: 'enabled', budget_tokens: 30_000 };
  const sent = (outputCap: number) =>
    build('claude-opus-4-5', { max_tokens: 32_000 }, { outputCap, extras: { thinking: own } });

  test('stays unchanged if the cap is the caller’s own', () => {
    expect(sent(32_000).thinking).toEqual(own);
  });

  test('stays unchanged without a cap of the caller if it fits', () => {
    const sentWithin = (outputCap: number) => build('claude-opus-4-5', {}, { outputCap, extras: { thinking: own } });
    expect(sentWithin(30_001).thinking).toEqual(own);
    expect(sentWithin(30_000).thinking).toEqual({ ...own, budget_tokens: 15_000 });
  });

  test('is lowered to half of a lowered cap, or left out', () => {
    expect(sent(30_001).thinking).toEqual({ ...own, budget_tokens: 15_000 });
    expect(sent(8_192).thinking).toEqual({ ...own, budget_tokens: 4_096 });
    expect(sent(1_000)).toMatchObject({ thinking: undefined, dropped: ['thinking'] });
  });
});

describe('the capabilities that a model lacks', () => {
  const lacking = (upstream: string, acceptsTemperature = true) =>
    adapter.lacks?.(
      { capabilities: [], lacks: [], acceptsTemperature, ttftMs: 1, outputTokensPerSecond: 1 },
      upstream,
    ) ?? [];
  const ALWAYS: Capability[] = ['audio_input', 'choices', 'logprobs', 'seed', 'penalties', 'logit_bias', 'file_ids'];

  test('are those of the API and of its version', () => {
    const OF_CLAUDE: Capability = 'forced_tools_with_thinking';
    expect(lacking('claude-opus-4-6')).toEqual([...ALWAYS, OF_CLAUDE, 'continuation', 'high_temperature']);
    expect(lacking('claude-opus-4-6', false)).toEqual([...ALWAYS, OF_CLAUDE, 'continuation']);
    expect(lacking('claude-haiku-5-5')).toEqual([...ALWAYS, OF_CLAUDE, 'continuation']);
    expect(lacking('claude-opus-5-5')).toEqual([...ALWAYS, 'forced_tools', OF_CLAUDE, 'continuation']);
    expect(lacking('claude-3-5-sonnet-20241022')).toEqual([...ALWAYS, 'json_schema', OF_CLAUDE, 'high_temperature']);
    expect(lacking('other-model')).toEqual([...ALWAYS, 'high_temperature']);
  });

  test('are determined by its name, in the spelling of any host', () => {
    for (const name of [
      'claude-opus-4-8',
      'anthropic.claude-opus-4-8-v1:0',
      'anthropic/claude-opus-4.8',
      'claude-opus-4-8-20260528',
    ]) {
      expect(rulesOf(name)).toEqual(rulesOf('Claude-Opus-4-8'));
      expect(rulesOf(name)).toMatchObject({ inlineSystem: true, thinksByDefault: false, noForcedTools: false });
    }
    expect(rulesOf('claude-opus-4-20250514')).toMatchObject({ adaptive: false, jsonSchema: false });
    expect(rulesOf('claude-mythos-preview')).toMatchObject({ alwaysThinks: true, xhigh: false, noForcedTools: false });
    expect(rulesOf('claude-opus-latest')).toEqual(rulesOf('claude-opus-9'));
    expect(rulesOf('claude-saga-6')).toMatchObject({ alwaysThinks: true, noForcedTools: false });
  });
});

describe('a schema', () => {
  test('allows no other members, and its limits are written into the description', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        when: { type: 'string', format: 'date' },
        name: { type: 'string', format: 'iban', maxLength: 9, description: 'Whose.' },
        tags: { type: 'array', items: { $ref: '#/$defs/tag' }, minItems: 2 },
        either: { oneOf: [{ type: 'null' }, { enum: ['a', 1, null] }] },
      },
      required: ['name'],
      $defs: { tag: { type: 'object', properties: { x: { const: 1 } } } },
    };
    expect(structuredSchema(schema)).toEqual({
      schema: {
        type: 'object',
        properties: {
          when: { type: 'string', format: 'date' },
          name: { type: 'string', description: 'Whose.\n\n{format: "iban", maxLength: 9}' },
          tags: { type: 'array', items: { $ref: '#/$defs/tag' }, description: '{minItems: 2}' },
          either: { anyOf: [{ type: 'null' }, { enum: ['a', 1, null] }] },
        },
        required: ['name'],
        additionalProperties: false,
        $defs: { tag: { type: 'object', properties: { x: { const: 1 } }, additionalProperties: false } },
      },
    });
  });

  test('resolves references with percent-encoded names', () => {
    const schema = { $ref: '#/$defs/Pick%3CA~1B%3E', $defs: { 'Pick<A/B>': { type: 'string' } } };
    expect(structuredSchema(schema)).toEqual({ schema });
    expect(structuredSchema({ $ref: '#/%', '%': { type: 'string' } })).toHaveProperty('schema');
  });

  test.each([
    ['is recursive', { $ref: '#/$defs/a', $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } } }],
    ['is recursive', { type: 'object', properties: { a: { $ref: '#' } } }],
    ['has a $ref to something outside of the schema', { $ref: 'https://example.com/a.json' }],
    ['has a $ref to something outside of the schema', { $ref: '#/$defs/none' }],
    ['has an object with arbitrary keys', { type: 'object' }],
    ['has an object with arbitrary keys', { type: ['object', 'null'], properties: {}, additionalProperties: true }],
    ['has a subschema that is not an object', { type: 'object', properties: { a: true } }],
  ])('that %s cannot be translated', (why, schema) => {
    expect(structuredSchema(schema)).toEqual({ why });
  });
});
