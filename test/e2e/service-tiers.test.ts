import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { objectOf, objectsIn } from '../../plugins/providers/json.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { TOY, testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

type Json = Readonly<Record<string, unknown>>;

/** What the upstream received, and the tier that its answers state: the requested one unless a test sets another. */
const bodies: Json[] = [];
const headers: Headers[] = [];
let served: string | null | undefined;

const statedTier = (asked: unknown) => (served === undefined ? (asked ?? undefined) : (served ?? undefined));

/** Answers like OpenAI, Anthropic and Google, with 20 tokens of input and 50 of output. */
const ANSWERS: readonly (readonly [path: RegExp, answer: (body: Json) => object])[] = [
  [
    /\/chat\/completions$/,
    ({ service_tier: asked }) => ({
      id: 'c',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 20, completion_tokens: 50, total_tokens: 70 },
      service_tier: statedTier(asked),
    }),
  ],
  [
    /\/responses$/,
    ({ service_tier: asked }) => ({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }],
      usage: { input_tokens: 20, output_tokens: 50, total_tokens: 70 },
      service_tier: statedTier(asked),
    }),
  ],
  [
    /\/messages$/,
    ({ speed }) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5-5',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 20, output_tokens: 50, service_tier: 'standard', speed: statedTier(speed) },
    }),
  ],
  [
    /:generateContent$/,
    ({ serviceTier: asked }) => ({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 20,
        candidatesTokenCount: 50,
        totalTokenCount: 70,
        serviceTier: statedTier(asked),
      },
    }),
  ],
];

/** Credits of these answers: the base price is 0.001 Credits a token of input and 0.004 of output. */
const COST = { default: 0.22, flex: 0.11, priority: 0.44, fast: 0.66 };
const TIERS = `service_tiers: { flex: { input: 0.5, output: 2 }, priority: { input: 2, output: 8 }, fast: { input: 3, output: 12 } }`;

let upstream: OwnServer;
let box: Signalbox;
let funded: string;
let free: string;

