import { describe, expect, test } from 'bun:test';
import { anthropic } from '../../plugins/providers/anthropic.ts';
import type { ProviderFailure } from '../../src/contract/parts.ts';
import type { ProviderCall } from '../../src/contract/provider.ts';
import type { ChatMessage, ChatRequest } from '../../src/core/api/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { made as madeOf } from '../support/tool-messages.ts';
import { wireAdapter, wireRequest } from '../support/wire-request.ts';

const MARK = { type: 'ephemeral' };
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const tool = (name: string, more: object = {}) => ({ type: 'function' as const, function: { name, ...more } });
const made = (id: string, name = 'look', args = '{"at":1}') => madeOf(id, name, args);

const adapter = (prompt_cache: 'auto' | 'by_caller' = 'by_caller') =>
  wireAdapter(anthropic.prepare({ service: 'anthropic', prompt_cache, threads: false }));

/** Builds the body for a model that reasons. */
function build(request: Partial<ChatRequest>, rest: Parameters<typeof providerCall>[1] = {}, cache?: 'auto') {
  const model = { capabilities: ['reasoning' as const], ...rest.model };
  return wireRequest(
    adapter(cache),
    providerCall(request, { upstream: 'claude-opus-4-5', stream: false, ...rest, model }),
  );
}
const messagesOf = (messages: ChatMessage[], upstream = 'claude-opus-4-8') => build({ messages }, { upstream }).body;
const refusalOf = (request: Partial<ChatRequest>, rest: Partial<ProviderCall> = {}) =>
  adapter().request(providerCall(request, { upstream: 'claude-opus-4-8', ...rest }));
const text = (said: string) => ({ type: 'text', text: said });

describe('the request', () => {
  test('has the API’s path, version and names', () => {
    const { path, headers, body, dropped } = build(
      { messages: [{ role: 'user', content: 'Hello' }], temperature: 0.3, stop: 'END', user: 'u1' },
      { stream: true, outputCap: 77 },
    );
    expect({ path, headers, dropped }).toEqual({
      path: '/messages',
      headers: { 'anthropic-version': '2023-06-01' },
      dropped: [],
    });
    expect(body).toEqual({
      model: 'claude-opus-4-5',
      max_tokens: 77,
      messages: [{ role: 'user', content: [text('Hello')] }],
      temperature: 0.3,
      stop_sequences: ['END'],
      metadata: { user_id: 'u1' },
      stream: true,
    });
  });

  test('drops the sampling controls that a model rejects, and reports them', () => {
    const asked = { temperature: 0.3, top_p: 0.9 };
    const extras = { top_k: 5 };
    expect(build(asked, { extras })).toMatchObject({ body: { temperature: 0.3, top_k: 5 }, dropped: ['top_p'] });
    for (const refusing of [{ upstream: 'claude-sonnet-5' }, { model: { acceptsTemperature: false } }]) {
      const { body, dropped } = build(asked, { extras, ...refusing });
      expect(dropped).toEqual(['temperature', 'top_p', 'top_k']);
      expect(body).not.toContainAnyKeys(dropped as string[]);
    }
  });

  test('refuses fields that cannot be translated, by name', () => {
    const user = (content: ChatMessage['content']) => ({ messages: [{ role: 'user' as const, content }] });
    const image = (url: string) => user([{ type: 'image_url', image_url: { url } }]);
    const format = (schema?: object) => ({
      response_format: { type: 'json_schema' as const, json_schema: { name: 's', ...(schema && { schema }) } },
    });
    const field = (name: string): ProviderFailure => ({
      kind: 'rejected',
      message: expect.stringMatching(new RegExp(`^${name} `)),
    });
    expect(refusalOf(image('data:image/bmp;base64,AA=='))).toEqual(
      field('messages\\[0\\].content\\[0\\].image_url.url'),
    );
    expect(refusalOf(image('data:image/png,AA'))).toEqual(field('messages\\[0\\].content\\[0\\].image_url.url'));
    expect(refusalOf(user([{ type: 'file', file: { file_data: 'AAAA' } }]))).toEqual(
      field('messages\\[0\\].content\\[0\\].file.file_data'),
    );
    expect(refusalOf(format())).toEqual(field('response_format.json_schema.schema'));
    expect(refusalOf(format({ type: 'object', additionalProperties: { type: 'string' } }))).toEqual(
      field('response_format.json_schema.schema'),
    );
  });
});

