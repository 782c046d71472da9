import { describe, expect, test } from 'bun:test';
import type { Json } from '../../../plugins/providers/json.ts';
import { startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';

/**
 * The second request of a tool loop, in the forms that agents sent when we ran them against this server: Continue 1.5.47, Cline 3.0.65, and
 * n8n 2.41.1, which uses chat completions or Responses.
 */
const CALL = { id: 'call_a1', type: 'function', function: { name: 'read', arguments: '{"files":[{"path":"a.txt"}]}' } };
const parameters = {
  type: 'object',
  properties: {
    files: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', minLength: 1 },
          start_line: {
            anyOf: [{ type: 'integer', exclusiveMinimum: 0, maximum: 9007199254740991 }, { type: 'null' }],
          },
        },
        required: ['path'],
        additionalProperties: false,
      },
    },
  },
  required: ['files'],
  additionalProperties: false,
  $schema: 'http://json-schema.org/draft-07/schema#',
};
const tool = { type: 'function', function: { name: 'read', description: 'Reads files.', parameters } };
const loop = (content: string | null) => [
  { role: 'user', content: 'Read a.txt.' },
  { role: 'assistant', content, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: CALL.id, content: '[{"result":"1 | Hello","success":true}]' },
];
const streamed = { stream: true, stream_options: { include_usage: true } };
const system = { role: 'system', content: 'You are an agent.' };

const FORMS: readonly { name: string; path: string; body: Json }[] = [
  {
    name: 'Continue',
    path: '/v1/chat/completions',
    body: { messages: [system, ...loop('')], tools: [tool], ...streamed },
  },
  {
    name: 'Cline',
    path: '/v1/chat/completions',
    body: { messages: [system, ...loop(null)], tools: [tool], tool_choice: 'auto', ...streamed },
  },
  { name: 'n8n', path: '/v1/chat/completions', body: { stream: false, tools: [tool], messages: loop('') } },
  {
    name: 'n8n, by Responses',
    path: '/v1/responses',
    body: {
      input: [
        { type: 'message', role: 'user', content: 'Read a.txt.' },
        { type: 'function_call', name: 'read', arguments: CALL.function.arguments, call_id: CALL.id },
        { type: 'function_call_output', call_id: CALL.id, output: '[{"response":"Hello"}]' },
      ],
      stream: false,
      tools: [{ type: 'function', name: 'read', parameters, description: 'Reads files.', strict: false }],
      text: {},
    },
  },
];

describe.each(UPSTREAM_DIALECTS)('on an upstream of %s', (dialect) => {
  const bench = startBench(dialect);

  test.each(FORMS)('a tool loop continues in the form of $name', async ({ path, body }) => {
    bench.upstream.next({ text: ['It says Hello.'] });
    const answer = await bench.box.post(path, { model: 'best', ...body });
    const text = await answer.text();
    expect([answer.status, answer.status === 200 ? '' : text]).toEqual([200, '']);
    expect(text).toContain('Hello');
    const { turns } = bench.upstream.requests.at(-1)!.asked;
    expect(turns.map(({ role, results }) => [role, results.length])).toEqual([
      ['user', 0],
      ['assistant', 0],
      ['user', 1],
    ]);
  });
});
