import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { ApiError, type CallableTool, type Content, type GenerateContentResponse, GoogleGenAI } from '@google/genai';
import { event } from '../../support/dialects/gemini.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';

const upstream = startFakeUpstream({ dialect: 'gemini', key: 'AIza-right' });
afterAll(() => upstream.stop());
afterEach(() => upstream.behave({}));

const httpOptions = { baseUrl: upstream.root };
const client = new GoogleGenAI({ apiKey: 'AIza-right', httpOptions });
const model = 'gemini-3.8-flash';
const ask = { model, contents: 'Hello' };
const declaration = {
  name: 'weather',
  parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
};
const tools = [{ functionDeclarations: [declaration] }];
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 40 },
  completion_tokens_details: { reasoning_tokens: 12 },
};

const rejection = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error);
const streamed = async (asked: Parameters<typeof client.models.generateContentStream>[0]) =>
  Array.fromAsync(await client.models.generateContentStream(asked));
const partsOf = (responses: readonly GenerateContentResponse[]) =>
  responses.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);

describe('the official Google client understands the fake upstream', () => {
  test('in JSON', async () => {
    upstream.next({ text: 'Hello you' });
    const response = await client.models.generateContent(ask);
    expect(response.text).toBe('Hello you');
    expect(response).toMatchObject({ modelVersion: model, candidates: [{ finishReason: 'STOP', index: 0 }] });
    expect(response.responseId).toStartWith('resp_');
  });

  test('as a stream, whose chunks all have the running counts', async () => {
    upstream.next({ text: ['Hel', 'lo'], usage: USAGE });
    const chunks = await streamed(ask);
    expect(chunks.map(({ text }) => text ?? '').join('')).toBe('Hello');
    expect(chunks.map(({ candidates }) => candidates?.[0]?.finishReason)).toEqual([
      undefined,
      undefined,
      'STOP' as never,
    ]);
    expect(new Set(chunks.map(({ responseId }) => responseId)).size).toBe(1);
    expect(chunks.map(({ usageMetadata }) => usageMetadata?.candidatesTokenCount)).toEqual([1, 2, 18]);
  });

  test('with token counts: thoughts outside the candidates, cached tokens within the prompt', async () => {
    upstream.behave({ text: 'Hello', usage: USAGE });
    for (const response of [await client.models.generateContent(ask), (await streamed(ask)).at(-1)]) {
      expect(response?.usageMetadata).toMatchObject({
        promptTokenCount: 100,
        cachedContentTokenCount: 40,
        candidatesTokenCount: 18,
        thoughtsTokenCount: 12,
        totalTokenCount: 130,
      });
    }
  });

  test('with thoughts only on request', async () => {
    upstream.behave({ reasoning: 'I think so.', text: 'Yes.' });
    const thinkingConfig = { includeThoughts: true };
    const shown = await client.models.generateContent({ ...ask, config: { thinkingConfig } });
    expect(partsOf([shown])[0]).toEqual({ text: 'I think so.', thought: true });
    expect(shown.text).toBe('Yes.');
    expect(partsOf([await client.models.generateContent(ask)])).toMatchObject([{ text: 'Yes.' }]);
    const thoughts = partsOf(await streamed({ ...ask, config: { thinkingConfig } })).filter(({ thought }) => thought);
    expect(thoughts.map(({ text }) => text).join('')).toBe('I think so.');
  });

  test('in a chat that continues by itself after a function’s result', async () => {
    upstream.next(
      { reasoning: 'Hm.', toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}' }] },
      { text: 'It is sunny in Bern.' },
      { text: 'You are welcome.' },
    );
    const tool: CallableTool = {
      tool: async () => ({ functionDeclarations: [declaration] }),
      callTool: async (calls) =>
        calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: 'sunny' } } })),
    };
    const chat = client.chats.create({ model, config: { tools: [tool] } });
    const response = await chat.sendMessage({ message: 'How is the weather in Bern?' });
    expect(response.text).toBe('It is sunny in Bern.');
    expect(upstream.requests.at(-1)?.asked.turns).toMatchObject([
      { role: 'user', text: 'How is the weather in Bern?' },
      { role: 'assistant', calls: [{ name: 'weather', input: { city: 'Bern' } }] },
      { role: 'user', results: [{ name: 'weather', text: 'sunny' }] },
    ]);
    expect((await chat.sendMessage({ message: 'Thanks.' })).text).toBe('You are welcome.');
  });

  test('in a streamed chat that sends the answers back', async () => {
    upstream.next({ text: 'Hello you' }, { text: 'Bye' });
    const chat = client.chats.create({ model });
    await Array.fromAsync(await chat.sendMessageStream({ message: 'Hello' }));
    await Array.fromAsync(await chat.sendMessageStream({ message: 'Bye' }));
    expect(upstream.requests.at(-1)?.asked.turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  test('with signed calls, accepted back only unchanged', async () => {
    const toolCalls = ['Bern', 'Oslo'].map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));
    upstream.next({ toolCalls });
    const parts = partsOf(await streamed({ ...ask, config: { tools } }));
    expect(parts.map(({ thoughtSignature }) => thoughtSignature !== undefined)).toEqual([true, false]);
    const results = parts.map(({ functionCall }) => ({
      functionResponse: { id: functionCall!.id, name: 'weather', response: { output: 'sunny' } },
    }));
    const goOn = (given: Content['parts'], answers: Content['parts'] = results) => {
      const hello = { role: 'user', parts: [{ text: 'Hello' }] };
      const contents = [hello, { role: 'model', parts: given }, { role: 'user', parts: answers }];
      return client.models.generateContent({ model, contents, config: { tools } });
    };
    expect((await goOn(parts)).candidates).toHaveLength(1);
    const [first, second] = parts as [(typeof parts)[0], (typeof parts)[0]];
    const { thoughtSignature, ...bare } = first!;
    const message = async (...asked: Parameters<typeof goOn>) => String(await rejection(goOn(...asked)));
    expect(await message([bare!, second!])).toContain('missing a thought_signature');
    expect(await message([bare!, { ...second!, thoughtSignature }])).toContain('Corrupted thought signature');
    expect(await message(parts, results.slice(1))).toContain('number of function response parts');
    const placeholder = { ...bare, thoughtSignature: 'skip_thought_signature_validator' };
    expect((await goOn([placeholder, second!])).candidates).toHaveLength(1);
  });

  test('with a blocked answer', async () => {
    upstream.next({ refusal: 'I may not.' });
    const { candidates, text } = await client.models.generateContent(ask);
    expect(text).toBe('');
    expect(candidates?.[0]).toMatchObject({ finishReason: 'SAFETY' });
  });

  test('with a schema for the answer', async () => {
    upstream.next({ text: '{"city":"Bern"}' });
    const responseJsonSchema = declaration.parametersJsonSchema;
    const config = { responseMimeType: 'application/json', responseJsonSchema };
    expect(JSON.parse((await client.models.generateContent({ ...ask, config })).text!)).toEqual({ city: 'Bern' });
    expect(upstream.requests.at(-1)?.asked.schema).toEqual(responseJsonSchema);
  });
});