beforeAll(async () => {
  upstream = startOwnServer(async (request) => {
    const body = objectOf(await request.json());
    bodies.push(body);
    headers.push(request.headers);
    const [, answer] = ANSWERS.find(([path]) => path.test(new URL(request.url).pathname))!;
    return Response.json(answer(body));
  });
  const url = `${upstream.url}/v1`;
  const policy = testPolicy(
    {
      openai: { url, adapter: 'openai' },
      copy: { url, adapter: 'openai-compatible' },
      anthropic: { url, adapter: 'anthropic' },
      gemini: { url, adapter: 'gemini' },
    },
    {
      gpt: { endpoints: ['openai'] },
      same: { endpoints: ['copy'] },
      claude: { endpoints: ['anthropic'] },
      gemini: { endpoints: ['gemini'] },
      plain: { endpoints: ['openai'] },
    },
    `gateway: { retries_max: 0 }
budgets:
  - { name: purse, each: key, match: 'key.labels.purse == "yes"', limit_credits: 5000, window: total }
constraints:
  - { name: plain-ultrafast, when: 'request.service_tier == "ultrafast"', require: 'model.id == "plain"' }
`,
  )
    .replace(/output: 4,(?=[\s\S]*?plain:)/g, `output: 4, ${TIERS},`)
    .replaceAll('gpt-upstream', 'gpt-4.1')
    .replaceAll('plain-upstream', 'gpt-4o')
    .replaceAll('claude-upstream', 'claude-opus-5-5')
    .replaceAll('gemini-upstream', 'gemini-3.8-flash');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  funded = await box.makeKey('--label', 'purse=yes');
  free = await box.makeKey();
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const SAYS_HI = [{ role: 'user', content: 'Hi' }];
type Ask = (model: string, tier: object, key?: string) => Promise<{ status: number; answer: Json; sent: Json }>;

async function post(path: string, body: object, key: string) {
  const before = bodies.length;
  const response = await box.post(path, body, withKey(key));
  return { status: response.status, answer: objectOf(await response.json()), sent: bodies[before] ?? {} };
}

/** The same request in each dialect. */
const chat: Ask = (model, more, key = funded) =>
  post('/v1/chat/completions', { model, max_tokens: 60, messages: SAYS_HI, ...more }, key);
const responses: Ask = (model, more, key = funded) =>
  post('/v1/responses', { model, max_output_tokens: 60, input: 'Hi', ...more }, key);
const messages: Ask = (model, more, key = funded) =>
  post('/v1/messages', { model, max_tokens: 60, messages: SAYS_HI, ...more }, key);
const generate: Ask = (model, more, key = funded) =>
  post(
    `/v1beta/models/${model}:generateContent`,
    { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { maxOutputTokens: 60 }, ...more },
    key,
  );

const get = async (path: string, key = box.key) =>
  objectOf(await (await fetch(`${box.url}${path}`, withKey(key))).json());

const platformOf = ({ platform }: Json) => objectOf(platform);
const chargeOf = (answer: Json) => platformOf(answer).credits_consumed;
const attemptOf = (answer: Json) => objectOf(Object(platformOf(answer).attempts).at(-1));

/** Answers with a tier of the upstream's choice: a name, none at all, or the requested one. */
async function serving<T>(tier: string | null, ask: () => Promise<T>): Promise<T> {
  served = tier;
  try {
    return await ask();
  } finally {
    served = undefined;
  }
}

describe('a request for a service tier with a price', () => {
  test.each<[string, string, Ask, object, object, keyof typeof COST]>([
    ['chat', 'gpt', chat, { service_tier: 'flex' }, { service_tier: 'flex' }, 'flex'],
    ['responses', 'gpt', responses, { service_tier: 'flex' }, { service_tier: 'flex' }, 'flex'],
    ['messages', 'gpt', messages, { service_tier: 'flex' }, { service_tier: 'flex' }, 'flex'],
    ['Gemini', 'gpt', generate, { serviceTier: 'SERVICE_TIER_FLEX' }, { service_tier: 'flex' }, 'flex'],
    ['chat', 'gemini', chat, { service_tier: 'priority' }, { serviceTier: 'priority' }, 'priority'],
    ['Gemini', 'gemini', generate, { serviceTier: 'PRIORITY' }, { serviceTier: 'priority' }, 'priority'],
    ['messages', 'claude', messages, { speed: 'fast' }, { speed: 'fast' }, 'fast'],
    ['chat', 'claude', chat, { service_tier: 'fast' }, { speed: 'fast' }, 'fast'],
  ])('%s: %s gets the tier, and the answer has the price of it', async (_, model, ask, asked, sent, tier) => {
    const got = await ask(model, asked);
    expect([got.status, got.answer.error]).toEqual([200, undefined]);
    expect(got.sent).toMatchObject(sent);
    expect([chargeOf(got.answer), attemptOf(got.answer).service_tier]).toEqual([COST[tier], tier]);
    expect(platformOf(got.answer).dropped).toEqual([]);
  });

  test('the answer states the tier in the field of its dialect', async () => {
    const [one, two, three, four] = await Promise.all([
      chat('gpt', { service_tier: 'flex' }),
      responses('gpt', { service_tier: 'flex' }),
      messages('gpt', { service_tier: 'flex' }),
      generate('gpt', { serviceTier: 'flex' }),
    ]);
    expect([one.answer.service_tier, two.answer.service_tier]).toEqual(['flex', 'flex']);
    expect(three.answer.usage).toMatchObject({ service_tier: 'flex' });
    expect(four.answer.usageMetadata).toMatchObject({ serviceTier: 'flex' });
    const fast = await messages('claude', { speed: 'fast' });
    expect(fast.answer.usage).toMatchObject({ service_tier: 'standard', speed: 'fast' });
  });

  test('OpenAI’s other name of a tier is the same tier', async () => {
    const { sent, answer } = await chat('gpt', { service_tier: 'fast' });
    // The policy of this test prices `fast` apart, and the answer states `priority`.
    expect([sent.service_tier, chargeOf(answer), answer.service_tier]).toEqual(['priority', COST.priority, 'priority']);
  });

  test('a fast speed in another dialect is requested with the beta header of Anthropic', async () => {
    await chat('claude', { service_tier: 'fast' });
    expect(headers.at(-1)!.get('anthropic-beta')).toBe('fast-mode-2026-02-01');
    await chat('claude', {});
    expect(headers.at(-1)!.get('anthropic-beta')).toBeNull();
  });

  test.each<[string | null, keyof typeof COST]>([
    // The provider had no capacity for the tier.
    ['default', 'default'],
    ['priority', 'priority'],
    // Without a tier in the answer, the dearer of the requested and the default tier.
    [null, 'priority'],
  ])('is charged at the tier that the answer states: %p', async (stated, tier) => {
    const { answer } = await serving(stated, () => chat('gpt', { service_tier: 'priority' }));
    expect(chargeOf(answer)).toBe(COST[tier]);
  });

  test('is charged at the dearer price if an answer of Anthropic states no speed', async () => {
    for (const [ask, asked] of [
      [messages, { speed: 'fast' }],
      [chat, { service_tier: 'fast' }],
    ] as const) {
      const { answer } = await serving(null, () => ask('claude', asked));
      expect(chargeOf(answer)).toBe(COST.fast);
    }
    const { answer } = await serving(null, () => messages('claude', {}));
    expect(chargeOf(answer)).toBe(COST.default);
  });

  test('is charged at the dearer price if Anthropic gets another speed unchanged, and its answer states none', async () => {
    const { sent, answer } = await serving(null, () => messages('claude', { speed: 'priority' }));
    expect([sent.speed, chargeOf(answer)]).toEqual(['priority', COST.priority]);
    const standard = await serving('standard', () => messages('claude', { speed: 'priority' }));
    expect(chargeOf(standard.answer)).toBe(COST.default);
  });

  test('is charged at most the hold if the answer states a dearer tier, and the operator pays the rest', async () => {
    const { answer } = await serving('fast', () => messages('claude', { max_tokens: 50 }));
    expect(Number(chargeOf(answer))).toBeLessThan(COST.fast);
  });

  test('is shown with its tier in the decision, its money and the export', async () => {
    const { answer } = await chat('gpt', { service_tier: 'flex' });
    const id = platformOf(answer).decision_id;
    const found = await get(`/v1/decisions/${id}`, funded);
    expect(found).toMatchObject({
      outcome: { attempts: [{ service_tier: 'flex' }] },
      facts: { add_ons: { tier: 'flex' } },
      replay: { matches: true },
    });
    expect(JSON.stringify(found.sentences)).toContain(' at the service tier flex');
    const { entries } = await get(`/admin/decisions/${id}/money`);
    expect(entries).toContainEqual(expect.objectContaining({ kind: 'settle', service_tier: 'flex' }));
    const { out } = await runHere(['ledger', 'export', '--format', 'json', '--data', box.data]);
    const lines: Json[] = JSON.parse(out);
    expect(lines.find(({ decision }) => decision === id)).toMatchObject({ service_tier: 'flex', credits: COST.flex });
  });

  test('is estimated at the price of the tier, and the list of models shows that price', async () => {
    const estimateOf = async (more: object) => {
      const { answer } = await post('/v1/route', { model: 'gpt', max_tokens: 60, messages: SAYS_HI, ...more }, funded);
      return Number(answer.estimated_cost_credits);
    };
    const [usual, flex] = [await estimateOf({}), await estimateOf({ service_tier: 'flex' })];
    expect(flex).toBe(usual / 2);
    const { data } = await get('/admin/models');
    const gpt = objectsIn(data).find(({ id }) => id === 'gpt');
    expect(objectOf(gpt?.price).service_tiers).toContainEqual({
      name: 'flex',
      input_usd: '0.5',
      cached_input_usd: '0.5',
      output_usd: '2',
    });
  });
});

test('a constraint of the policy can read the tier', async () => {
  const { answer } = await chat('auto', { service_tier: 'ultrafast' }, free);
  expect(platformOf(answer).routed_model).toBe('plain');
  expect((await chat('gpt', { service_tier: 'ultrafast' }, free)).status).toBe(422);
});

describe('a request without a tier', () => {
  test.each<[string, string, Ask]>([
    ['chat', 'gpt', chat],
    ['responses', 'gpt', responses],
  ])(
    '%s: OpenAI gets the default tier if a fund pays, because its account could have another one',
    async (_, model, ask) => {
      for (const more of [{}, { service_tier: 'auto' }, { service_tier: 'default' }, { service_tier: null }]) {
        const { sent, answer } = await ask(model, more);
        expect([sent.service_tier, chargeOf(answer)]).toEqual(['default', COST.default]);
        expect(attemptOf(answer)).not.toHaveProperty('service_tier');
      }
    },
  );

  test('keeps what the caller sent if no fund pays', async () => {
    for (const tier of ['auto', 'default', 'flex', 'scale']) {
      for (const ask of [chat, responses])
        expect((await ask('gpt', { service_tier: tier }, free)).sent.service_tier).toBe(tier);
    }
    for (const ask of [chat, responses]) expect((await ask('gpt', {}, free)).sent).not.toHaveProperty('service_tier');
  });

  test('servers that copied OpenAI’s API never get the field', async () => {
    for (const key of [funded, free]) {
      for (const more of [{}, { service_tier: 'auto' }])
        expect((await chat('same', more, key)).sent).not.toHaveProperty('service_tier');
    }
  });
});

describe('a request for a tier that a model does not have', () => {
  test.each<[string, Ask, object, string, string]>([
    ['chat', chat, { service_tier: 'flex' }, 'service_tier', 'flex'],
    ['responses', responses, { service_tier: 'priority' }, 'service_tier', 'priority'],
    ['messages', messages, { speed: 'fast' }, 'speed', 'fast'],
    ['Gemini', generate, { serviceTier: 'FLEX' }, 'serviceTier', 'flex'],
  ])(
    '%s: is refused if a fund pays, with the name of the tier and what the policy lacks',
    async (_, ask, more, field, tier) => {
      const { status, answer } = await ask('plain', more);
      const text = JSON.stringify(answer.error);
      expect([status, text]).toEqual([400, expect.stringContaining(`service_tiers.${tier}`)]);
      expect(text).toContain(field);
    },
  );

  test('goes to a model with a price of it', async () => {
    const { answer } = await chat('auto', { service_tier: 'flex' });
    expect(platformOf(answer).routed_model).not.toBe('plain');
  });

  test('is served if no fund pays', async () => {
    const { sent, answer } = await chat('plain', { service_tier: 'flex' }, free);
    expect([sent.service_tier, chargeOf(answer)]).toEqual(['flex', COST.default]);
  });

  test('has the dearest price that the policy states, if no fund pays', async () => {
    for (const stated of [undefined, null, 'unheard-of']) {
      const ask = () => chat('gpt', { service_tier: 'scale' }, free);
      const { sent, answer } = await (stated === undefined ? ask() : serving(stated, ask));
      expect([sent.service_tier, chargeOf(answer)]).toEqual(['scale', COST.fast]);
    }
  });

  test.each<[string, Ask, string, object, string]>([
    ['a server that may not know the field', chat, 'same', { service_tier: 'flex' }, 'service_tier'],
    ['Anthropic', chat, 'claude', { service_tier: 'flex' }, 'service_tier'],
    ['Gemini', messages, 'gemini', { speed: 'fast' }, 'speed'],
  ])(
    'is sent without it to %s, the answer names the field, and the base price applies',
    async (_, ask, model, more, field) => {
      const { sent, answer } = await ask(model, more);
      expect(Object.keys(sent)).not.toContain('service_tier');
      expect([platformOf(answer).dropped, chargeOf(answer)]).toEqual([[field], COST.default]);
    },
  );
});

describe('the vendors’ own clients request a tier, and read it from the answer', () => {
  test('OpenAI’s client, in chat and in responses', async () => {
    const client = new OpenAI({ apiKey: funded, baseURL: `${box.url}/v1`, maxRetries: 0 });
    const tier = { model: 'gpt', service_tier: 'flex' } as const;
    const completion = await client.chat.completions.create({
      ...tier,
      max_tokens: 60,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    const response = await client.responses.create({ ...tier, max_output_tokens: 60, input: 'Hi' });
    for (const answer of [completion, response]) {
      expect(answer.service_tier).toBe('flex');
      expect(chargeOf(objectOf(answer))).toBe(COST.flex);
    }
    expect(bodies.slice(-2).map(({ service_tier }) => service_tier)).toEqual(['flex', 'flex']);
  });

  test('Anthropic’s client, with the beta of its fast mode', async () => {
    const client = new Anthropic({ apiKey: funded, baseURL: box.url, maxRetries: 0 });
    const message = await client.beta.messages.create({
      model: 'claude',
      max_tokens: 60,
      messages: [{ role: 'user', content: 'Hi' }],
      speed: 'fast',
      betas: ['fast-mode-2026-02-01'],
    });
    expect(message.usage.speed).toBe('fast');
    expect(chargeOf(objectOf(message))).toBe(COST.fast);
    expect([bodies.at(-1)?.speed, headers.at(-1)!.get('anthropic-beta')]).toEqual(['fast', 'fast-mode-2026-02-01']);
  });
});

test('the audit computes the charges of all tiers again', async () => {
  const audited = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
  expect([audited.code, audited.out]).toEqual([0, expect.stringContaining('nothing wrong')]);
});

describe('the simulated provider takes every tier and states it', () => {
  let toy: Signalbox;
  beforeAll(async () => {
    const tiers = 'service_tiers: { flex: { input: 500, output: 2000 } }';
    toy = await startSignalbox({ policy: TOY.replace('output: 4000,', `output: 4000, ${tiers},`) });
  });
  afterAll(() => toy.stop());

  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const FLEX = '"service_tier":"flex"';
  test.each<[string, string, Json, object, string]>([
    ['chat', '/v1/chat/completions', { messages: SAYS_HI }, { service_tier: 'flex' }, FLEX],
    ['completions', '/v1/completions', { prompt: 'Hi' }, { service_tier: 'flex' }, FLEX],
    ['responses', '/v1/responses', { input: 'Hi' }, { service_tier: 'flex' }, FLEX],
    ['messages', '/v1/messages', { messages: SAYS_HI, max_tokens: 99 }, { service_tier: 'flex' }, FLEX],
    ['Gemini', '/v1beta/models/toy:METHOD', { contents }, { serviceTier: 'FLEX' }, '"serviceTier":"flex"'],
  ])('%s: in one piece and as a stream', async (_, path, body, tier, stated) => {
    for (const stream of [false, true]) {
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      const ask = async (more: object) => {
        const request = path.endsWith('METHOD') ? body : { model: 'toy', stream, ...body };
        return await (await toy.post(path.replace('METHOD', method), { ...request, ...more })).text();
      };
      const [usual, flex] = [await ask({}), await ask(tier)];
      const creditsIn = (text: string) => Number(/"credits_consumed":([\d.]+)/.exec(text)?.[1]);
      expect(creditsIn(usual)).toBeGreaterThan(0);
      expect(creditsIn(flex)).toBe(creditsIn(usual) / 2);
      // The answer states the tier in its own field, and with the attempt.
      expect(flex.replace(/"platform":.*/, '')).toContain(stated);
      expect(flex).toContain(FLEX);
      expect(usual).not.toContain(stated);
    }
  });
});
