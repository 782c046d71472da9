import { describe, expect, test } from 'bun:test';
import { KEY_HEADERS } from '../../src/http/kit/credentials.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { useSignalbox } from '../support/use.ts';

/** What a new user tries first: the key headers of other APIs, the server's address in a browser, a typing error in a body. */
const box = useSignalbox();

const send = (body: string, headers: Readonly<Record<string, string>>) =>
  fetch(`${box.url}/v1/chat/completions`, { method: 'POST', headers: { ...headers }, body });

test('every route that accepts a key as a bearer token also accepts the key in the headers of other APIs', async () => {
  const bodies = { messages: [{ role: 'user', content: 'hi' }], model: 'auto' };
  const names = KEY_HEADERS.filter((one) => one !== 'authorization');
  const statusesBy = (name: string) =>
    Promise.all([
      send(JSON.stringify(bodies), { 'content-type': 'application/json', [name]: box.key }),
      fetch(`${box.url}/admin/keys`, { headers: { [name]: box.key } }),
    ]);
  for (const [at, answers] of (await Promise.all(names.map(statusesBy))).entries())
    for (const { status } of answers) expect(status, names[at]).toBe(200);
});

describe('a request with a key in two headers', () => {
  const models = (headers: Record<string, string>) => fetch(`${box.url}/v1/models`, { headers });

  test('a request with the same key in two headers is accepted', async () => {
    expect((await models({ 'x-api-key': box.key, authorization: `Bearer ${box.key}` })).status).toBe(200);
  });

  test('a request with two different keys is refused, whichever of them is valid', async () => {
    const other = 'sb_live_nobody_0123456789';
    for (const [one, two] of [
      [box.key, other],
      [other, box.key],
    ]) {
      const refused = await models({ 'x-api-key': one!, authorization: `Bearer ${two}` });
      const { error } = (await refused.json()) as { error: { code: string; message: string } };
      expect([refused.status, error.code]).toEqual([401, 'invalid_api_key']);
      expect(error.message).toBe('The request has two different API keys. Send one of them.');
    }
  });

  test('a request with a key of Signalbox and a placeholder or a password in the other header is accepted', async () => {
    for (const authorization of ['Bearer sk-placeholder', 'Basic dXNlcjpwYXNz']) {
      expect((await models({ 'x-api-key': box.key, authorization })).status).toBe(200);
    }
    expect((await models({ 'x-api-key': 'none', authorization: `Bearer ${box.key}` })).status).toBe(200);
  });

  test('a request with a key in either header can be repeated with its Idempotency-Key', async () => {
    const body = JSON.stringify({ model: 'auto', max_tokens: 4, messages: [{ role: 'user', content: 'once' }] });
    const named = { 'content-type': 'application/json', 'idempotency-key': 'either-header' };
    const first = await answerOf(await send(body, { ...named, authorization: `Bearer ${box.key}` }));
    const again = await send(body, { ...named, 'x-api-key': box.key });
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect((await answerOf(again)).id).toBe(first.id);
  });
});

