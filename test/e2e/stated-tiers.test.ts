import { afterAll, beforeAll, expect, test } from 'bun:test';
import { objectOf } from '../../plugins/providers/json.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** The service tier that the answers of the upstream state. */
let served = 'default';

const TEXT = 'It rains and it rains.';
const event = (type: string, more: object): object => ({ type, ...more });

/** Streams like those of OpenAI, Anthropic and Google, which state their tier and break off before their usage is complete. */
const STREAMS: readonly (readonly [path: RegExp, events: () => readonly object[]])[] = [
  [
    /\/chat\/completions$/,
    () => [
      {
        ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', service_tier: served },
        choices: [{ index: 0, delta: { role: 'assistant', content: TEXT }, finish_reason: null }],
      },
    ],
  ],
  [
    /\/responses$/,
    () => [
      event('response.created', { response: { id: 'r', service_tier: served, output: [] } }),
      event('response.output_item.added', { output_index: 0, item: { type: 'message', id: 'i', content: [] } }),
      event('response.output_text.delta', { output_index: 0, content_index: 0, item_id: 'i', delta: TEXT }),
    ],
  ],
  [
    /\/messages$/,
    () => [
      event('message_start', {
        message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: { speed: served } },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
    ],
  ],
  [
    /:streamGenerateContent$/,
    () => [
      {
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: TEXT }] } }],
        usageMetadata: { serviceTier: served },
      },
    ],
  ],
];

/** A whole answer of a chat, with 20 tokens of input and 50 of output. */
const COMPLETION = () => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', service_tier: served },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 50, total_tokens: 70 },
});

let upstream: OwnServer;
let box: Signalbox;
let free: string;
let funded: string;

beforeAll(async () => {
  upstream = startOwnServer(async (request) => {
    const { stream } = objectOf(await request.json());
    const { pathname } = new URL(request.url);
    if (!stream && !pathname.includes(':stream')) return Response.json(COMPLETION());
    const [, events] = STREAMS.find(([path]) => path.test(pathname))!;
    const body = events().map((one) => `data: ${JSON.stringify(one)}\n\n`);
    return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } });
  });
  const url = `${upstream.url}/v1`;
  const policy = testPolicy(
    {
      openai: { url, adapter: 'openai' },
      anthropic: { url, adapter: 'anthropic' },
      gemini: { url, adapter: 'gemini' },
      copy: url,
    },
    {
      gpt: { endpoints: ['openai'] },
      claude: { endpoints: ['anthropic'] },
      gemini: { endpoints: ['gemini'] },
      both: { endpoints: ['copy', 'openai'] },
    },
    `gateway: { retries_max: 0 }
budgets: [{ name: purse, each: key, match: 'key.labels.purse == "yes"', limit_credits: 5000, window: total }]
`,
  )
    .replaceAll(/(gpt|both)-upstream/g, 'gpt-4.1')
    .replaceAll('claude-upstream', 'claude-opus-5-5')
    .replaceAll('gemini-upstream', 'gemini-3.8-flash')
    .replace(/output: 4,/g, 'output: 4, service_tiers: { priority: { input: 2, output: 8 } },')
    .replace(/provider: copy,/, 'provider: copy, price: { input: 1, output: 4, as_of: 2026-11-01, basis: own },');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  free = await box.makeKey();
  funded = await box.makeKey('--label', 'purse=yes');
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

async function charged(path: string, body: object): Promise<number> {
  const answer = await box.post(path, { stream: true, ...body }, withKey(free));
  const text = await answer.text();
  const id = /dec_\w+/.exec(text)?.[0] ?? answer.headers.get('x-decision-id');
  const decision = objectOf(await (await box.get(`/admin/decisions/${id}`)).json());
  return Number(objectOf(decision.outcome).credits_consumed);
}

