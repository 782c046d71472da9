import { describe, expect, test } from 'bun:test';
import { type Json, listOf, objectOf, objectsIn, textOf } from '../../../plugins/providers/json.ts';
import { untilBreak } from '../../support/answers.ts';
import { asksForWeather, RESPONSES_UPSTREAMS, startBench } from '../../support/dialect-bench.ts';
import { useSignalbox } from '../../support/use.ts';

/** Gemini's API, served by the whole server over a socket, in front of providers of every dialect. */
const simulated = useSignalbox();
type Method = 'generateContent' | 'streamGenerateContent' | 'countTokens' | 'embedContent' | 'batchEmbedContents';

const HELLO = { contents: [{ parts: [{ text: 'Say hello.' }] }] };
const QUESTION = { role: 'user', parts: [{ text: 'What is the weather in Bern?' }] };
const SCHEMA = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] };
const TOOLS = [{ functionDeclarations: [{ name: 'weather', description: 'The weather.', parameters: SCHEMA }] }];

interface Server {
  readonly url: string;
  readonly key: string;
}

const send = (
  { url, key }: Server,
  path: string,
  body: object | undefined,
  headers: Readonly<Record<string, string>> = { 'x-goog-api-key': key },
): Promise<Response> =>
  fetch(url + path, {
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });

const jsonOf = async (response: Response): Promise<Json> => objectOf(await response.json());

