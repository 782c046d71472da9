import { describe, expect, test } from 'bun:test';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { made as madeOf } from '../support/tool-messages.ts';
import { wireRequest } from '../support/wire-request.ts';
import { openaiOf } from './fixtures/openai-responses/adapter.ts';

type Rest = Parameters<typeof providerCall>[1];

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const PDF = 'data:application/pdf;base64,JVBERi0=';
const look = { type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } };
const looked = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false };
const made = (id: string, args?: string) => madeOf(id, 'look', args);
const callItem = (call_id: string, args = '{}') => ({ type: 'function_call', call_id, name: 'look', arguments: args });
const resultItem = (call_id: string, output: unknown) => ({ type: 'function_call_output', call_id, output });
const output = (text: string) => ({ type: 'output_text', text });
const input = (text: string) => ({ type: 'input_text', text });

const callOf = (request: Partial<ChatRequest>, rest: Rest = {}) =>
  providerCall(
    { tools: [look], ...request },
    {
      upstream: 'gpt-6-luna',
      stream: false,
      ...rest,
      model: { capabilities: ['reasoning'], acceptsTemperature: false, ...rest?.model },
    },
  );
const build = (request: Partial<ChatRequest>, rest?: Rest, adapter = openaiOf()) =>
  wireRequest(adapter, callOf(request, rest));
const inputOf = (messages: ChatMessage[], adapter = openaiOf()) => build({ messages }, {}, adapter).body.input;

describe('a request with tools', () => {
  test('is sent to the Responses API without storage', () => {
    const { path, headers, body, dropped } = build({});
    expect({ path, headers, dropped }).toEqual({ path: '/responses', headers: {}, dropped: [] });
    expect(body).toEqual({
      model: 'gpt-6-luna',
      input: [{ type: 'message', role: 'user', content: 'Hello' }],
      tools: [looked],
      reasoning: { summary: 'auto' },
      max_output_tokens: 1_000,
      store: false,
      include: ['reasoning.encrypted_content'],
    });
  });

  test.each<[string, Partial<ChatRequest>, object]>([
    ['an effort', { reasoning_effort: 'high' }, { reasoning: { effort: 'high', summary: 'auto' } }],
    ['a choice of none', { tool_choice: 'none' }, { tool_choice: 'none' }],
    ['any choice', { tool_choice: 'auto' }, { tool_choice: 'auto' }],
    ['any forced call', { tool_choice: 'required' }, { tool_choice: 'required' }],
    [
      'a forced call by name',
      { tool_choice: { type: 'function', function: { name: 'look' } } },
      { tool_choice: { type: 'function', name: 'look' } },
    ],
    ['one call at a time', { parallel_tool_calls: false }, { parallel_tool_calls: false }],
    ['JSON', { response_format: { type: 'json_object' } }, { text: { format: { type: 'json_object' } } }],
    [
      'a schema',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 's', description: 'D', schema: {}, strict: true },
        },
      },
      { text: { format: { type: 'json_schema', name: 's', description: 'D', schema: {}, strict: true } } },
    ],
    [
      'a schema that is only a hint',
      { response_format: { type: 'json_schema', json_schema: { name: 's', schema: {} } } },
      { text: { format: { type: 'json_schema', name: 's', schema: {}, strict: false } } },
    ],
    ['a user', { user: 'u' }, { user: 'u' }],
    ['no fields with empty values', { n: 1, stop: [], logprobs: false, presence_penalty: 0, logit_bias: {} }, {}],
    ['no fields for Signalbox', { metadata: { a: 'b' }, response_format: { type: 'text' } }, {}],
  ])('asks for %s', (_, asked, fields) => {
    const { body, dropped } = build(asked);
    expect(body).toEqual({ ...build({}).body, ...fields });
    expect(dropped).toEqual([]);
  });

  test('has tools in the flat form, strict only where declared', () => {
    const tools: ChatRequest['tools'] = [
      { type: 'function', function: { name: 'bare' } },
      { type: 'function', function: { name: 'strict', description: 'D', parameters: {}, strict: true } },
      { ...look, cache_control: { type: 'ephemeral' } } as typeof look,
    ];
    const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };
    const { body, dropped } = build({ tools });
    expect(body.tools).toEqual([
      { type: 'function', name: 'bare', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'function', name: 'strict', description: 'D', parameters: NO_PARAMETERS, strict: true },
      looked,
    ]);
    expect(dropped).toEqual(['tools[2].cache_control']);
  });

  test('has OpenAI’s own fields in their places', () => {
    const extras = { verbosity: 'low', prompt_cache_key: 'k', safety_identifier: 's' };
    const { body } = build({ response_format: { type: 'json_object' } }, { extras });
    expect(body).toMatchObject({
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      prompt_cache_key: 'k',
      safety_identifier: 's',
    });
    expect(body).not.toHaveProperty('verbosity');
    expect(build({}, { extras: { verbosity: 'low' } }).body.text).toEqual({ verbosity: 'low' });
  });

  test('streams with the supported options', () => {
    expect(build({}, { stream: true }).body).toEqual({ ...build({}).body, stream: true });
    const stream_options = { include_usage: true, include_obfuscation: false };
    expect(build({ stream_options }, { stream: true }).body.stream_options).toEqual({ include_obfuscation: false });
    expect(build({ stream_options }).body).not.toHaveProperty('stream_options');
  });

  test('drops the sampling controls that a model rejects, and reports them', () => {
    const asked = { temperature: 0.2, top_p: 0.9 };
    expect(build(asked)).toMatchObject({ dropped: ['temperature', 'top_p'] });
    expect(build(asked).body).not.toContainAnyKeys(['temperature', 'top_p']);
    expect(build(asked, { model: { acceptsTemperature: true } })).toMatchObject({ body: asked, dropped: [] });
  });

  test('requests no summary if OpenAI rejects it', () => {
    const { body } = build({ reasoning_effort: 'low' }, {}, openaiOf({ reasoning_summaries: 'left_out' }));
    expect(body.reasoning).toEqual({ effort: 'low' });
  });
});

