import { describe, expect, test } from 'bun:test';
import type { ChatMessage, ChatRequest, MessagePart } from '../../src/core/api/chat-request.ts';
import { inTime } from '../support/in-time.ts';
import { providerCall } from '../support/provider-call.ts';
import { calls, made, result as told } from '../support/tool-messages.ts';
import { wireRequest } from '../support/wire-request.ts';
import { geminiAdapter } from './fixtures/gemini/adapter.ts';

/**
 * Histories, tools and media that the API would reject. The adapter repairs such histories, tools and media if possible, and otherwise
 * refuses them with the name of the field.
 */
const adapter = geminiAdapter();
const NEW = 'gemini-4-pro';
const OLD = 'gemini-2.5-flash';

const system: ChatMessage = { role: 'system', content: 's' };
const user: ChatMessage = { role: 'user', content: 'a' };
const blank: ChatMessage = { role: 'user', content: '' };

const said = (...texts: string[]) => ({ role: 'user', parts: texts.map((text) => ({ text })) });
const asks = (...ids: string[]) => ({
  role: 'model',
  parts: ids.map((id, at) => ({
    functionCall: { id, name: 'look', args: {} },
    ...(at === 0 && { thoughtSignature: 'skip_thought_signature_validator' }),
  })),
});
const results = (...outputs: [id: string, output: string][]) => ({
  role: 'user',
  parts: outputs.map(([id, output]) => ({ functionResponse: { id, name: 'look', response: { output } } })),
});

const bodyOf = (request: Partial<ChatRequest>, upstream = NEW) =>
  wireRequest(adapter, providerCall(request, { upstream })).body;
const contentsOf = (...messages: ChatMessage[]) => bodyOf({ messages }).contents;
const refusalOf = (request: Partial<ChatRequest>, upstream = NEW) =>
  adapter.request(providerCall(request, { upstream }));
const partsOf = (...content: MessagePart[]) => contentsOf({ role: 'user', content });

describe('results of tools', () => {
  test('directly follow their calls: messages between them are moved after the results', () => {
    expect(contentsOf(user, calls('c1', 'c2'), told('c2', 'second'), system, user, told('c1', 'first'))).toEqual([
      said('a'),
      asks('c1', 'c2'),
      results(['c1', 'first'], ['c2', 'second']),
      said('<system>', 's', '</system>', 'a'),
    ]);
  });

  test('keep the order of their calls, which alone distinguishes two calls of a tool for older models', () => {
    const messages = [user, calls('c1', 'c2'), told('c2', 'second'), told('c1', 'first')];
    const parts = ['first', 'second'].map((output) => ({ functionResponse: { name: 'look', response: { output } } }));
    expect(bodyOf({ messages }, OLD).contents).toMatchObject([said('a'), { role: 'model' }, { role: 'user', parts }]);
  });

  test('without a call in the preceding answer become user content', () => {
    expect(
      contentsOf(user, calls('c1'), told('c1'), told('c1', 'again'), {
        role: 'function',
        name: 'look',
        content: 'old',
      }),
    ).toEqual([said('a'), asks('c1'), results(['c1', 'r']), said('again', 'old')]);
    expect(contentsOf(told('lost', 'late'))).toEqual([said('late')]);
  });

  test('of calls that share an ID each belong to their own call', () => {
    expect(contentsOf(user, calls('c', 'c_2', 'c'), told('c', '1'), told('c', '3'), told('c_2', '2'))).toEqual([
      said('a'),
      asks('c', 'c_2', 'c_3'),
      results(['c', '1'], ['c_2', '2'], ['c_3', '3']),
    ]);
  });

  test.each<[string, ChatMessage[]]>([
    ['at the end', [user, calls('c1')]],
    ['for one of two calls', [user, calls('c1', 'c2'), told('c2')]],
    ['for one of two calls of one ID', [user, calls('c1', 'c1'), told('c1')]],
    ['before the next answer', [user, calls('c1'), user, { role: 'assistant', content: 'b' }, told('c1'), user]],
  ])('that are missing %s are reported with the message that contains the call', (_, messages) => {
    expect(refusalOf({ messages })).toEqual({
      kind: 'rejected',
      message: 'messages[1] calls a tool, but no later message has its result',
    });
  });
});

test('many consecutive answers are built in linear time', async () => {
  const ids = Array.from({ length: 50 }, () => 'c');
  const answers = Array.from({ length: 1_000 }, () => calls(...ids));
  const contents = await inTime(
    3_000,
    () => contentsOf(user, ...answers, ...answers.flatMap(() => ids.map((id) => told(id)))) as object[],
  );
  expect(contents).toHaveLength(3);
});

describe('a conversation that starts with a call', () => {
  const rest = [asks('c1'), results(['c1', 'r'])];

  test('has its instructions as the user’s turn before the call, as when the call was made', () => {
    const { systemInstruction, contents } = bodyOf({ messages: [system, calls('c1'), told('c1')] });
    expect(systemInstruction).toBeUndefined();
    expect(contents).toEqual([said('s'), ...rest]);
    expect(contentsOf(system)).toEqual([said('s')]);
  });

  test.each<[string, ChatMessage[]]>([
    ['of nothing', []],
    ['of a blank', [blank]],
  ])('%s has a blank instead', (_, before) => {
    expect(contentsOf(...before, calls('c1'), told('c1'))).toEqual([said(' '), ...rest]);
  });

  test('keeps its instructions if it starts with text', () => {
    const { systemInstruction } = bodyOf({ messages: [system, { role: 'assistant', content: 'b' }, user] });
    expect(systemInstruction).toEqual({ parts: [{ text: 's' }] });
  });
});

