import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { answerOf, eventsOf } from '../support/answers.ts';
import { openApiOf } from '../support/openapi.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** The fallbacks that a request lists in `fallbacks` or `models`. */
const up = { a: useUpstream(), b: useUpstream(), c: useUpstream() };
let box: Signalbox;
let without: Signalbox;

/** The model `a` lists the fallback `c`. */
function policyText(gateway = ''): string {
  const at = { a: up.a.url, b: up.b.url, c: up.c.url };
  const models = {
    a: { endpoints: ['a'], quality: 0.9, more: '    fallbacks: [c]' },
    b: { endpoints: ['b'], quality: 0.5 },
    c: { endpoints: ['c'], quality: 0.7 },
  };
  return testPolicy(
    at,
    models,
    `gateway: { retries_max: 0${gateway} }
`,
  ).replaceAll('passthrough: [verbosity]', 'passthrough: ["*"]');
}

beforeAll(async () => {
  box = await startSignalbox({ policy: policyText(), env: UPSTREAM_ENV });
  without = await startSignalbox({ policy: policyText(', request_fallbacks: false'), env: UPSTREAM_ENV });
});
afterEach(() => {
  for (const upstream of Object.values(up)) upstream.behave({});
});
afterAll(() => Promise.all([box.stop(), without.stop()]));

