import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { isObject, objectOf } from '../../plugins/providers/json.ts';
import { openaiChat } from '../../src/dialects/openai-chat/surface.ts';
import type { AnswerRoute, CountRoute, Surface } from '../../src/dialects/surface.ts';
import { PathTemplate } from '../../src/http/kit/path-template.ts';
import { createChat, ollamaChat } from '../dialects/ollama/surface.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Returns a body with the model of the path. */
const bodyWith = (body: unknown, model: string | undefined) => ({
  ...(isObject(body) && body),
  model,
  stream: false,
});

const generate: AnswerRoute = {
  ...createChat,
  path: '/v1beta/models/{model}:generateContent',
  read: ({ body, headers, params }) =>
    createChat.read({ body: bodyWith(body, params.model), headers, params: {}, query: '' }),
};

const count: CountRoute = {
  kind: 'count',
  method: 'POST',
  path: '/v1beta/models/{model}:countTokens',
  docs: { ...createChat.docs, summary: 'Count' },
  read: (input) => generate.read(input).request,
  answer: ({ inputTokens }) => ({ totalTokens: inputTokens }),
};

/** A dialect whose paths contain the model and end with a method, as Gemini's API does. */
const verbs: Surface = { ...ollamaChat, name: 'verbs', dialect: 'Verbs', routes: [generate, count] };

const upstream = useUpstream();
let box: Signalbox;

beforeAll(async () => {
  const models = { best: { endpoints: ['fake'] }, 'lab/best': { endpoints: ['fake'] } };
  const policy = testPolicy(
    { fake: upstream.url },
    models,
    'gateway: { cors: { origins: ["https://app.example"] } }\n',
  );
  box = await startSignalbox({ surfaces: [openaiChat, verbs], policy, env: UPSTREAM_ENV });
});
afterAll(() => box.stop());

const BODY = { messages: [{ role: 'user', content: 'Say hello.' }] };

const post = (path: string, headers: Readonly<Record<string, string>> = {}, key = box.key): Promise<Response> =>
  fetch(`${box.url}${path}`, {
    method: 'POST',
    body: JSON.stringify(BODY),
    headers: { 'content-type': 'application/json', 'x-api-key': key, ...headers },
  });

const jsonOf = async (response: Response) => objectOf(await response.json());

describe('a path with the model and a method', () => {
  test.each([
    ['best', 'best'],
    ['lab/best', 'lab/best'],
    ['lab%2Fbest', 'lab/best'],
  ])('of %s asks for the model %s', async (written, model) => {
    const answered = await post(`/v1beta/models/${written}:generateContent`);
    expect(answered.status).toBe(200);
    expect(answered.headers.get('x-signalbox-model')).toBe(model);
    expect((await jsonOf(answered)).done).toBe(true);
  });

  test('is told apart from another method of the same model', async () => {
    const counted = await post('/v1beta/models/best:countTokens');
    expect(counted.status).toBe(200);
    expect(Number((await jsonOf(counted)).totalTokens)).toBeGreaterThan(0);
  });

  test('of an unknown method or without a model is not found', async () => {
    for (const path of ['/v1beta/models/best:other', '/v1beta/models/:generateContent', '/v1beta/models/best'])
      expect([path, (await post(path)).status]).toEqual([path, 404]);
  });

  test('needs a key and POST', async () => {
    expect((await post('/v1beta/models/best:generateContent', {}, 'none')).status).toBe(401);
    const got = await fetch(`${box.url}/v1beta/models/best:generateContent`, { headers: { 'x-api-key': box.key } });
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('can be called by pages that the policy allows', async () => {
    const { headers } = await post('/v1beta/models/best:countTokens', { origin: 'https://app.example' });
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
  });

  test('is a part of the name of a request with an Idempotency-Key', async () => {
    const named = { 'idempotency-key': 'one' };
    expect((await post('/v1beta/models/best:generateContent', named)).status).toBe(200);
    const again = await post('/v1beta/models/best:generateContent', named);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect((await post('/v1beta/models/lab%2Fbest:generateContent', named)).status).toBe(422);
  });

  test('is in the OpenAPI document as its dialect writes it, and the pattern of the router is not', async () => {
    const { paths } = await jsonOf(await fetch(`${box.url}/openapi.json`));
    const written = Object.keys(objectOf(paths)).filter((path) => path.startsWith('/v1beta'));
    expect(written.sort()).toEqual(['/v1beta/models/{model}:countTokens', '/v1beta/models/{model}:generateContent']);
  });
});

test('a template gives the value of its parameter, decoded if that is possible', () => {
  const template = new PathTemplate('/a/{name}:do');
  const valueIn = (path: string) => (template.matches(path) ? template.paramsOf(path).name : null);
  expect(['/a/x:do', '/a/x%20y:do', '/a/%zz:do', '/a/:do', '/a/x:done', '/b/x:do'].map(valueIn)).toEqual([
    ...['x', 'x y', '%zz'],
    ...[null, null, null],
  ]);
});
