import { afterAll, describe, expect, test } from 'bun:test';
import { type Json, listOf, objectOf, objectsIn, textOf } from '../../../plugins/providers/json.ts';
import { defectsIn } from '../../support/nonsense.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { useSignalbox } from '../../support/use.ts';

/** OpenAI's older completions, in front of servers that declare `completions` and servers that do not. */
interface Call {
  readonly path: string;
  readonly body: Json;
}
const calls: Call[] = [];
/** A text to which the server has nothing to add. */
const WHOLE = 'const one = 1;';

/** A model server that continues texts, as vLLM and Ollama do. */
const server = startOwnServer(async (request) => {
  const body = objectOf(await request.json().catch(() => null));
  calls.push({ path: new URL(request.url).pathname, body });
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 };
  const head = { id: 'cmpl-1', object: 'text_completion', created: 1, model: 'm' };
  const choice = (text: string, index: number, finish_reason: string | null) => ({
    text,
    index,
    logprobs: null,
    finish_reason,
  });
  const { n = 1, stream } = body;
  const indexes = Array.from({ length: Number(n) }, (_, index) => index);
  if (stream !== true)
    return Response.json({
      ...head,
      choices: indexes.map((index) =>
        body.prompt === WHOLE ? choice('', index, 'stop') : choice(`return ${index}`, index, 'length'),
      ),
      usage,
    });
  const events = [
    ...indexes.flatMap((index) => [
      { ...head, choices: [choice('return ', index, null)] },
      { ...head, choices: [choice(`${index}`, index, 'length')] },
    ]),
    { ...head, choices: [], usage },
  ];
  const text = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
});

const model = (provider: string, price: number) => `
    provider: ${provider}
    price: { input: ${price}, output: ${price}, as_of: 2026-11-01, basis: own }
    context_window: 8192
    max_output: 4096
    latency: { ttft_ms: 1, output_tokens_per_second: 1000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
    capabilities: [choices]`;
const box = useSignalbox(() => ({
  policy: `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  filler: { preset: ollama, base_url: "${server.url}/v1" }
  deep: { preset: deepseek, base_url: "${server.url}", api_key_env: TEST_KEY }
  plain: { preset: vllm, base_url: "${server.url}/v1" }
  chats: { adapter: openai-compatible, base_url: "${server.url}/v1", api_key_env: TEST_KEY }
models:
  filler:${model('filler', 1)}
  deep:${model('deep', 2)}
  plain:${model('plain', 0.5)}
  chats:${model('chats', 0.1)}
gateway: { retries_max: 0 }
selectors:
  auto: { strategy: auto }
  two: { strategy: auto, tiers: { usual: [filler], strong: [deep] } }
`,
  env: { TEST_KEY: 'secret' },
}));

const send = (body: object, headers = {}) =>
  box.post('/v1/completions', { model: 'filler', prompt: 'def f():', ...body }, { headers });
const jsonOf = async (response: Response): Promise<Json> => objectOf(await response.json());
const eventsOf = async (response: Response) =>
  [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data);

afterAll(() => server.stop());