describe('a field that the Responses API lacks', () => {
  const audio: ChatMessage = {
    role: 'user',
    content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
  };
  const BEYOND: readonly (readonly [string, Partial<ChatRequest>, number])[] = [
    ['seed', { seed: 0 }, 1_000],
    ['n', { n: 2 }, 1_000],
    ['stop', { stop: 'END' }, 1_000],
    ['frequency_penalty', { frequency_penalty: 1 }, 1_000],
    ['presence_penalty', { presence_penalty: 1 }, 1_000],
    ['logit_bias', { logit_bias: { 1: 1 } }, 1_000],
    ['logprobs', { logprobs: true }, 1_000],
    ['max_tokens', {}, 15],
    ['max_completion_tokens', { max_completion_tokens: 15 }, 15],
    ['messages[1].content[0].input_audio', { messages: [{ role: 'user', content: 'Hear:' }, audio] }, 1_000],
  ];

  test.each(BEYOND)('is sent to chat completions without reasoning: %s', (_, asked, outputCap) => {
    const { path, body, dropped } = build({ ...asked, reasoning_effort: 'high' }, { outputCap });
    expect([path, body.reasoning_effort, body.max_completion_tokens]).toEqual(['/chat/completions', 'none', outputCap]);
    expect(dropped).toEqual(['reasoning_effort']);
    expect(build(asked, { outputCap }).dropped).toEqual([]);
  });

  test.each(BEYOND)('is refused if chat completions accept no tools: %s', (field, asked, outputCap) => {
    const failure = openaiOf().request(callOf(asked, { upstream: 'gpt-6-astra', outputCap }));
    expect(failure).toMatchObject({ kind: 'rejected' });
    expect('message' in failure && failure.message.startsWith(`${field} `)).toBe(true);
  });

  test.each(BEYOND)('does not matter without tools: %s', (_, asked, outputCap) => {
    const { path, body, dropped } = build({ ...asked, tools: [] }, { upstream: 'gpt-6-astra', outputCap });
    expect([path, dropped]).toEqual(['/chat/completions', []]);
    expect(body).toMatchObject({ ...asked, ...(asked.stop && { stop: ['END'] }) });
  });
});