describe('failures are those of the API', () => {
  const cases = [
    ['auth', 400, 'INVALID_ARGUMENT', 'API_KEY_INVALID'],
    ['billing', 400, 'FAILED_PRECONDITION', 'billing'],
    ['not_found', 404, 'NOT_FOUND', 'not found'],
    ['rate_limited', 429, 'RESOURCE_EXHAUSTED', '"retryDelay":"1s"'],
    ['overloaded', 503, 'UNAVAILABLE', 'overloaded'],
    ['server', 500, 'INTERNAL', 'internal'],
    ['timeout', 504, 'DEADLINE_EXCEEDED', 'timed out'],
  ] as const;
  for (const [fail, status, code, words] of cases) {
    test(`${fail} raises ${code}`, async () => {
      upstream.behave({ fail });
      for (const error of [await rejection(client.models.generateContent(ask)), await rejection(streamed(ask))]) {
        expect(error).toBeInstanceOf(ApiError);
        expect(error).toMatchObject({ status });
        expect(String(error)).toContain(`"${code}"`);
        expect(String(error)).toContain(words);
      }
    });
  }

  test('a status has the code that goes with it', async () => {
    upstream.next({ status: 403 });
    expect(String(await rejection(client.models.generateContent(ask)))).toContain('PERMISSION_DENIED');
  });

  test('a wrong key is refused', async () => {
    const stranger = new GoogleGenAI({ apiKey: 'AIza-wrong', httpOptions });
    expect(String(await rejection(stranger.models.generateContent(ask)))).toContain('API_KEY_INVALID');
  });

  test('an error within a stream is raised at its position', async () => {
    const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' };
    upstream.next({ raw: [event({ error })] });
    expect(await rejection(streamed(ask))).toMatchObject({ status: 503 });
  });
});
