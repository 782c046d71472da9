import { describe, expect, test } from 'bun:test';
import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import { providerCall } from '../support/provider-call.ts';
import { calls, made } from '../support/tool-messages.ts';
import { wireRequest } from '../support/wire-request.ts';
import { geminiAdapter } from './fixtures/gemini/adapter.ts';

const adapter = geminiAdapter();
const NEW = 'gemini-3.8-flash';
const OLD = 'gemini-2.5-flash';

type Rest = Parameters<typeof providerCall>[1];
const build = (request: Partial<ChatRequest>, rest: Rest = {}) =>
  wireRequest(adapter, providerCall(request, { upstream: NEW, ...rest }));
const bodyOf = (request: Partial<ChatRequest>, rest: Rest = {}) => build(request, rest).body;
const configOf = (request: Partial<ChatRequest>, rest: Rest = {}) => bodyOf(request, rest).generationConfig;
const contentsOf = (messages: ChatRequest['messages'], upstream = NEW) => bodyOf({ messages }, { upstream }).contents;

describe('the path', () => {
  test.each([
    [NEW, '/models/gemini-3.8-flash:generateContent'],
    ['models/gemini-3.8-flash', '/models/gemini-3.8-flash:generateContent'],
    ['tunedModels/my-model', '/tunedModels/my-model:generateContent'],
    ['../x?y', '/models/..%2Fx%3Fy:generateContent'],
  ])('contains the model name as one path segment: %s', (upstream, path) => {
    expect(build({}, { upstream, stream: false }).path).toBe(path);
  });

  test('requests server-sent events for a stream', () => {
    expect(build({}).path).toBe('/models/gemini-3.8-flash:streamGenerateContent?alt=sse');
  });
});

describe('messages', () => {
  test('become contents of user and model, with leading system messages as the instruction', () => {
    const { systemInstruction, contents } = bodyOf({
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { role: 'user', content: 'How' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'are' },
            { type: 'text', text: 'you?' },
          ],
        },
      ],
    });
    expect(systemInstruction).toEqual({ parts: [{ text: 'Be kind.' }, { text: 'Be brief.' }] });
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'Hello' }] },
      { role: 'user', parts: [{ text: 'How' }, { text: 'are' }, { text: 'you?' }] },
    ]);
  });

  test('of the system within a conversation keep their position and are marked', () => {
    expect(
      contentsOf([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello' },
        { role: 'system', content: 'French from here.' },
        { role: 'user', content: 'Bye' },
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'Hello' }] },
      {
        role: 'user',
        parts: [{ text: '<system>' }, { text: 'French from here.' }, { text: '</system>' }, { text: 'Bye' }],
      },
    ]);
  });

  test('of the system alone become the user’s turn', () => {
    const { systemInstruction, contents } = bodyOf({ messages: [{ role: 'system', content: 'Say hi.' }] });
    expect({ systemInstruction, contents }).toEqual({
      systemInstruction: undefined,
      contents: [{ role: 'user', parts: [{ text: 'Say hi.' }] }],
    });
  });

  test('without text are omitted, and refusals become text', () => {
    expect(
      contentsOf([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'Really.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'Why?' },
          ],
        },
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'No.' }, { text: 'Really.' }] },
      { role: 'user', parts: [{ text: 'Why?' }] },
    ]);
  });

  test('lose speakers’ names, which is reported', () => {
    expect(build({ messages: [{ role: 'user', name: 'Ann', content: 'Hi' }] }).dropped).toEqual(['messages[0].name']);
  });
});

describe('calls in the older form', () => {
  test.each([
    [NEW, { id: 'function_look' }],
    [OLD, {}],
  ])('are translated like current calls: %s', (upstream, id) => {
    const call = { role: 'assistant' as const, content: null, function_call: { name: 'look', arguments: '{"at":2}' } };
    const asked = { role: 'user' as const, content: 'Hi' };
    const contents = contentsOf([asked, call, { role: 'function', name: 'look', content: 'r' }], upstream);
    expect(contents).toMatchObject([
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ functionCall: { ...id, name: 'look', args: { at: 2 } } }] },
      { role: 'user', parts: [{ functionResponse: { ...id, name: 'look', response: { output: 'r' } } }] },
    ]);
  });
});