describe('a completion', () => {
  test('that adds nothing is a good answer, which no other model is asked about', async () => {
    const answer = await jsonOf(await send({ model: 'two', prompt: WHOLE }));
    expect(objectsIn(answer.choices).map(({ text, finish_reason }) => [text, finish_reason])).toEqual([['', 'stop']]);
    expect(objectOf(answer.platform)).toMatchObject({ routed_model: 'filler', route_reason: 'two:usual' });
    expect(listOf(objectOf(answer.platform).attempts)).toHaveLength(1);
  });

  test('is continued by an endpoint that declares `completions`, with its usage and price', async () => {
    const answer = await jsonOf(await send({ max_tokens: 20, temperature: 0.5, stop: 'x', seed: 3 }));
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^cmpl-/),
      object: 'text_completion',
      model: 'filler',
      choices: [{ text: 'return 0', index: 0, logprobs: null, finish_reason: 'length' }],
      usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 },
      platform: { routed_model: 'filler', credits_consumed: 0.013, dropped: [] },
    });
    expect(calls.at(-1)).toEqual({
      path: '/v1/completions',
      body: { model: 'filler', prompt: 'def f():', max_tokens: 20, temperature: 0.5, stop: ['x'], seed: 3 },
    });
  });

  test('streams its pieces, and the usage only on request', async () => {
    const events = await eventsOf(await send({ stream: true, stream_options: { include_usage: true } }));
    expect(events.pop()).toBe('[DONE]');
    const chunks = events.map((data) => objectOf(JSON.parse(data)));
    const choices = chunks.flatMap((chunk) => objectsIn(chunk.choices));
    expect(choices.map(({ text }) => textOf(text)).join('')).toBe('return 0');
    expect(choices.at(-1)).toMatchObject({ text: '', finish_reason: 'length' });
    expect(chunks.at(-2)!.platform).toMatchObject({ credits_consumed: 0.013 });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 13 } });
    const without = await eventsOf(await send({ stream: true }));
    expect(without.some((data) => data.includes('"usage"'))).toBe(false);
  });

  test('may want several answers', async () => {
    const { choices } = await jsonOf(await send({ model: 'plain', n: 2 }));
    expect(objectsIn(choices).map(({ text }) => text)).toEqual(['return 0', 'return 1']);
  });

  test('with a suffix goes only to a model that accepts one, and a selector finds it', async () => {
    const answer = await jsonOf(await send({ model: 'auto', suffix: '\nprint(f())' }));
    expect(objectOf(answer.platform).routed_model).toBe('filler');
    expect(calls.at(-1)!.body).toMatchObject({ prompt: 'def f():', suffix: '\nprint(f())' });
    const refused = await send({ model: 'plain', suffix: 'x' });
    expect(refused.status).toBe(422);
    expect(textOf(objectOf((await jsonOf(refused)).error).message)).toContain('suffix');
  });

  test('without a suffix goes to the cheapest model that declares `completions`', async () => {
    const answer = await jsonOf(await send({ model: 'auto' }));
    expect(objectOf(answer.platform).routed_model).toBe('plain');
  });

  test('of DeepSeek goes to its own path', async () => {
    expect((await send({ model: 'deep', suffix: 'x' })).status).toBe(200);
    expect(calls.at(-1)!.path).toBe('/beta/completions');
  });

  test('for a model without `completions` is refused, and says so', async () => {
    const refused = await send({ model: 'chats' });
    const { error } = await jsonOf(refused);
    expect([refused.status, objectOf(error).code]).toEqual([422, 'no_eligible_model']);
    expect(JSON.stringify(error)).toContain('does not declare `completions`');
  });

  test('without `max_tokens` has at most 16 tokens', async () => {
    await send({});
    expect(calls.at(-1)!.body.max_tokens).toBe(16);
  });

  test('is recorded, and repeated for an `Idempotency-Key`', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const first = await jsonOf(await send({}, headers));
    const again = await send({}, headers);
    expect([again.headers.get('x-signalbox-replayed'), await jsonOf(again)]).toEqual(['true', first]);
    const id = textOf(objectOf(first.platform).decision_id);
    expect(await jsonOf(await box.get(`/v1/decisions/${id}`))).toMatchObject({
      kind: 'chat',
      outcome: { status: 'completed' },
    });
  });

  test('costs at most its `budget_limit`', async () => {
    const refused = await send({ budget_limit: 0.000_001 });
    expect([refused.status, objectOf((await jsonOf(refused)).error).code]).toEqual([400, 'budget_limit_too_low']);
  });

  test.each<[string, object]>([
    ['echo', { echo: true }],
    ['logprobs', { logprobs: 2 }],
    ['best_of', { best_of: 2 }],
    ['prompt', { prompt: [1, 2] }],
    ['prompt', { prompt: [[1, 2], [3]] }],
    ['prompt', { prompt: ['a', 'b'] }],
  ])('with unsupported `%s` is refused by name: %j', async (param, body) => {
    const refused = await send(body);
    const { error } = await jsonOf(refused);
    expect([refused.status, error]).toMatchObject([400, { code: 'unsupported_parameter', param }]);
  });

  test('accepts the neutral values of fields that are not supported', async () => {
    expect((await send({ echo: false, logprobs: null, best_of: 1, prompt: ['def f():'] })).status).toBe(200);
  });

  test('is recommended a model by `/v1/route`', async () => {
    expect((await box.post('/v1/route', { prompt: 'def f():' })).status).toBe(200);
  });

  test('never causes an internal error, whatever nonsense is in it', async () => {
    const body = {
      model: 'filler',
      prompt: ['x'],
      suffix: 'y',
      max_tokens: 5,
      stop: ['x'],
      stream_options: { include_usage: true },
      metadata: { session_id: 's' },
      n: 1,
      logit_bias: { 1: 1 },
    };
    const sent = async (changed: unknown) => (await box.post('/v1/completions', changed)).status;
    expect(await defectsIn(body, sent)).toEqual([]);
    expect(listOf(await defectsIn({ ...body, stream: true }, sent))).toEqual([]);
  });
});