test('the server redirects a browser that opens its address to the documentation', async () => {
  const answer = await fetch(`${box.url}/`, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs']);
});

test('the error about a mistake in a body names its location; for a misspelt field it suggests the right name', async () => {
  const error = async (body: string) => {
    const answer = await send(body, {
      'content-type': 'application/json',
      authorization: `Bearer ${box.key}`,
    });
    return ((await answer.json()) as { error: { code: string; param: string | null; message: string } }).error;
  };
  expect(await error('{\n  "model": "auto",\n}')).toMatchObject({
    code: 'invalid_json',
    message: 'The body is not valid JSON at line 2, column 18: a comma cannot come before }.',
  });
  const messages = [{ role: 'user', content: 'hi' }];
  expect(await error(JSON.stringify({ model: 'auto', message: messages }))).toMatchObject({
    code: 'unknown_field',
    param: 'message',
    message: '`message` is not a known field; did you mean `messages`?',
  });
  expect((await error(JSON.stringify({ model: 'auto', messages, temprature: 1 }))).message).toContain('`temperature`');
  const nameless = await box.post('/v1/route', { '': 1 });
  expect((await answerOf(nameless)).error.message).toStartWith('`""` is not a known field.');
  const options = { include_usages: true };
  expect(
    (await error(JSON.stringify({ model: 'auto', messages, stream: true, stream_options: options }))).message,
  ).toContain('`stream_options.include_usages` is not a known field; did you mean `include_usage`?');
  expect(
    (await error(JSON.stringify({ model: 'auto', messages, constraints: { max_latncy_ms: 1 } }))).message,
  ).toContain('did you mean `max_latency_ms`?');
  expect(
    (await error(JSON.stringify({ model: 'auto', messages: [{ rol: 'user', content: 'hi' }] }))).message,
  ).not.toContain('perhaps');
  expect(await error(JSON.stringify({ model: 'auto', messages: 1, top_k: 4, min_tokens: 2 }))).toMatchObject({
    param: 'messages',
  });
});

test('the error about a mistyped model suggests the right name, but never a name that the key may not use', async () => {
  const limited = await box.post('/admin/keys', { name: 'limited', models: ['sim-small', 'sim-flash'] });
  const { key } = (await limited.json()) as { key: string };
  const messageFor = async (model: string, token = box.key) => {
    const messages = [{ role: 'user', content: 'hi' }];
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const answer = await send(JSON.stringify({ model, messages }), headers);
    expect(answer.status).toBe(404);
    return ((await answer.json()) as { error: { message: string } }).error.message;
  };
  for (const [written, meant] of [
    ['Auto', 'auto'],
    ['sim-lrge', 'sim-large'],
    ['sim_Coder', 'sim-coder'],
    ['vendor/sim-small', 'sim-small'],
  ] as const) {
    expect(await messageFor(written)).toStartWith(
      `There is no model or selector \`${written}\`. Did you mean \`${meant}\`? Selectors are auto`,
    );
  }
  expect(await messageFor('sim-lrge', key)).not.toContain('Did you mean');
  expect(await messageFor('sim-smal', key)).toContain('Did you mean `sim-small`?');
  const looked = await fetch(`${box.url}/v1/models/SIM-LARGE`, { headers: { authorization: `Bearer ${box.key}` } });
  expect((await looked.json()) as object).toMatchObject({
    error: { message: 'The model `SIM-LARGE` does not exist, or this key may not use it. Did you mean `sim-large`?' },
  });
});

test('the error about a model that no provider serves has similar names, the policy’s keys and the page to read', async () => {
  const answer = await send(JSON.stringify({ model: 'sim-gigantic', messages: [{ role: 'user', content: 'hi' }] }), {
    'content-type': 'application/json',
    authorization: `Bearer ${box.key}`,
  });
  const { error } = await answerOf(answer);
  expect([answer.status, error.code, error.param]).toEqual([404, 'model_not_found', 'model']);
  const [, near = '', rest = ''] =
    /^There is no model or selector `sim-gigantic`\. The nearest names are ([^.]*)\. (.*)$/.exec(error.message) ?? [];
  const names = near.split(', ').map((name) => name.replaceAll('`', ''));
  const listed = (await (await box.get('/v1/models')).json()) as { data: { id: string }[] };
  const known = listed.data.map(({ id }) => id);
  expect(names).toHaveLength(3);
  for (const name of names) expect(known).toContain(name);
  expect(rest).toStartWith('Selectors are auto');
  expect(rest).toEndWith(
    'A policy serves the names listed in `models` and in the `aliases` of a model or selector. See /docs/guide/policies/guide.md, “Add a model”.',
  );
  expect(await Bun.file(`${import.meta.dir}/../../docs/policies/guide.md`).text()).toContain('\n## Add a model\n');
});

test.each(['gpt-4o-mini', 'openai/gpt-4o-mini'])(
  '%s: the error names the provider that a wildcard lacks, and shows the variable to admins',
  async (model) => {
    const key = await box.post('/admin/keys', { name: `plain-${model}` });
    const { key: plain } = (await key.json()) as { key: string };
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] });
    for (const [bearer, why] of [
      [plain, ''],
      [box.key, ': OPENAI_API_KEY is not set'],
    ]) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
      await expectError(await send(body, headers), 'model_not_found', 'model');
      const { error } = (await (await send(body, headers)).json()) as { error: { message: string } };
      expect(error.message).toBe(
        `The model \`${model}\` is in the policy but cannot be served: left out with its provider openai${why}.`,
      );
    }
  },
);

test('the paths that the error for an unknown path suggests exist', async () => {
  const messageAt = async (path: string) => {
    const answer = await box.get(path);
    expect(answer.status).toBe(404);
    return (await answerOf(answer)).error.message;
  };
  const served =
    'Signalbox serves chat at /v1/chat/completions, /v1/messages, /v1/responses, /v1/completions, and embeddings at /v1/embeddings.';
  expect(await messageAt('/v1/images/generations')).toEndWith(`does not serve images yet. ${served}`);
  expect(await messageAt('/v1/frobnicate')).toEndWith(`${served} /docs lists every path.`);
  expect(await messageAt('/v1/decision/dec_1')).toEndWith('Did you mean `/v1/decisions/dec_1`?');
});

test('/health answers like /healthz, without a key and without a rate limit', async () => {
  const [short, usual] = await Promise.all(['/health', '/healthz'].map((path) => fetch(`${box.url}${path}`)));
  expect([short!.status, await short!.json()]).toEqual([usual!.status, await usual!.json()]);
  expect((await fetch(`${box.url}/health`, { method: 'HEAD' })).status).toBe(
    (await fetch(`${box.url}/healthz`, { method: 'HEAD' })).status,
  );
});

test('fields of other APIs do not break a request: the log says once what to send, and the answer names the fields', async () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const fields = { maxTokens: 5, system: 'be short', thinking: { type: 'enabled' } };
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${box.key}` };
  const droppedOf = async (more: object) => {
    const body = JSON.stringify({ model: 'auto-fast', messages, max_tokens: 4, ...more });
    return (await answerOf(await send(body, headers))).platform.dropped;
  };
  for (let i = 0; i < 2; i++) expect(await droppedOf(fields)).toEqual(['maxTokens', 'system', 'thinking']);
  expect(await droppedOf({ topP: 1 })).toEqual(['topP']);
  const logged = () => box.lines.filter((line) => line.includes('a request field of another API'));
  await waitFor(() => logged().some((line) => line.includes('topP')));
  const told = logged().map((line) => JSON.parse(line) as { field: string; instead: string });
  expect(told.map(({ field, instead }) => [field, instead])).toEqual([
    ['maxTokens', '`max_tokens`'],
    ['system', 'a message with the role `system`'],
    ['thinking', '`reasoning_effort`'],
    ['topP', '`top_p`'],
  ]);
  const { error } = await answerOf(await send(JSON.stringify({ model: 'auto', prompt: 'hi' }), headers));
  expect(error).toMatchObject({ code: 'missing_field', param: 'messages' });
  expect(error.message).toStartWith('`messages` is required. `prompt` is a field of another API. Send "messages":');
});
