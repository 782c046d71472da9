import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** Some providers state in their answers what they charge. The record keeps the statement beside the charge, which it never changes. */

/** The members of `usage` with which the provider states its cost. */
let statement: object = {};

const TOKENS = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };
const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'm' };
const chatReply = () => ({
  ...{ id: 'c', object: 'chat.completion', created: 1_790_000_000, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'It rains.' }, finish_reason: 'stop' }],
  usage: { ...TOKENS, ...statement },
});
const responseReply = () => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1_790_000_000, status: 'completed', model: 'm', error: null },
  output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'It rains.' }] }],
  usage: { input_tokens: 10, output_tokens: 50, total_tokens: 60, ...statement },
});
const sse = (events: readonly object[], end = '') =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + end, {
    headers: { 'content-type': 'text/event-stream' },
  });

async function answer(request: Request): Promise<Response> {
  const { stream = false, input } = Object(await request.json());
  const { url } = request;
  if (url.endsWith('/embeddings')) {
    const data = [input].flat().map((_: unknown, index: number) => ({ object: 'embedding', index, embedding: [1, 0] }));
    return Response.json({
      object: 'list',
      model: 'm',
      data,
      usage: { prompt_tokens: 500, total_tokens: 500, ...statement },
    });
  }
  if (url.endsWith('/responses')) {
    if (!stream) return Response.json(responseReply());
    const delta = {
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta: 'It rains.',
    };
    return sse([delta, { type: 'response.completed', response: responseReply() }]);
  }
  if (!stream) return Response.json(chatReply());
  const [choice] = chatReply().choices;
  return sse(
    [
      { ...CHUNK, choices: [{ index: 0, delta: choice!.message, finish_reason: null }] },
      { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...CHUNK, choices: [], usage: { ...TOKENS, ...statement } },
    ],
    'data: [DONE]\n\n',
  );
}

let upstream: OwnServer;
let box: Signalbox;
let key: string;

