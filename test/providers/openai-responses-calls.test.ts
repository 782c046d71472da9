import { describe, expect, test } from 'bun:test';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { calls, result } from '../support/tool-messages.ts';
import { openaiOf } from './fixtures/openai-responses/adapter.ts';

const adapter = openaiOf();
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } } as const;

function madeOf(request: Partial<ChatRequest>): object {
  const model = { capabilities: ['reasoning'], acceptsTemperature: false } as const;
  return adapter.request(providerCall({ tools: [look], ...request }, { upstream: 'gpt-6-luna', model }));
}
const bodyOf = (request: Partial<ChatRequest>) => JSON.parse(Object(madeOf(request)).body);

/** Returns each call's ID and its result. */
function pairs(...messages: ChatMessage[]): unknown[] {
  const items: Record<string, unknown>[] = bodyOf({ messages }).input;
  const ofCalls = items.filter(({ type }) => type === 'function_call').map(({ call_id }) => call_id);
  return ofCalls.map((id) => [
    id,
    items.filter(({ type, call_id }) => type === 'function_call_output' && call_id === id).map(({ output }) => output),
  ]);
}

describe('calls of other servers', () => {
  test('keep IDs that differ from generated IDs', () => {
    const messages = [calls('a'), result('a', '1'), calls('a'), result('a', '2'), calls('a_2'), result('a_2', '3')];
    const ids = pairs(...messages).map((pair) => Object(pair)[0]);
    expect(new Set(ids).size).toBe(3);
  });

  test('have IDs of at most 64 characters, the same in every request', () => {
    const [one, other] = [`${'x'.repeat(90)}1`, `${'x'.repeat(90)}2`];
    const messages = [calls(one, other), result(other, 'B'), result(one, 'A')];
    const made = pairs(...messages);
    expect(made.map((pair) => Object(pair)[1])).toEqual([['A'], ['B']]);
    for (const pair of made) expect(Object(pair)[0].length).toBeLessThanOrEqual(64);
    expect(pairs(...messages, calls('d'), result('d', ''))).toEqual([...made, ['d', ['']]]);
  });

  test('may be missing: a result without a call becomes user content', () => {
    const twice = [calls('c'), result('c', 'A'), result('c', 'B'), result('nobody', 'C')];
    expect(bodyOf({ messages: twice }).input.slice(2)).toEqual([
      { type: 'message', role: 'user', content: 'B' },
      { type: 'message', role: 'user', content: 'C' },
    ]);
  });
});

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
const tool = (fn: Partial<typeof look.function> & object) => ({
  tools: [{ ...look, function: { ...look.function, ...fn } }],
});

test.each<[string, Partial<ChatRequest>]>([
  ['messages[0]', { messages: [calls('c'), { role: 'user', content: 'And?' }] }],
  ['messages[0].content[0]', { messages: [{ role: 'assistant', content: [image] }] }],
  ['tools[0].function.name', tool({ name: 'a b' } as object)],
  ['tools[0].function.parameters', tool({ parameters: { type: 'string' } } as object)],
  ['tools[0].function.parameters', tool({ strict: true } as object)],
  ['response_format.json_schema.schema', { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }],
])('a request that cannot be translated is refused with its field: %s', (field, request) => {
  expect(madeOf(request)).toEqual({ kind: 'rejected', message: expect.stringMatching(/./) });
  expect(Object(madeOf(request)).message.split(' ')[0]).toBe(field);
});

test('parameters without a type are treated as an object', () => {
  const parameters = { properties: { a: { type: 'string' } } };
  expect(bodyOf(tool({ parameters } as object)).tools[0].parameters).toEqual({ ...parameters, type: 'object' });
});