describe('a request that cannot be translated', () => {
  const refusal = (messages: ChatRequest['messages']) => adapter.request(providerCall({ messages }, { upstream: NEW }));

  test.each<[string, ChatRequest['messages']]>([
    [
      'messages[0].content[1].image_url.url',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: 'data:image/svg+xml,<svg/>' } },
          ],
        },
      ],
    ],
    ['messages[0].content[0].file.file_data', [{ role: 'user', content: [{ type: 'file', file: {} }] }]],
    [
      'messages[1].content[0]',
      [
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } } as ChatRequest['messages'][0],
        {
          role: 'function',
          name: 'f',
          content: [{ type: 'file', file: { file_data: 'data:text/plain;base64,eA==' } }],
        },
      ],
    ],
  ])('is refused, naming %s', (path, messages) => {
    expect(refusal(messages)).toEqual({ kind: 'rejected', message: expect.stringContaining(`${path} `) });
  });
});

describe('tools', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false };
  const tools = [
    { type: 'function' as const, function: { name: 'f', description: 'F.', parameters } },
    { type: 'function' as const, function: { name: 'g', parameters: {} } },
  ];

  test('are declared with their JSON schema', () => {
    expect(bodyOf({ tools }).tools).toEqual([
      { functionDeclarations: [{ name: 'f', description: 'F.', parametersJsonSchema: parameters }, { name: 'g' }] },
    ]);
    expect(bodyOf({ tools: [], tool_choice: 'required' })).not.toHaveProperty('tools');
  });

  test.each<[ChatRequest['tool_choice'], object]>([
    [undefined, { mode: 'AUTO' }],
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'g' } },
      { mode: 'ANY', allowedFunctionNames: ['g'] },
    ],
  ])('are called according to tool_choice: %j', (tool_choice, functionCallingConfig) => {
    expect(bodyOf({ tools, tool_choice }).toolConfig).toEqual({ functionCallingConfig });
  });

  test('that are strict enforce their schema', () => {
    const strict = [{ type: 'function' as const, function: { name: 'f', strict: true, parameters } }];
    expect(bodyOf({ tools: strict }).toolConfig).toEqual({ functionCallingConfig: { mode: 'VALIDATED' } });
  });

  const history: ChatRequest['messages'] = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: null, tool_calls: [made('a', 'f', '{"city":"Paris"}'), made('b', 'g', '')] },
    { role: 'tool', tool_call_id: 'b', content: '12345678901234567890' },
    {
      role: 'tool',
      tool_call_id: 'a',
      content: [
        { type: 'text', text: '{"t":' },
        { type: 'text', text: '7}' },
      ],
    },
    { role: 'user', content: 'And?' },
  ];

  test('and their results have one content each, in the same order, identified by name, and from Gemini 3 on by ID', () => {
    expect(contentsOf(history, NEW)).toEqual([
      { role: 'user', parts: [{ text: 'Weather?' }] },
      {
        role: 'model',
        parts: [
          {
            functionCall: { id: 'a', name: 'f', args: { city: 'Paris' } },
            thoughtSignature: 'skip_thought_signature_validator',
          },
          { functionCall: { id: 'b', name: 'g', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'a', name: 'f', response: { output: '{"t":7}' } } },
          { functionResponse: { id: 'b', name: 'g', response: { output: '12345678901234567890' } } },
        ],
      },
      { role: 'user', parts: [{ text: 'And?' }] },
    ]);
    const before = JSON.stringify(contentsOf(history, OLD));
    expect(before).not.toContain('"id"');
    expect(before).not.toContain('thoughtSignature');
  });

  test('called twice with one ID get their results from the preceding call', () => {
    const again: ChatRequest['messages'] = [
      ...history,
      { role: 'assistant', content: null, tool_calls: [made('a', 'g', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    expect(JSON.stringify(contentsOf(again, OLD))).toEndWith(
      '{"functionResponse":{"name":"g","response":{"output":"x"}}}]}]',
    );
  });

  test.each(['{"a":', '[1]', 'null', 'hi'])('called without a JSON object do not break a conversation: %s', (text) => {
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [made('a', 'f', text)] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    expect(contentsOf(messages, OLD)).toMatchObject([
      { role: 'user' },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: { arguments: text } } }] },
      { role: 'user' },
    ]);
  });
});

