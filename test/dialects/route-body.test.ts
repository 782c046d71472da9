import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import { readRouteBody } from '../../src/dialects/route-body.ts';

const chat = { messages: [{ role: 'user', content: 'Write a sort in Rust.' }] };
const tool = { name: 'look', description: 'Looks.', input_schema: { type: 'object' } };
const dialectOf = (body: unknown) => readRouteBody(body).original.dialect;

describe('the body of a /v1/route request is read in the dialect that', () => {
  test.each([
    ['anthropic-messages', { ...chat, system: 'Be brief.', max_tokens: 99 }],
    ['anthropic-messages', { ...chat, tools: [tool], max_tokens: 99 }],
    [
      'anthropic-messages',
      {
        max_tokens: 99,
        messages: [
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Seen.' }] },
        ],
      },
    ],
    ['openai-responses', { input: 'Write a sort in Rust.' }],
    ['openai-responses', { input: [{ role: 'user', content: 'Hi' }], instructions: 'Be brief.' }],
    ['openai-chat', chat],
    ['openai-chat', { task_type: 'coding' }],
    ['openai-chat', {}],
  ])('its shape tells: %s', (dialect, body) => expect(dialectOf(body)).toBe(dialect));

  test('`dialect` names if the form of the body is ambiguous', () => {
    const body = { ...chat, max_tokens: 99 };
    expect(dialectOf(body)).toBe('openai-chat');
    expect(dialectOf({ ...body, dialect: 'anthropic-messages' })).toBe('anthropic-messages');
    const { names, original } = readRouteBody({ ...body, dialect: 'anthropic-messages' });
    expect([names.stop, original.body]).toEqual(['stop_sequences', { ...body, model: 'auto' }]);
  });
});

test('a body in no dialect, and fields that belong to another dialect, are refused by name', () => {
  const refusal = (body: unknown) => {
    try {
      readRouteBody(body);
    } catch (error) {
      if (error instanceof SignalboxError) return [error.code, error.info.param];
    }
    return null;
  };
  expect(refusal({ ...chat, dialect: 'gemini' })).toEqual(['invalid_value', 'dialect']);
  expect(refusal({ input: 'hi', task_type: 'coding' })).toEqual(['unknown_field', 'task_type']);
  expect(refusal({ ...chat, system: 'x' })).toEqual(['missing_field', 'max_tokens']);
});