describe('a conversation', () => {
  test('keeps its order, with the content of each role', () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'Look.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
      { role: 'assistant', content: 'I did.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'And' },
          { type: 'refusal', refusal: 'no more.' },
        ],
      },
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'user', content: 'Well?' },
    ];
    expect(inputOf(messages)).toEqual([
      { type: 'message', role: 'system', content: 'Be kind.' },
      { type: 'message', role: 'user', content: 'Look.' },
      { type: 'message', role: 'developer', content: [input('Be brief.')] },
      { type: 'message', role: 'assistant', content: [output('I did.')] },
      { type: 'message', role: 'assistant', content: [output('And'), { type: 'refusal', refusal: 'no more.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { type: 'message', role: 'user', content: 'Well?' },
    ]);
  });

  test('has images and files', () => {
    const content: ChatMessage['content'] = [
      { type: 'text', text: 'See:' },
      { type: 'image_url', image_url: { url: PNG } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
      { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } },
      { type: 'file', file: { file_id: 'file-1' } },
    ];
    const parts = [
      input('See:'),
      { type: 'input_image', image_url: PNG, detail: 'auto' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
      { type: 'input_file', file_data: PDF, filename: 'a.pdf' },
      { type: 'input_file', file_id: 'file-1' },
    ];
    expect(
      inputOf([
        { role: 'user', content },
        { role: 'assistant', tool_calls: [made('c1')] },
        { role: 'tool', tool_call_id: 'c1', content },
      ]),
    ).toEqual([{ type: 'message', role: 'user', content: parts }, callItem('c1'), resultItem('c1', parts)]);
  });

  test('has calls and results, and marks text before calls as commentary', () => {
    expect(
      inputOf([
        { role: 'assistant', content: 'I look.', tool_calls: [made('c1', '{"at":1}'), made('c2')] },
        { role: 'tool', tool_call_id: 'c2', content: 'two' },
        { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'one' }] },
        { role: 'assistant', content: 'Seen.' },
      ]),
    ).toEqual([
      { type: 'message', role: 'assistant', content: [output('I look.')], phase: 'commentary' },
      callItem('c1', '{"at":1}'),
      callItem('c2'),
      resultItem('c2', 'two'),
      resultItem('c1', [input('one')]),
      { type: 'message', role: 'assistant', content: [output('Seen.')] },
    ]);
  });

  test('has older function calls', () => {
    expect(
      inputOf([
        { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } } as ChatMessage,
        { role: 'function', name: 'look', content: 'seen' },
      ]),
    ).toEqual([callItem('function_look'), resultItem('function_look', 'seen')]);
  });

  test('gives calls that share an ID their results in order, with unique IDs', () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: null, tool_calls: [made('x_2', '0'), made('x', '1'), made('x', '2')] },
      { role: 'tool', tool_call_id: 'x_2', content: 'none' },
      { role: 'tool', tool_call_id: 'x', content: 'one' },
      { role: 'tool', tool_call_id: 'x', content: 'two' },
    ];
    expect(inputOf(messages)).toEqual([
      callItem('x_2', '0'),
      callItem('x', '1'),
      callItem('x_3', '2'),
      resultItem('x_2', 'none'),
      resultItem('x', 'one'),
      resultItem('x_3', 'two'),
    ]);
  });

  test('does not let a file override its part’s type', () => {
    const file = { type: 'input_image', image_url: PNG, file_data: PDF };
    const part = { type: 'file' as const, file };
    expect(inputOf([{ role: 'user', content: [part] }])).toMatchObject([{ content: [{ type: 'input_file' }] }]);
  });

  test('drops hints, and reports them', () => {
    const hint = { cache_control: { type: 'ephemeral' } };
    const { dropped } = build({
      messages: [
        { role: 'user', name: 'ann', content: [{ type: 'text', text: 'Hi', ...hint }] },
        { role: 'user', content: 'there', ...hint } as ChatMessage,
      ],
    });
    expect(dropped).toEqual(['messages[0].name', 'messages[0].content[0].cache_control', 'messages[1].cache_control']);
  });
});