describe('the configuration', () => {
  test('contains the caller’s settings, and always the output cap', () => {
    const request: Partial<ChatRequest> = {
      temperature: 1.5,
      top_p: 0.9,
      seed: 2 ** 32 + 7,
      stop: ['a', 'b'],
      n: 2,
      logprobs: true,
      top_logprobs: 3,
      response_format: { type: 'json_object' },
    };
    expect(configOf(request, { upstream: OLD, outputCap: 77 })).toEqual({
      maxOutputTokens: 77,
      temperature: 1.5,
      topP: 0.9,
      seed: 7,
      stopSequences: ['a', 'b'],
      candidateCount: 2,
      responseLogprobs: true,
      logprobs: 3,
      responseMimeType: 'application/json',
    });
  });

  test('omits default values', () => {
    const request: Partial<ChatRequest> = {
      stop: '',
      n: 1,
      logprobs: false,
      top_logprobs: 0,
      response_format: { type: 'text' },
      frequency_penalty: 0,
      parallel_tool_calls: true,
      max_tokens: 5,
      metadata: { a: 'b' },
    };
    expect(build(request)).toMatchObject({ body: { generationConfig: { maxOutputTokens: 1_000 } }, dropped: [] });
    expect(configOf({ stop: 'end' })).toEqual({ maxOutputTokens: 1_000, stopSequences: ['end'] });
    expect(configOf({ logprobs: true, top_logprobs: 0 })).toEqual({ maxOutputTokens: 1_000, responseLogprobs: true });
  });

  test('has the JSON schema for the answer, with references alone in their objects', () => {
    const schema = {
      $defs: { City: { type: 'object' } },
      type: 'object',
      properties: {
        city: { $ref: '#/$defs/City', description: 'Where.' },
        other: { $ref: '#/$defs/City' },
      },
    };
    expect(configOf({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })).toEqual({
      maxOutputTokens: 1_000,
      responseMimeType: 'application/json',
      responseJsonSchema: {
        ...schema,
        properties: {
          city: { description: 'Where.', anyOf: [{ $ref: '#/$defs/City' }] },
          other: { $ref: '#/$defs/City' },
        },
      },
    });
  });

  test.each([
    [OLD, true, []],
    [OLD, false, ['temperature', 'top_p']],
    ['gemini-3.5-flash', true, []],
    ['gemini-3.5-flash-lite', true, ['temperature', 'top_p']],
    ['gemini-3.6-flash', true, ['temperature', 'top_p']],
    ['gemini-3.10-pro', true, ['temperature', 'top_p']],
    ['gemini-4-argon', true, ['temperature', 'top_p']],
    ['gemini-flash-latest', true, ['temperature', 'top_p']],
  ])('leaves out sampling that the model ignores, and reports it: %s', (upstream, acceptsTemperature, dropped) => {
    const made = build({ temperature: 0.2, top_p: 0.5, user: 'u' }, { upstream, model: { acceptsTemperature } });
    expect(made.dropped).toEqual(['user', ...dropped]);
    expect(made.body.generationConfig).toEqual({
      maxOutputTokens: 1_000,
      ...(dropped.length === 0 && { temperature: 0.2, topP: 0.5 }),
    });
  });

  test('passes extra fields on, which never override our fields', () => {
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }];
    const extras = { safetySettings, generationConfig: { maxOutputTokens: 1_000_000 } };
    expect(bodyOf({}, { extras })).toMatchObject({ safetySettings, generationConfig: { maxOutputTokens: 1_000 } });
  });
});

test('cache hints are dropped and reported', () => {
  const hint = { cache_control: { type: 'ephemeral' } };
  const { body, dropped } = build({
    messages: [
      { role: 'system', content: 'S', ...hint },
      { role: 'user', content: [{ type: 'text', text: 'Hi', ...hint }] },
      calls('c'),
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'r', ...hint }] },
    ],
    tools: [
      { type: 'function', function: { name: 'f' }, ...hint },
      { type: 'function', function: { name: 'g', ...hint } },
    ],
  });
  expect(JSON.stringify(body)).not.toContain('cache_control');
  expect(dropped.toSorted()).toEqual([
    'messages[0].cache_control',
    'messages[1].content[0].cache_control',
    'messages[3].content[0].cache_control',
    'tools[0].cache_control',
    'tools[1].function.cache_control',
  ]);
});