describe('messages', () => {
  test('of the same role become one turn, without blanks', () => {
    const body = messagesOf([
      { role: 'user', content: 'a' },
      {
        role: 'user',
        content: [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'c' },
      { role: 'assistant', content: 'd' },
      { role: 'assistant', content: null, refusal: 'e' },
      { role: 'user', content: 'f' },
    ]);
    expect(body.messages).toEqual([
      { role: 'user', content: [text('a'), text('b'), text('c')] },
      { role: 'assistant', content: [text('d'), text('e')] },
      { role: 'user', content: [text('f')] },
    ]);
  });

  test('of the operator keep their position after the user’s messages if the model accepts them there', () => {
    const said: ChatMessage[] = [
      { role: 'system', content: 'S' },
      { role: 'developer', content: 'D' },
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'system', content: 'late' },
      { role: 'user', content: 'c' },
      { role: 'assistant', content: 'd' },
      { role: 'user', content: 'e' },
    ];
    const [a, b, c, d, e] = [...'abcde'].map(text);
    expect(messagesOf(said)).toMatchObject({
      system: [text('S'), text('D')],
      messages: [
        { role: 'user', content: [a] },
        { role: 'assistant', content: [b] },
        { role: 'user', content: [c] },
        { role: 'system', content: [text('late')] },
        { role: 'assistant', content: [d] },
        { role: 'user', content: [e] },
      ],
    });
  });

  test('of the operator alone become the user’s, marked if they follow an answer', () => {
    expect(messagesOf([{ role: 'system', content: 'S' }])).toMatchObject({
      messages: [{ role: 'user', content: [text('S')] }],
    });
    expect(
      messagesOf([
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        { role: 'system', content: 'go on' },
      ]).messages,
    ).toEqual([
      { role: 'user', content: [text('a')] },
      { role: 'assistant', content: [text('b')] },
      { role: 'user', content: [text('<system-reminder>\ngo on\n</system-reminder>')] },
    ]);
  });

  test('of the operator within a user’s turn are moved after it, the only place where the model accepts them', () => {
    const said = [...'aAbB'].map(
      (content): ChatMessage => ({ role: /[A-Z]/.test(content) ? 'system' : 'user', content }),
    );
    expect(messagesOf([...said, { role: 'assistant', content: 'c' }, said[0]!]).messages).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
      { role: 'system', content: [text('A'), text('B')] },
      { role: 'assistant', content: [text('c')] },
      { role: 'user', content: [text('a')] },
    ]);
  });

  test('contain images and files as blocks', () => {
    const b64 = btoa('name,age\nJörg,7'.replace('ö', '\u00c3\u00b6'));
    const { body, dropped } = build({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: PNG } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
            { type: 'file', file: { filename: 'a.csv', file_data: `data:text/csv;base64,${b64}` } },
          ],
        },
      ],
    });
    expect(dropped).toEqual(['messages[0].content[0].image_url.detail']);
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
            title: 'a.pdf',
          },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'name,age\nJörg,7' },
            title: 'a.csv',
          },
        ],
      },
    ]);
  });

  test('end without blanks if the model continues an answer', () => {
    expect(
      messagesOf(
        [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b \n' },
        ],
        'claude-opus-4-5',
      ),
    ).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant', content: [text('b')] }],
    });
  });
});

describe('calls of tools', () => {
  const use = (id: string, input: unknown, name = 'look') => ({ type: 'tool_use', id, name, input });
  const result = (id: string, content?: string) => ({
    type: 'tool_result',
    tool_use_id: id,
    ...(content !== undefined && { content: [text(content)] }),
  });

  test('have their results in one turn, before the user’s text', () => {
    const body = messagesOf([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b', tool_calls: [made('c1'), made('c2', 'look', '')] },
      { role: 'tool', tool_call_id: 'c1', content: 'r1' },
      { role: 'user', content: 'and?' },
      { role: 'tool', tool_call_id: 'c2', content: '' },
    ]);
    expect(body.messages).toEqual([
      { role: 'user', content: [text('a')] },
      { role: 'assistant', content: [text('b'), use('c1', { at: 1 }), use('c2', {})] },
      { role: 'user', content: [result('c1', 'r1'), result('c2'), text('and?')] },
    ]);
  });

  test('get unique IDs with the API’s characters, the same for call and result', () => {
    const body = messagesOf([
      { role: 'assistant', content: null, tool_calls: [made('f.look:0')] },
      { role: 'tool', tool_call_id: 'f.look:0', content: 'r1' },
      { role: 'assistant', content: null, tool_calls: [made('f.look:0'), made('')] },
      { role: 'tool', tool_call_id: 'f.look:0', content: 'r2' },
      { role: 'tool', tool_call_id: '', content: 'r3' },
    ]);
    expect(body.messages).toEqual([
      { role: 'assistant', content: [use('f_2e_look_3a_0', { at: 1 })] },
      { role: 'user', content: [result('f_2e_look_3a_0', 'r1')] },
      { role: 'assistant', content: [use('f_2e_look_3a_0_2', { at: 1 }), use('call', { at: 1 })] },
      { role: 'user', content: [result('f_2e_look_3a_0_2', 'r2'), result('call', 'r3')] },
    ]);
  });

  test('whose arguments are not an object do not end the conversation', () => {
    const calls = ['{"a":', '[1]', 'null'].map((args, at) => made(`c${at}`, 'look', args));
    const { messages } = messagesOf([
      { role: 'assistant', content: null, tool_calls: calls },
      ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'r' })),
    ]);
    expect(messages).toMatchObject([
      {
        content: [{ input: { arguments: '{"a":' } }, { input: { arguments: '[1]' } }, { input: { arguments: 'null' } }],
      },
      {},
    ]);
  });

  test('in the older form are translated', () => {
    const older = { role: 'assistant' as const, content: null, function_call: { name: 'look', arguments: '{"at":2}' } };
    const { body, dropped } = build({
      messages: [
        older,
        { role: 'function', name: 'look', content: 'r' },
        { role: 'function', name: 'none', content: 's' },
      ],
    });
    expect(dropped).toEqual([]);
    expect(body.messages).toEqual([
      { role: 'assistant', content: [use('function_look', { at: 2 })] },
      { role: 'user', content: [result('function_look', 'r'), text('s')] },
    ]);
  });

  test('are declared with the choice `none` if the request has no tools', () => {
    const { body } = build({
      messages: [
        { role: 'assistant', content: null, tool_calls: [made('c1'), made('c2', 'stop')] },
        { role: 'tool', tool_call_id: 'c1', content: 'r1' },
        { role: 'tool', tool_call_id: 'c2', content: 'r2' },
      ],
    });
    const schema = { type: 'object', properties: {} };
    expect(body.tools).toEqual([
      { name: 'look', input_schema: schema },
      { name: 'stop', input_schema: schema },
    ]);
    expect(body.tool_choice).toEqual({ type: 'none' });
  });
});