const CHAT = { model: 'a', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
const RESPONSE = { model: 'a', input: 'Say hello.', max_output_tokens: 100 };

const chat = (body: object, server = box) => server.post('/v1/chat/completions', { ...CHAT, ...body });

/** Returns how each attempt ended, such as `a server`, and checks that the decision repeats. */
async function tried(response: Response): Promise<string[]> {
  expect(response.status).toBe(200);
  const isStream = response.headers.get('content-type')?.includes('event-stream');
  const { platform } = isStream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
  const decision = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
  expect(decision).toMatchObject({ replay: { matches: true } });
  return platform.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`);
}

interface ListSchema {
  readonly type?: string;
  readonly maxItems?: number;
  readonly anyOf?: readonly ListSchema[];
}
interface OpenApi {
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties: Readonly<Record<string, ListSchema>> }>>;
  };
}

/** Makes the model `a` fail until the end of the test, without an effect on its health in later tests. */
const failing = { status: 429, headers: { 'retry-after-ms': '1' } };

describe.each(['fallbacks', 'models'])('a request with `%s`', (field) => {
  for (const stream of [false, true]) {
    test(`tries its own list instead of the list of the policy, ${stream ? 'as a stream' : 'as JSON'}`, async () => {
      up.a.next(failing);
      expect(await tried(await chat({ stream, [field]: ['a', 'b'] }))).toEqual(['a rate_limited', 'b ok']);
      await Bun.sleep(5);
      up.a.next(failing);
      expect(await tried(await chat({ stream }))).toEqual(['a rate_limited', 'c ok']);
      await Bun.sleep(5);
    });
  }

  test('replaces the next best models of a selector', async () => {
    up.a.next(failing);
    expect(await tried(await chat({ model: 'auto', [field]: ['b'] }))).toEqual(['a rate_limited', 'b ok']);
    await Bun.sleep(5);
  });

  test('works in Responses', async () => {
    up.a.next(failing);
    const response = await box.post('/v1/responses', { ...RESPONSE, [field]: ['b'] });
    expect(await tried(response)).toEqual(['a rate_limited', 'b ok']);
    await Bun.sleep(5);
  });

  test('sends the list to no provider', async () => {
    await chat({ [field]: ['b'], own_field: 1 });
    expect(up.a.requests.at(-1)?.body).toMatchObject({ own_field: 1 });
    expect(up.a.requests.at(-1)?.body).not.toHaveProperty(field);
  });

  test('is refused with the entry that is wrong', async () => {
    const made = (await (await box.post('/admin/keys', { name: 'app', models: ['a', 'b'] })).json()) as { key: string };
    const refused = async (value: unknown, init = {}) => {
      const response = await box.post('/v1/chat/completions', { ...CHAT, [field]: value }, init);
      const { error } = await answerOf(response);
      return [response.status, error.code, error.param];
    };
    expect(await refused(['b', 'd'])).toEqual([404, 'model_not_found', `${field}[1]`]);
    expect(await refused(['b', 'c'], withKey(made.key))).toEqual([403, 'insufficient_permissions', `${field}[1]`]);
    expect(await refused(['auto'])).toEqual([400, 'invalid_value', `${field}[0]`]);
    expect(await refused(['b', 1])).toEqual([400, 'invalid_value', `${field}[1]`]);
    expect(await refused('b')).toEqual([400, 'invalid_value', field]);
    expect(await refused(Array(9).fill('b'))).toEqual([400, 'out_of_range', field]);
  });

  test('is in the OpenAPI document, with the length that the server accepts', async () => {
    const { components } = await openApiOf<OpenApi>(box.url);
    for (const [name, path, body] of [
      ['ChatCompletionRequest', '/v1/chat/completions', CHAT],
      ['ResponsesRequest', '/v1/responses', RESPONSE],
    ] as const) {
      const described = components.schemas[name]!.properties[field]!;
      const list = [described, ...(described.anyOf ?? [])].find(({ type }) => type === 'array')!;
      const send = (length: number) => box.post(path, { ...body, [field]: Array(length).fill('b') });
      expect((await send(list.maxItems!)).status).toBe(200);
      expect((await send(list.maxItems! + 1)).status).toBe(400);
    }
  });

  test('is an unknown field with `request_fallbacks: false`', async () => {
    const { platform } = await answerOf(await chat({ [field]: ['unknown'] }, without));
    expect(platform.routed_model).toBe('a');
    expect(up.a.requests.at(-1)?.body).toHaveProperty(field);
  });
});

describe('a request with `models` and without `model`', () => {
  const { model: _, ...unnamed } = CHAT;
  const { model: __, ...unnamedResponse } = RESPONSE;

  test('names the first as its model and the others as fallbacks, in chats and Responses', async () => {
    for (const [path, body] of [
      ['/v1/chat/completions', unnamed],
      ['/v1/responses', unnamedResponse],
    ] as const)
      for (const model of [{}, { model: null }]) {
        up.a.next(failing);
        expect(await tried(await box.post(path, { ...body, ...model, models: ['a', 'b'] }))).toEqual([
          'a rate_limited',
          'b ok',
        ]);
        await Bun.sleep(5);
      }
    expect(up.b.requests.at(-1)?.body).not.toHaveProperty('models');
    expect(await tried(await box.post('/v1/chat/completions', { ...unnamed, models: ['b'] }))).toEqual(['b ok']);
  });

  test('gets the advice for the first from `/v1/route`', async () => {
    const { messages } = CHAT;
    const advice = (await (await box.post('/v1/route', { messages, models: ['b', 'c'] })).json()) as object;
    expect(advice).toMatchObject({ recommended_model: 'b' });
  });

  test('needs a name in the list, and the field `models`', async () => {
    for (const [list, param] of [
      [{ models: [] }, 'models'],
      [{ models: [5] }, 'models'],
      [{ models: 'a' }, 'models'],
      [{ fallbacks: ['a'] }, 'model'],
    ] as const) {
      const response = await box.post('/v1/chat/completions', { ...unnamed, ...list });
      const { error } = await answerOf(response);
      expect([response.status, error.param]).toEqual([400, param]);
    }
  });
});

test('the `fallbacks` of a Messages request keep the meaning that they have at Anthropic', async () => {
  up.a.next(failing);
  const body = { model: 'b', messages: CHAT.messages, max_tokens: 100, fallbacks: [{ model: 'unknown' }] };
  const response = await box.post('/v1/messages', body);
  expect(response.status).toBe(200);
  expect((await answerOf(response)).platform.routed_model).toBe('b');
});