describe('earlier reasoning', () => {
  const format = 'openai-responses-v1';
  const summary = (text: string, index: number, id: string) => ({
    type: 'reasoning.summary',
    summary: text,
    index,
    id,
    format,
  });
  const encrypted = (data: string, index: number, id: string) => ({
    type: 'reasoning.encrypted',
    data,
    index,
    id,
    format,
  });
  const item = (id: string, data: string, ...texts: string[]) => ({
    type: 'reasoning',
    id,
    summary: texts.map((text) => ({ type: 'summary_text', text })),
    encrypted_content: data,
  });
  const answer = (reasoning_details: unknown, more: Partial<ChatMessage> = {}): ChatMessage => {
    const message = { content: null, tool_calls: [made('c1'), made('c2')], reasoning_details, ...more };
    return { role: 'assistant', ...message };
  };

  /** Returns the items of an answer and the required results of its calls. */
  const itemsOf = (message: ChatMessage, adapter = openaiOf()) => {
    const results = (message.tool_calls ?? []).map(({ id }) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: '',
    }));
    const items = inputOf([message, ...results], adapter) as unknown[];
    return items.slice(0, items.length - results.length);
  };

  test('is unchanged, before its calls', () => {
    const details = [
      summary('One.', 0, 'rs_1'),
      summary('Two.', 0, 'rs_1'),
      encrypted('d1', 0, 'rs_1'),
      encrypted('d2', 2, 'rs_2'),
    ];
    expect(itemsOf(answer(details))).toEqual([
      item('rs_1', 'd1', 'One.', 'Two.'),
      callItem('c1'),
      item('rs_2', 'd2'),
      callItem('c2'),
    ]);
  });

  test('precedes its text', () => {
    const said = { type: 'message', role: 'assistant', content: [output('Yes.')] };
    expect(inputOf([answer([encrypted('d1', 0, 'rs_1')], { content: 'Yes.', tool_calls: undefined })])).toEqual([
      item('rs_1', 'd1'),
      said,
    ]);
  });

  test('is never last, alone or reordered', () => {
    const details = [encrypted('d1', 7, 'rs_1'), encrypted('d2', 7, 'rs_2'), encrypted('d3', 0, 'rs_3')];
    const [first, second, third] = [item('rs_1', 'd1'), item('rs_2', 'd2'), item('rs_3', 'd3')];
    expect(itemsOf(answer(details))).toEqual([callItem('c1'), first, second, third, callItem('c2')]);
    expect(itemsOf(answer(details, { tool_calls: undefined }))).toEqual([]);
  });

  test('is omitted if it belongs to another service or is empty', () => {
    const strange = [
      { ...encrypted('d', 0, 'rs_1'), format: 'azure-openai-responses-v1' },
      { type: 'reasoning.text', text: 'Hm', signature: 's', format: 'anthropic-claude-v1', index: 0 },
      summary('Hm.', 0, 'rs_1'),
      encrypted('', 0, 'rs_1'),
      null,
      'x',
    ];
    for (const details of [strange, 'x', { 0: encrypted('d', 0, 'rs_1') }, undefined]) {
      expect(itemsOf(answer(details))).toEqual([callItem('c1'), callItem('c2')]);
    }
    expect(itemsOf(answer(strange), openaiOf({ service: 'azure' }))).toEqual([
      item('rs_1', 'd'),
      callItem('c1'),
      callItem('c2'),
    ]);
  });

  test('is not sent to chat completions', () => {
    const messages = [answer([encrypted('d1', 0, 'rs_1')])];
    const { body } = build({ messages, reasoning_effort: 'none' });
    expect(body.messages).toEqual([{ role: 'assistant', content: null, tool_calls: [made('c1'), made('c2')] }]);
  });
});
