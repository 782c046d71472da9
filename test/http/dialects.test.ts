import { describe, expect, test } from 'bun:test';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

const upstream = useUpstream();
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'] } },
    'selectors: { auto: { strategy: auto } }\ngateway: { failed_auth_per_minute: 1000, keyless_per_minute: 1000 }\n',
  ),
}));
const strict = useSignalbox(() => ({
  policy: testPolicy(
    { fake: upstream.url },
    { best: { endpoints: ['fake'] } },
    'selectors: { auto: { strategy: auto } }\ngateway: { failed_auth_per_minute: 1, keyless_per_minute: 1 }\n',
  ),
}));

const ANTHROPIC = { 'anthropic-version': '2023-06-01' };
const ask = (path: string, method: string, headers: Record<string, string>, at = box.url) =>
  fetch(at + path, { method, headers, redirect: 'manual' });

/** Anthropic's type of an error; null if the error has another form. */
async function anthropicType(response: Response): Promise<string | null> {
  const body = (await response.json()) as { type?: string; error: { type: string }; request_id?: string };
  const id = response.headers.get('x-request-id');
  expect(id).toStartWith('req_');
  const isAnthropic = body.type === 'error';
  expect([body.request_id, response.headers.get('request-id')]).toEqual(isAnthropic ? [id!, id] : [undefined, null]);
  return isAnthropic ? body.error.type : null;
}

describe('a request with `anthropic-version`', () => {
  const key = () => ({ 'x-api-key': box.key });
  test.each<[string, string, boolean, number, string]>([
    ['GET', '/v1/models', false, 401, 'authentication_error'],
    ['GET', '/v1/models/none', false, 401, 'authentication_error'],
    ['GET', '/v1/models/none', true, 404, 'not_found_error'],
    ['GET', '/v1/models/no/such/model', true, 404, 'not_found_error'],
    ['GET', '/v1/models?limit=0', true, 400, 'invalid_request_error'],
    ['DELETE', '/v1/models', true, 405, 'invalid_request_error'],
    ['DELETE', '/v1/models/best', true, 405, 'invalid_request_error'],
    ['GET', '/v1/skills', false, 404, 'not_found_error'],
    ['POST', '/v1/messages/batches', true, 404, 'not_found_error'],
    ['POST', '/models', true, 404, 'not_found_error'],
    ['POST', '/v1/models/x:batchGenerateContent', false, 404, 'not_found_error'],
  ])(
    'gets Anthropic’s error form and `request-id`: %s %s, with a key: %p',
    async (method, path, hasKey, status, type) => {
      const response = await ask(path, method, { ...ANTHROPIC, ...(hasKey && key()) });
      expect([response.status, await anthropicType(response)]).toEqual([status, type]);
      const plain = await ask(path, method, hasKey ? key() : {});
      expect([plain.status, await anthropicType(plain)]).toEqual([status, null]);
    },
  );

  test('also gets them with status 429', async () => {
    for (const path of ['/v1/models', '/v1/skills']) {
      await ask(path, 'GET', {}, strict.url);
      const response = await ask(path, 'GET', ANTHROPIC, strict.url);
      expect([response.status, await anthropicType(response)]).toEqual([429, 'rate_limit_error']);
    }
  });

  test('gets `request-id` with the list of models and with a model; other requests do not', async () => {
    for (const path of ['/v1/models', '/v1/models/', '/v1/models/best']) {
      const { status, headers } = await ask(path, 'GET', { ...ANTHROPIC, ...key() });
      expect([status, headers.get('request-id')]).toEqual([200, headers.get('x-request-id')!]);
      expect((await ask(path, 'GET', key())).headers.get('request-id')).toBeNull();
    }
  });

  test.each([
    ['POST', '/v1/chat/completions', 401],
    ['GET', '/v1/chat/completions', 401],
    ['POST', '/v1/responses', 401],
    ['POST', '/v1/embeddings', 401],
    ['POST', '/v1/route', 401],
    ['GET', '/admin/models', 401],
    ['GET', '/admin/none', 404],
  ])('gets the usual error form on other paths: %s %s', async (method, path, status) => {
    const response = await ask(path, method, ANTHROPIC);
    expect([response.status, await anthropicType(response)]).toEqual([status, null]);
  });
});

test('`/v1/models/` returns the list of models', async () => {
  const key = { authorization: `Bearer ${box.key}` };
  const [list, slashed] = await Promise.all(['', '/'].map((end) => ask(`/v1/models${end}`, 'GET', key)));
  expect([slashed!.status, await slashed!.text()]).toEqual([200, await list!.text()]);
  expect((await ask('/v1/models/', 'GET', {})).status).toBe(401);
});

test('a request to a part of Gemini’s API that is not served gets an error that says so, whatever the key and the version', async () => {
  const paths = ['/v1beta/files', '/v1beta/cachedContents', '/upload/v1beta/files', '/v1beta/interactions'];
  const methods = ['batchGenerateContent', 'asyncBatchEmbedContent', 'predictLongRunning', 'predict'];
  const ofModels = ['/v1beta/models/best', '/v1/models/best', '/models/x'].flatMap((path) =>
    methods.map((method) => `${path}:${method}`),
  );
  for (const path of [...paths, ...ofModels]) {
    const response = await ask(path, 'POST', { 'x-goog-api-key': box.key });
    const { error } = (await response.json()) as { error: { code: number; status: string; message: string } };
    expect([path, response.status, error.code, error.status]).toEqual([path, 404, 404, 'NOT_FOUND']);
    expect(error.message).toContain('Gemini’s API yet');
  }
});