beforeAll(async () => {
  upstream = startOwnServer(answer);
  const models = ['chat', 'responses'].map(
    (name) => [name, { endpoints: [name], price: { input: 1, output: 4 } }] as const,
  );
  const policy = testPolicy(
    { chat: upstream.url, responses: { url: upstream.url, adapter: 'openai' } },
    Object.fromEntries(models),
  ).replace(
    /^models:\n/m,
    `models:
  vectors:
    provider: chat
    upstream: vectors
    operations: [embed]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 8192
    embedding: { dimensions: 2, batch_inputs: 1 }
  risen:
    provider: chat
    upstream: risen
    price: { input: 0.5, output: 2, until: 2026-01-01, later: [{ input: 1, output: 4 }], as_of: 2026-11-01, basis: own }
    context_window: 8192
    max_output: 1000
    quality: { default: 0.5, basis: guessed }
`,
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  key = await box.makeKey();
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const question = [{ role: 'user', content: 'What is the weather?' }];
const REQUESTS: readonly (readonly [name: string, path: string, body: object])[] = [
  ['chat completions', '/v1/chat/completions', { model: 'chat', max_tokens: 100, messages: question }],
  [
    'streamed chat completions',
    '/v1/chat/completions',
    { model: 'chat', max_tokens: 100, messages: question, stream: true },
  ],
  ['responses', '/v1/responses', { model: 'responses', max_output_tokens: 100, input: question }],
  [
    'streamed responses',
    '/v1/responses',
    { model: 'responses', max_output_tokens: 100, input: question, stream: true },
  ],
  ['responses of a chat model', '/v1/responses', { model: 'chat', max_output_tokens: 100, input: question }],
  ['messages', '/v1/messages', { model: 'chat', max_tokens: 100, messages: question, stream: true }],
  ['a price that has risen', '/v1/chat/completions', { model: 'risen', max_tokens: 100, messages: question }],
];

/** Sends a request, and returns the attempt of its decision. */
async function attemptOf(path: string, body: object): Promise<Record<string, unknown>> {
  const sent = await box.post(path, body, withKey(key));
  const text = await sent.text();
  expect([sent.status, text]).toEqual([200, expect.any(String)]);
  const [id = ''] = /dec_[A-Za-z0-9_-]+/.exec(`${sent.headers.get('x-decision-id')} ${text}`) ?? [];
  const decision = await waitFor(async () => {
    const found = await box.get(`/admin/decisions/${id}`);
    return found.status === 200 && Object(await found.json());
  });
  return decision.outcome.attempts.at(-1);
}

const groupsBy = async (by: string) => {
  const answer = await box.get(`/admin/usage?by=${by}`);
  return (Object(await answer.json()).groups as Record<string, never>[]).map(({ group, stated_costs }) => ({
    ...Object(group),
    stated_costs,
  }));
};

/** The cost of every answer at the policy's price: 10 tokens at 1 and 50 at 4 millicredits. */
const OWN = 0.21;

describe('the cost that a provider states', () => {
  test('an answer that states none has none in its record, and usage has no comparison', async () => {
    statement = {};
    const [, path, body] = REQUESTS[0]!;
    expect(await attemptOf(path, body)).toMatchObject({ credits_stated: null, credits_at_price: null });
    expect(await groupsBy('model')).toEqual([{ model: 'chat', stated_costs: null }]);
  });

  test.each(REQUESTS)('is in the record of the attempt: %s', async (_, path, body) => {
    statement = { cost: 0.00123, cost_details: { upstream_inference_cost: 0.00123 } };
    const attempt = await attemptOf(path, body);
    expect(attempt).toMatchObject({ credits_stated: 1.23, credits_at_price: OWN });
  });

  test.each<[name: string, statement: object, credits: number | null]>([
    [
      'OpenRouter, with a key of your own',
      { cost: 0.00001, is_byok: true, cost_details: { upstream_inference_cost: 0.0002 } },
      0.21,
    ],
    ['xAI', { cost_in_usd_ticks: 37_756_000 }, 3.7756],
    ['Perplexity', { cost: { currency: 'USD', input_cost: 0.001, total_cost: 0.0064 } }, 6.4],
    ['another currency', { cost: { currency: 'EUR', total_cost: 0.0064 } }, null],
    ['a free model', { cost: 0 }, 0],
    ['a negative amount', { cost: -0.1 }, null],
    ['a text', { cost: 'much' }, null],
    ['null', { cost: null }, null],
    ['an impossible amount', { cost: 1e30 }, null],
  ])('is read in the form of each provider: %s', async (_, stated, credits) => {
    statement = stated;
    const [, path, body] = REQUESTS[0]!;
    const sent = Object(await (await box.post(path, body, withKey(key))).json());
    expect(sent.platform.credits_consumed).toBe(OWN);
    expect((await attemptOf(path, body)).credits_stated).toBe(credits);
  });

  test('embeddings sum up what the provider states for each of their calls', async () => {
    statement = { cost: 0.0004 };
    const body = { model: 'vectors', input: ['one', 'two', 'three'] };
    expect(await attemptOf('/v1/embeddings', body)).toMatchObject({ credits_stated: 1.2, credits_at_price: 1.5 });
  });

  test('the server, its database and the command sum it up beside the costs of the same attempts', async () => {
    statement = {};
    await attemptOf(...(REQUESTS[2]!.slice(1) as [string, object]));
    const [responses] = (await groupsBy('model')).filter(({ model }) => model === 'responses');
    // Two of the three answers stated a cost.
    const sums = {
      ...{ stated_credits: 2.46, stated_usd: '0.00246', own_credits: 0.42, own_usd: '0.00042' },
      ...{ difference_credits: 2.04, difference_usd: '0.00204' },
    };
    expect(responses?.stated_costs).toEqual(sums);
    const args = ['ledger', 'usage', '--by', 'model', '--data', box.data];
    const { out } = await runHere([...args, '--json']);
    const group = JSON.parse(out).groups.find((one: { group: { model: string } }) => one.group.model === 'responses');
    expect(group.stated_costs).toEqual(sums);
    expect((await runHere(args)).out).toContain('0.00246 (+0.00204)');
    const audited = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
    expect([audited.code, audited.out]).toEqual([0, expect.stringContaining('nothing wrong')]);
  });

  test('keys with the scope report do not see it', async () => {
    const reporter = withKey(await box.makeKey('--scope', 'report'));
    const { groups } = Object(await (await box.get('/admin/usage?by=model', reporter)).json());
    expect(groups.map(({ stated_costs }: { stated_costs: unknown }) => stated_costs)).toEqual([null, null, null, null]);
  });
});