async function ask(server: Server, body: object, model = 'best', method: Method = 'generateContent'): Promise<Json> {
  const response = await send(server, `/v1beta/models/${model}:${method}`, body);
  const answer = await jsonOf(response);
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

const eventsIn = (text: string): Json[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => objectOf(JSON.parse(data)));

async function streamed(server: Server, body: object, model = 'best'): Promise<Json[]> {
  const response = await send(server, `/v1beta/models/${model}:streamGenerateContent?alt=sse`, body);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  return eventsIn(await response.text());
}

const candidateOf = (answer: Json): Json => objectOf(listOf(answer.candidates)[0]);
const partsOf = (answer: Json): readonly Json[] => objectsIn(objectOf(candidateOf(answer).content).parts);
const textIn = (parts: readonly Json[]): string => parts.map(({ text }) => textOf(text)).join('');
const callsIn = (parts: readonly Json[]): readonly Json[] =>
  parts.flatMap(({ functionCall }) => (functionCall ? [objectOf(functionCall)] : []));

/** The content that a client sends back for the answer. */
const saidBy = (responses: readonly Json[]): Json => ({ role: 'model', parts: responses.flatMap(partsOf) });
const resultOf = (call: Json, hasId: boolean): Json => ({
  functionResponse: { ...(hasId && { id: call.id }), name: call.name, response: { output: '20 °C' } },
});

describe.each(RESPONSES_UPSTREAMS)('with a provider of the dialect %s', (dialect) => {
  const bench = startBench(dialect);

  test('a text has the same content, reason, usage and price as one body, as events and as a list', async () => {
    bench.upstream.behave({ text: ['Hel', 'lo'] });
    const whole = await ask(bench.box, HELLO);
    const events = await streamed(bench.box, HELLO);
    const listed = await send(bench.box, '/v1beta/models/best:streamGenerateContent', HELLO);
    expect(listed.headers.get('content-type')).toBe('application/json');
    const list = objectsIn(await listed.json());
    for (const responses of [[whole], events, list]) {
      const last = responses.at(-1)!;
      expect(textIn(responses.flatMap(partsOf))).toBe('Hello');
      expect(candidateOf(last).finishReason).toBe('STOP');
      expect(objectOf(last.usageMetadata).candidatesTokenCount).toBe(2);
      expect(objectOf(last.platform).credits_consumed).toBeGreaterThan(0);
      expect(last.modelVersion).toBe('best');
    }
    expect(list.at(-1)!.usageMetadata).toEqual(events.at(-1)!.usageMetadata!);
    const { promptTokenCount, candidatesTokenCount, totalTokenCount } = objectOf(whole.usageMetadata);
    expect(totalTokenCount).toBe(Number(promptTokenCount) + Number(candidatesTokenCount));
  });

  test.each([
    [true, true, 'user'],
    [true, false, 'tool'],
    [false, true, 'tool'],
    [false, false, 'function'],
  ])(
    'a loop with a function ends, with IDs: %p, as a stream: %p, with responses of the role %s',
    async (hasId, isStream, role) => {
      bench.upstream.behave(asksForWeather);
      const answer = async (contents: readonly object[]) => {
        const body = { contents, tools: TOOLS };
        return isStream ? await streamed(bench.box, body) : [await ask(bench.box, body)];
      };
      const asked = await answer([QUESTION]);
      const calls = callsIn(asked.flatMap(partsOf));
      expect(calls).toEqual([{ id: expect.any(String), name: 'weather', args: { city: 'Bern' } }]);
      const next = [QUESTION, saidBy(asked), { role, parts: calls.map((call) => resultOf(call, hasId)) }];
      expect(textIn((await answer(next)).flatMap(partsOf))).toBe('It is 20 °C in Bern.');
    },
  );

  test('the state of reasoning comes back to the model that wrote it, and a client that drops thoughts keeps it', async () => {
    const call = { name: 'weather', arguments: '{"city":"Bern"}', id: 'call_1' };
    bench.upstream.behave({ reasoning: 'Hm.', toolCalls: [call] });
    for (const isStream of [false, true]) {
      const body = { contents: [QUESTION], tools: TOOLS };
      const asked = isStream ? await streamed(bench.box, body) : [await ask(bench.box, body)];
      const said = saidBy(asked);
      // Python's library writes the bytes in the other alphabet of base64.
      const parts = objectsIn(said.parts).map((part) =>
        isStream && typeof part.thoughtSignature === 'string'
          ? { ...part, thoughtSignature: part.thoughtSignature.replaceAll('+', '-').replaceAll('/', '_') }
          : part,
      );
      const calls = callsIn(parts);
      await ask(bench.box, {
        contents: [QUESTION, { ...said, parts }, { parts: calls.map((one) => resultOf(one, true)) }],
        tools: TOOLS,
      });
      const state = STATES[dialect];
      if (state) expect(JSON.stringify(bench.upstream.requests.at(-1)!.body)).toMatch(state);
    }
  });

  test('thoughts are shown only to a caller who asks for them', async () => {
    bench.upstream.behave({ reasoning: 'Hm.', text: 'Yes.' });
    const shown = { ...HELLO, generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' } } };
    for (const [body, thoughts] of [
      [HELLO, ''],
      [shown, 'Hm.'],
    ] as const) {
      const parts = partsOf(await ask(bench.box, body));
      const events = (await streamed(bench.box, body)).flatMap(partsOf);
      for (const all of [parts, events]) {
        expect(textIn(all.filter(({ thought }) => thought))).toBe(thoughts);
        expect(textIn(all.filter(({ thought }) => !thought))).toBe('Yes.');
      }
    }
  });

  test('an answer that is cut off, and an answer that was withheld, say so', async () => {
    bench.upstream.behave({ text: 'Hel', finish: 'length' });
    expect(candidateOf(await ask(bench.box, HELLO)).finishReason).toBe('MAX_TOKENS');
    bench.upstream.behave({ text: 'Hel', finish: 'content_filter' });
    expect(candidateOf((await streamed(bench.box, HELLO)).at(-1)!).finishReason).toBe('SAFETY');
  });

  test('errors have Google’s form, before the first part and after it', async () => {
    // OpenAI’s own service gets translated requests as chat completions.
    const cutAfter = dialect === 'openai-responses' ? 3 : bench.eventsWith(2);
    bench.upstream.behave({ text: ['one ', 'two ', 'three'], cutAfter });
    const response = await send(bench.box, '/v1beta/models/best:streamGenerateContent?alt=sse', HELLO);
    const text = await untilBreak(response);
    expect(objectOf(eventsIn(text).at(-1)!.error)).toMatchObject({ code: 502, status: 'UNAVAILABLE' });
    bench.upstream.behave({ fail: 'rate_limited', headers: { 'retry-after': '7' } });
    const limited = await send(bench.box, '/v1beta/models/best:generateContent', HELLO);
    const { error } = await jsonOf(limited);
    expect([limited.status, error]).toMatchObject([429, { code: 429, status: 'RESOURCE_EXHAUSTED' }]);
    const details = objectsIn(objectOf(error).details);
    expect(details.map((one) => textOf(one['@type']).split('.').at(-1))).toEqual(['ErrorInfo', 'RetryInfo']);
    expect(details[0]).toMatchObject({ reason: 'UPSTREAM_RATE_LIMITED', domain: 'signalbox' });
    expect(textOf(details[1]?.retryDelay)).toMatch(/^\d+s$/);
    bench.upstream.behave({});
  });
});

/** The state in the next request, by the dialect of the provider; undefined if the provider sends none. */
const STATES: Partial<Record<(typeof RESPONSES_UPSTREAMS)[number], RegExp>> = {
  anthropic: /"signature":"[^"]+"/,
  gemini: /"thoughtSignature":"(?!skip_)[^"]+"/,
};