describe('media under other names:', () => {
  const data = (type: string) => `data:${type};base64,aGk=`;
  const file = (type: string): MessagePart => ({ type: 'file', file: { file_data: data(type) } });

  test.each<[string, string, MessagePart]>([
    ['an image', 'image/jpeg', { type: 'image_url', image_url: { url: data('image/jpg') } }],
    ['a sound', 'audio/mp3', { type: 'input_audio', input_audio: { data: 'aGk=', format: 'MP3' } }],
    ['JSON', 'text/plain', file('application/json')],
    ['a text', 'text/markdown', file('text/markdown; charset=utf-8')],
    ['a film', 'video/mp4', file('video/mp4')],
  ])('%s is %s', (_, mimeType, part) => {
    expect(partsOf(part)).toEqual([{ role: 'user', parts: [{ inlineData: { mimeType, data: 'aGk=' } }] }]);
  });
});

describe('parameters of a tool', () => {
  const parametersOf = (parameters: object) =>
    bodyOf({ tools: [{ type: 'function', function: { name: 'f', parameters } }] }).tools;

  test.each([
    [
      { type: ['object', 'null'], properties: {} },
      { type: 'object', properties: {} },
    ],
    [{ properties: { a: {} } }, { properties: { a: {} } }],
  ])('always describe an object: %j', (parameters, parametersJsonSchema) => {
    expect(parametersOf(parameters)).toEqual([{ functionDeclarations: [{ name: 'f', parametersJsonSchema }] }]);
  });
});

describe('the description of an answer’s schema', () => {
  const schema = { type: 'object', properties: {} };
  const format = (members: object): Partial<ChatRequest> => ({
    response_format: { type: 'json_schema', json_schema: { name: 'x', description: 'A city.', ...members } },
  });

  test.each([
    [schema, 'A city.'],
    [{ ...schema, description: 'A town.' }, 'A town.'],
  ])('is in the schema, unless the schema has a description: %j', (schema, description) => {
    expect(bodyOf(format({ schema }))).toMatchObject({
      generationConfig: { responseJsonSchema: { ...schema, description } },
    });
  });

  test('is dropped without a schema, and reported', () => {
    expect(wireRequest(adapter, providerCall(format({}), { upstream: NEW }))).toMatchObject({
      dropped: ['response_format.json_schema.description'],
      body: { generationConfig: { responseMimeType: 'application/json' } },
    });
  });
});

describe('a field that cannot be repaired is refused by name:', () => {
  const tool = (name: string, parameters?: object) => ({ type: 'function' as const, function: { name, parameters } });
  const hears = (data: string, format: string): ChatMessage[] => [
    { role: 'user', content: [{ type: 'input_audio', input_audio: { data, format } }] },
  ];
  const sees = (url: string, role: ChatMessage['role'] = 'user'): ChatMessage[] => [
    { role, content: [{ type: 'image_url', image_url: { url } }] },
  ];
  const PNG = 'data:image/png;base64,aGk=';
  const zip: ChatMessage = {
    role: 'user',
    content: [{ type: 'file', file: { file_data: 'data:application/zip;base64,aGk=' } }],
  };
  const begun: ChatMessage = { role: 'assistant', content: 'b' };

  test.each<[string, Partial<ChatRequest>]>([
    ['messages', { messages: [blank] }],
    ['messages', { messages: [user, begun, blank] }],
    ['messages[1]', { messages: [user, { role: 'assistant', tool_calls: [made('c', '')] }, told('c')] }],
    ['messages[0].content[0]', { messages: sees(PNG, 'system') }],
    ['messages[0].content[0].image_url.url', { messages: sees('http://example.com/a.png') }],
    ['messages[0].content[0].image_url.url', { messages: sees('data:image/bmp;base64,aGk=') }],
    ['messages[0].content[0].image_url.url', { messages: sees('data:audio/wav;base64,aGk=') }],
    ['messages[0].content[0].input_audio', { messages: hears('', 'wav') }],
    ['messages[0].content[0].input_audio', { messages: hears('aGk=', 'amr') }],
    ['messages[0].content[0].input_audio', { messages: hears('no bytes', 'wav') }],
    ['messages[0].content[0].file.file_data', { messages: [zip] }],
    ['tools[1].function.name', { tools: [tool('a.b:c-d_1'), tool('9lives')] }],
    ['tools[0].function.name', { tools: [tool('wär')] }],
    ['tools[1].function.name', { tools: [tool('a'), tool('a')] }],
    ['tools[0].function.parameters', { tools: [tool('a', { type: 'string' })] }],
    ['tools[0].function.parameters', { tools: [tool('a', { type: ['array', 'null'] })] }],
  ])('%s', (field, request) => {
    expect(JSON.stringify(refusalOf(request))).toStartWith(`{"kind":"rejected","message":"${field} `);
  });

  test('older models continue an answer with trailing blanks', () => {
    expect(bodyOf({ messages: [user, begun, blank] }, OLD).contents).toEqual([
      said('a'),
      { role: 'model', parts: [{ text: 'b' }] },
    ]);
  });
});