describe('tools', () => {
  test('are sent with their schemas, which are strict only if the model supports it', () => {
    const parameters = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] };
    const tools = [
      tool('plain'),
      tool('loose', { description: 'd', parameters }),
      tool('strict', { parameters, strict: true }),
      tool('open', { parameters: { type: 'object' }, strict: true }),
    ];
    const { body, dropped } = build({ tools });
    expect(dropped).toEqual(['tools[3].function.strict']);
    expect(body.tools).toEqual([
      { name: 'plain', input_schema: { type: 'object', properties: {} } },
      { name: 'loose', description: 'd', input_schema: parameters },
      {
        name: 'strict',
        strict: true,
        input_schema: {
          ...parameters,
          properties: { n: { type: 'integer', description: '{minimum: 1}' } },
          additionalProperties: false,
        },
      },
      { name: 'open', input_schema: { type: 'object' } },
    ]);
  });

  test.each<[Partial<ChatRequest>, unknown]>([
    [{}, undefined],
    [{ tool_choice: 'auto' }, undefined],
    [{ tool_choice: 'none' }, { type: 'none' }],
    [{ tool_choice: 'required' }, { type: 'any' }],
    [{ tool_choice: { type: 'function', function: { name: 'look' } } }, { type: 'tool', name: 'look' }],
    [{ parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      { tool_choice: 'required', parallel_tool_calls: false },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    [{ tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }],
  ])('%j is said as %j', (request, choice) => {
    expect(build({ tools: [tool('look')], ...request }).body.tool_choice).toEqual(choice);
    expect(build(request).body.tool_choice).toBeUndefined();
  });
});

describe('the cache', () => {
  const tools = [tool('look')];
  const messages: ChatMessage[] = [
    { role: 'system', content: 'S' },
    { role: 'user', content: 'a' },
  ];

  test('is used by default if the prompt is likely to be sent again', () => {
    expect(build({ messages }, {}, 'auto').body).not.toContainKey('cache_control');
    expect(build({ messages, tools }, {}, 'auto').body).toMatchObject({
      cache_control: MARK,
      system: [{ text: 'S', cache_control: MARK }],
    });
    expect(build({ tools }, {}, 'auto').body).toMatchObject({ cache_control: MARK, tools: [{ cache_control: MARK }] });
    expect(JSON.stringify(build({ messages, tools }).body)).not.toContain('cache_control');
  });

  test('follows the caller’s marks on parts, messages and tools with their lifetime, up to four', () => {
    const hour = { cache_control: { ...MARK, ttl: '1h' } };
    const part = { type: 'text' as const, text: 'x', cache_control: MARK };
    const { body, dropped } = build(
      {
        tools: [Object.assign(tool('look'), { cache_control: MARK })],
        messages: [
          { role: 'system', content: 'S', ...hour },
          { role: 'user', content: [part, { ...part, text: 'y' }, { ...part, text: 'z' }] },
        ],
      },
      {},
      'auto',
    );
    expect(dropped).toEqual(['messages[1].content[2].cache_control']);
    expect(body).toMatchObject({
      tools: [{ cache_control: MARK }],
      system: [{ text: 'S', ...hour }],
      messages: [{ content: [{ cache_control: MARK }, { cache_control: MARK }, { text: 'z' }] }],
    });
    expect(body).not.toContainKey('cache_control');
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4);
  });

  test('may cover the whole request', () => {
    const { body, dropped } = build({ messages }, { extras: { cache_control: { ...MARK, ttl: '1h' } } });
    expect(body.cache_control).toEqual({ ...MARK, ttl: '1h' });
    expect(dropped).toEqual([]);
  });
});