describe('a request', () => {
  const bench = startBench('openai');
  const sent = () => objectOf(bench.upstream.requests.at(-1)!.body);

  test('reaches the model with its instructions, media, functions, mode, format and settings', async () => {
    bench.upstream.behave({ text: '{}' });
    await ask(bench.box, {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'What is it?' }] }],
      tools: [{ functionDeclarations: [{ name: 'a', parameters: SCHEMA }, { name: 'b' }, { name: 'c' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['a', 'b'] } },
      generationConfig: { maxOutputTokens: 70, temperature: 0.5, topP: 0.9, seed: 3, stopSequences: ['x'] },
    });
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    expect(sent()).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is it?' },
      ],
      tools: [{ function: { name: 'a', parameters: schema } }, { function: { name: 'b' } }],
      tool_choice: 'required',
      temperature: 0.5,
      top_p: 0.9,
      seed: 3,
      stop: ['x'],
    });
    expect(listOf(sent().tools)).toHaveLength(2);
    // gemini-cli sends types in capitals in both members.
    for (const name of ['responseSchema', 'responseJsonSchema']) {
      await ask(bench.box, {
        ...HELLO,
        tools: [{ functionDeclarations: [{ name: 'a', parametersJsonSchema: SCHEMA }] }],
        generationConfig: { responseMimeType: 'application/json', [name]: SCHEMA },
      });
      expect(objectOf(objectOf(sent().response_format).json_schema).schema).toMatchObject(schema);
      expect(sent().tools).toMatchObject([{ function: { name: 'a', parameters: schema } }]);
    }
    await ask(bench.box, { ...HELLO, tools: TOOLS, toolConfig: { functionCallingConfig: { mode: 'NONE' } } });
    expect(sent().tool_choice).toBe('none');
  });

  test('in snake case, with single objects for lists, is the same request', async () => {
    bench.upstream.behave({});
    await ask(bench.box, {
      system_instruction: { parts: { text: 'Be brief.' } },
      contents: { parts: { text: 'Hi' } },
      tools: {
        function_declarations: { name: 'a', parameters: { type: 'object', properties: { max_output_tokens: {} } } },
      },
      generation_config: { max_output_tokens: 70 },
    });
    const odd = sent();
    await ask(bench.box, {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      tools: [
        {
          functionDeclarations: [{ name: 'a', parameters: { type: 'object', properties: { max_output_tokens: {} } } }],
        },
      ],
      generationConfig: { maxOutputTokens: 70 },
    });
    expect(odd).toEqual(sent());
  });

  test('names its model with or without `models/`, on both versions of the paths', async () => {
    bench.upstream.behave({});
    for (const version of ['v1', 'v1beta'])
      for (const model of ['vendor/plain', 'vendor%2Fplain', 'models/vendor/plain', 'models%2Fvendor%2Fplain']) {
        const response = await send(bench.box, `/${version}/models/${model}:generateContent`, HELLO);
        expect([model, response.status, response.headers.get('x-signalbox-model')]).toEqual([
          model,
          200,
          'vendor/plain',
        ]);
      }
  });

  test('says which fields no model got', async () => {
    bench.upstream.behave({});
    const { platform } = await ask(bench.box, { ...HELLO, generationConfig: { topK: 4 }, safetySettings: [] });
    expect(listOf(objectOf(platform).dropped)).toEqual(
      expect.arrayContaining(['generationConfig.topK', 'safetySettings']),
    );
  });

  test('may want several candidates', async () => {
    bench.upstream.behave({ text: 'Hello' });
    const { candidates } = await ask(bench.box, { ...HELLO, generationConfig: { candidateCount: 2 } });
    expect(objectsIn(candidates).map(({ index, finishReason }) => [index, finishReason])).toEqual([
      [0, 'STOP'],
      [1, 'STOP'],
    ]);
  });

  test('reports cached tokens and tokens of thoughts apart', async () => {
    const usage = {
      prompt_tokens: 50,
      completion_tokens: 20,
      total_tokens: 70,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 15 },
    };
    bench.upstream.behave({ usage });
    const expected = {
      promptTokenCount: 50,
      cachedContentTokenCount: 30,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 15,
      totalTokenCount: 70,
    };
    expect((await ask(bench.box, HELLO)).usageMetadata).toEqual(expected);
    expect((await streamed(bench.box, HELLO)).at(-1)!.usageMetadata).toEqual(expected);
  });

  test('for an unknown model gets an error in Google’s form on both versions of the paths', async () => {
    for (const version of ['v1', 'v1beta']) {
      const { error } = await jsonOf(await send(bench.box, `/${version}/models/none:generateContent`, HELLO));
      expect(error).toMatchObject({ code: 404, status: 'NOT_FOUND' });
    }
  });

  test('with an answer in several contents, as Python’s library keeps the pieces of a stream, has one answer', async () => {
    bench.upstream.behave({});
    const pieces = ['It ', 'is ', 'warm.'].map((text) => ({ role: 'model', parts: [{ text }] }));
    await ask(bench.box, { contents: [QUESTION, ...pieces, QUESTION] });
    expect(objectsIn(sent().messages).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  const part = (one: object) => ({ contents: [{ role: 'user', parts: [one] }] });
  test.each<[string, object, string]>([
    [
      'an uploaded file',
      part({ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/x' } }),
      'contents[0].parts[0].fileData.fileUri',
    ],
    [
      'a video',
      part({ file_data: { file_uri: 'https://www.youtube.com/watch?v=x' } }),
      'contents[0].parts[0].fileData.fileUri',
    ],
    ['cached contents', { ...HELLO, cachedContent: 'cachedContents/x' }, 'cachedContent'],
    ['Google’s own tool', { ...HELLO, tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    ['a part of another kind', part({ executableCode: { code: 'x' } }), 'contents[0].parts[0].executableCode'],
    ['a part of two kinds', part({ text: 'x', functionResponse: { name: 'f' } }), 'contents[0].parts[0]'],
    ['an empty part', part({}), 'contents[0].parts[0]'],
    ['the conversation of another API', { messages: [{ role: 'user', content: 'Hi' }] }, 'contents'],
    ['a call by the user', part({ functionCall: { name: 'f' } }), 'contents[0].parts[0].functionCall'],
    [
      'an image as output',
      { ...HELLO, generationConfig: { responseModalities: ['IMAGE'] } },
      'generationConfig.responseModalities',
    ],
    [
      'an unknown mode',
      { ...HELLO, toolConfig: { functionCallingConfig: { mode: 'X' } } },
      'toolConfig.functionCallingConfig.mode',
    ],
    [
      'a mode without functions',
      { ...HELLO, toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      'toolConfig.functionCallingConfig.mode',
    ],
    [
      'a function that is not offered',
      { ...HELLO, tools: TOOLS, toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } } },
      'toolConfig.functionCallingConfig.allowedFunctionNames[0]',
    ],
  ])('with %s is refused, and the error names the field', async (_, body, field) => {
    const response = await send(bench.box, '/v1beta/models/best:generateContent', body);
    const { error } = await jsonOf(response);
    const { details, status } = objectOf(error);
    expect([response.status, status]).toEqual([400, 'INVALID_ARGUMENT']);
    const violations = objectsIn(details).flatMap(({ fieldViolations }) => objectsIn(fieldViolations));
    expect(violations).toMatchObject([{ field }]);
  });
});

describe('a key', () => {
  const path = '/v1beta/models/auto-fast:countTokens';
  const statusOf = async (query: string, headers: Record<string, string>, at = path) =>
    (await send(simulated, at + query, HELLO, headers)).status;

  test('in `x-goog-api-key`, or as `?key=`, is accepted', async () => {
    expect(await statusOf('', { 'x-goog-api-key': simulated.key })).toBe(200);
    expect(await statusOf(`?key=${simulated.key}`, {})).toBe(200);
    expect(await statusOf(`?key=${simulated.key}`, { authorization: `Bearer ${simulated.key}` })).toBe(200);
    expect((await send(simulated, `/v1beta/models?key=${simulated.key}`, undefined, {})).status).toBe(200);
  });

  test('as `?key=` together with another key is refused', async () => {
    for (const name of ['x-goog-api-key', 'x-api-key', 'authorization'])
      expect(await statusOf(`?key=${simulated.key}`, { [name]: 'another' })).toBe(401);
    expect(await statusOf(`?key=${simulated.key}&key=another`, {})).toBe(401);
  });

  test('as `?key=` on a path of another dialect is no key', async () => {
    const body = { model: 'auto', messages: [{ role: 'user', content: 'Hi' }] };
    const response = await send(simulated, `/v1/chat/completions?key=${simulated.key}`, body, {});
    expect(response.status).toBe(401);
    expect((await send(simulated, `/v1/models?key=${simulated.key}`, undefined, {})).status).toBe(401);
  });

  test('as `?key=` is in no log line and in no error', async () => {
    const secret = simulated.key.split('_').at(-1)!;
    const response = await send(simulated, `/v1beta/models/none:generateContent?key=${simulated.key}`, HELLO, {});
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain(secret);
    await send(simulated, `/v1beta/models/auto-fast:generateContent?key=${simulated.key}`, HELLO, {});
    expect(simulated.lines.join('\n')).not.toContain(secret);
  });
});

describe('the list of models', () => {
  const list = async (query = '', path = '/v1beta/models') =>
    await jsonOf(await send(simulated, path + query, undefined));

  test('has all names in Google’s form, page by page', async () => {
    const whole = objectsIn((await list()).models);
    expect(whole.map(({ name }) => name)).toContain('models/auto');
    const paged: Json[] = [];
    for (let token = ''; ; ) {
      const page = await list(`?pageSize=7&pageToken=${encodeURIComponent(token)}`);
      paged.push(...objectsIn(page.models));
      if (page.nextPageToken === undefined) break;
      token = textOf(page.nextPageToken);
    }
    expect(paged).toEqual([...whole]);
    const one = await list('', '/v1beta/models/auto');
    expect(one).toEqual(whole.find(({ name }) => name === 'models/auto')!);
    expect(one.supportedGenerationMethods).toContain('generateContent');
  });

  test('at `/v1/models` has Google’s form only for a caller with `x-goog-api-key` and without `Authorization`', async () => {
    const both = { 'x-goog-api-key': simulated.key, authorization: `Bearer ${simulated.key}` };
    const other = await jsonOf(await send(simulated, '/v1/models', undefined, both));
    expect([Array.isArray(other.data), other.object]).toEqual([true, 'list']);
    expect((await list('', '/v1/models')).models).toEqual((await list()).models!);
    expect((await list('', '/v1/models/auto')).name).toBe('models/auto');
    expect((await jsonOf(await send(simulated, '/v1/models/auto', undefined, both))).id).toBe('auto');
  });
});

describe('other methods', () => {
  test('count tokens of contents, and of a whole request', async () => {
    const plain = await ask(simulated, HELLO, 'auto-fast', 'countTokens');
    const whole = { generateContentRequest: { model: 'models/other', ...HELLO, tools: TOOLS } };
    const counted = await ask(simulated, whole, 'auto-fast', 'countTokens');
    expect(Number(plain.totalTokens)).toBeGreaterThan(0);
    expect(Number(counted.totalTokens)).toBeGreaterThan(Number(plain.totalTokens));
  });

  test.each<[string, string, object, string]>([
    ['a model that is no name', 'generateContent', { ...HELLO, model: '' }, 'model'],
    ['a model that is no text', 'generateContent', { ...HELLO, model: 5 }, 'model'],
    ['a model that is no name', 'embedContent', { content: HELLO.contents[0], model: '' }, 'model'],
    [
      'a whole request that is no object',
      'countTokens',
      { ...HELLO, generateContentRequest: 0 },
      'generateContentRequest',
    ],
  ])('refuse %s: %s', async (_name, method, body, field) => {
    const answer = await send(simulated, `/v1beta/models/auto:${method}`, body);
    expect(answer.status).toBe(400);
    expect(JSON.stringify(await answer.json())).toContain(`"field":"${field}"`);
  });

  test('take null for a model of the body, and the model of the path instead of another', async () => {
    for (const model of [null, 'models/other'])
      expect((await ask(simulated, { ...HELLO, model }, 'sim-small', 'generateContent')).modelVersion).toBe(
        'sim-small',
      );
    const counted = await ask(simulated, { ...HELLO, model: 5, generateContentRequest: null }, 'auto', 'countTokens');
    expect(Number(counted.totalTokens)).toBeGreaterThan(0);
  });

  test('embed one text and several texts, with the vectors of OpenAI’s dialect', async () => {
    const texts = ['A semaphore.', 'A light.'];
    const contents = texts.map((text) => ({ content: { parts: [{ text }] } }));
    const openai = await jsonOf(await simulated.post('/v1/embeddings', { model: 'sim-embed', input: texts }));
    const vectors = objectsIn(openai.data).map(({ embedding }) => ({ values: embedding }));
    const one = await ask(simulated, contents[0]!, 'sim-embed', 'embedContent');
    const batch = await ask(simulated, { requests: contents }, 'sim-embed', 'batchEmbedContents');
    expect(one.embedding).toEqual(vectors[0]!);
    expect(batch.embeddings).toEqual(vectors);
    expect(objectOf(batch.platform).credits_consumed).toBe(objectOf(openai.platform).credits_consumed!);
  });

  test.each<[string, object, string]>([
    [
      'too few dimensions',
      { requests: [{ content: { parts: [{ text: 'a' }] }, outputDimensionality: 4 }] },
      'requests[0].outputDimensionality',
    ],
    [
      'another model than the path',
      { requests: [{ model: 'models/other', content: { parts: [{ text: 'a' }] } }] },
      'requests[0].model',
    ],
    [
      'an empty text',
      { requests: [{ content: { parts: [{ text: 'a' }] } }, { content: { parts: [{ text: '' }] } }] },
      'requests[1].content.parts[0].text',
    ],
    ['no text', { requests: [] }, 'requests'],
  ])('a batch of texts with %s is refused, and the error names the field', async (_, body, field) => {
    const refused = await send(simulated, '/v1beta/models/sim-embed:batchEmbedContents', body);
    expect([refused.status, JSON.stringify(await refused.json())]).toEqual([
      400,
      expect.stringContaining(`"fieldViolations":[{"field":"${field}"`),
    ]);
  });

  test('a batch may repeat the model of the path', async () => {
    const requests = ['models/sim-embed', 'sim-embed'].map((model) => ({ model, content: { parts: [{ text: 'a' }] } }));
    const { embeddings } = await ask(simulated, { requests }, 'sim-embed', 'batchEmbedContents');
    expect(objectsIn(embeddings)).toHaveLength(2);
  });

  test('the wrong HTTP method names the path as it was sent, and the right HTTP method', async () => {
    const path = '/v1beta/models/auto:generateContent';
    const { error } = await jsonOf(await send(simulated, path, undefined));
    expect(error).toMatchObject({ code: 405, message: `${path} accepts POST, not GET.` });
  });

  test('a request with an `Idempotency-Key` gets the same answer again', async () => {
    const headers = { 'x-goog-api-key': simulated.key, 'idempotency-key': crypto.randomUUID() };
    const path = '/v1beta/models/auto-fast:streamGenerateContent';
    const [first, again] = [await send(simulated, path, HELLO, headers), await send(simulated, path, HELLO, headers)];
    expect([again.headers.get('x-signalbox-replayed'), await again.text()]).toEqual(['true', await first.text()]);
  });

  test('`/v1/route` recommends a model for a body of this dialect', async () => {
    const response = await simulated.post('/v1/route', HELLO);
    expect(response.status).toBe(200);
  });
});