const messages = [{ role: 'user', content: 'Hi' }];
test.each<[string, string, object]>([
  ['chat', '/v1/chat/completions', { model: 'gpt', max_tokens: 60, messages }],
  ['responses', '/v1/responses', { model: 'gpt', max_output_tokens: 60, input: 'Hi' }],
  ['messages', '/v1/messages', { model: 'claude', max_tokens: 60, messages }],
  ['chat with Anthropic', '/v1/chat/completions', { model: 'claude', max_tokens: 60, messages }],
  ['chat with Gemini', '/v1/chat/completions', { model: 'gemini', max_tokens: 60, messages }],
])('%s: a stream that breaks off is charged at the tier that its events state', async (_, path, body) => {
  served = 'default';
  const usual = await charged(path, body);
  served = 'priority';
  expect(usual).toBeGreaterThan(0);
  expect(await charged(path, body)).toBe(2 * usual);
});

const chat = async (model: string, tier: object, key: string) => {
  const answer = await box.post('/v1/chat/completions', { model, max_tokens: 60, messages, ...tier }, withKey(key));
  const body = objectOf(await answer.json());
  return { status: answer.status, ...objectOf(body.platform), error: objectOf(body.error).message };
};
const sentencesOf = async (id: unknown): Promise<string> =>
  JSON.stringify(objectOf(await (await box.get(`/admin/decisions/${id}`)).json()).sentences);

test('a request for a tier that a fund pays goes to the endpoint of a model that has a price of it', async () => {
  served = 'priority';
  const found = await chat('both', { service_tier: 'priority' }, funded);
  expect(found).toMatchObject({ status: 200, credits_consumed: 0.44, attempts: [{ provider: 'openai' }] });
  const { decision_id } = Object(found);
  const sentences = await sentencesOf(decision_id);
  expect(sentences).toContain('at copy is left out');
  const refused = await chat('both', { service_tier: 'flex' }, funded);
  expect([refused.status, refused.error]).toEqual([400, expect.stringContaining('the service tier `flex`')]);
});

test('a request for a tier goes to each endpoint of a model if no fund pays', async () => {
  served = 'priority';
  expect(await chat('both', { service_tier: 'priority' }, free)).toMatchObject({ attempts: [{ provider: 'copy' }] });
});

test.each([
  ['<?>', 'a service tier that the policy has no price for'],
  ['scale', 'a service tier that the policy has no price for'],
  ['', 'no service tier'],
])(
  'if an answer does not state a tier with a price (%j), the decision names the tier that was charged',
  async (stated, words) => {
    served = stated;
    const found = Object(await chat('gpt', { service_tier: 'priority' }, free));
    expect(found.credits_consumed).toBe(0.44);
    const decision = await (await box.get(`/admin/decisions/${found.decision_id}`)).json();
    expect(decision).toMatchObject({ outcome: { attempts: [{ assumed_tier: 'priority' }] } });
    const sentences = JSON.stringify(objectOf(decision).sentences);
    expect(sentences).toContain(`The provider stated ${words}; the price of the service tier priority applied`);
    expect(sentences).not.toContain('at the service tier');
  },
);

test('if an answer states its tier, the decision names no other one', async () => {
  served = 'priority';
  const found = Object(await chat('gpt', { service_tier: 'priority' }, free));
  const decision = objectOf(await (await box.get(`/admin/decisions/${found.decision_id}`)).json());
  expect(decision).toMatchObject({ outcome: { attempts: [{ assumed_tier: null }] } });
  expect(JSON.stringify(decision.sentences)).not.toContain('The provider stated');
});

test('if the account may choose the tier and the answer states none, the most expensive price applies', async () => {
  // The charge is at most the hold, which covers more output here.
  const asked = [{}, { service_tier: 'auto' }].map((tier) => ({ ...tier, max_tokens: 200 }));
  const charges = (key: string) =>
    Promise.all(asked.map(async (one) => Object(await chat('gpt', one, key)).credits_consumed));
  served = '';
  expect(await charges(free)).toEqual([0.44, 0.44]);
  // OpenAI gets the default tier if a fund pays.
  expect(await charges(funded)).toEqual([0.22, 0.22]);
  served = 'default';
  expect(await charges(free)).toEqual([0.22, 0.22]);
});
