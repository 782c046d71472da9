import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, answerOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

let upstream: FakeUpstream;
/** A program on an own server, which needs no key. */
let home: FakeUpstream;
let box: Signalbox;
/** By how many milliseconds the gateway's clock is ahead. */
let ahead = 0;

const MORE = `
budgets:
  - { name: cheap, match: 'request.model == "openai/gpt-4o"', limit_credits: 0, window: day }
  - { name: o3, match: 'request.model == "in-house-o3-pro"', limit_credits: 0, window: day }
constraints:
  - { name: in-eu, when: 'request.metadata.region == "eu"', require: '!("us" in endpoint.regions)' }
  - { name: no-preview, require: '!model.id.contains("preview")' }
  - { name: no-pro, require: 'model.id != "in-house-gpt-5-pro"' }
  - { name: no-dear, when: 'request.metadata.thrift == "yes"', require: 'model.price.output <= 1.0' }
  - { name: no-nano, require: '!model.id.endsWith("gpt-5.4-nano")' }
gateway: { retries_max: 2 }
`;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  home = startFakeUpstream();
  const listed = testPolicy({ local: upstream.url }, { luna: { endpoints: ['local'] } }, MORE);
  const policy = listed
    .replace(
      'providers:\n',
      `providers:\n  openai: { preset: openai, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }\n  house: { preset: openai, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY }\n  home: { adapter: openai-compatible, base_url: "${home.url}" }\n`,
    )
    .replace(
      'models:\n',
      `models:
  "in-house-*": { provider: house, upstream: "*", unknown_price: { as: { input: 0.1, output: 0.2, basis: own, as_of: 2026-11-01 } } }
  "local/*": { provider: local, regions: [eu], unknown_price: { as: { input: 5, output: 25, basis: own, as_of: 2026-11-01 } } }
  "home/*": { provider: home, unknown_price: { as: { input: 0, output: 0, basis: own, as_of: 2026-11-01 } } }
  big:
    provider: home
    upstream: "qwen3:8b"
    price: { input: 2, output: 8, as_of: 2026-11-01, basis: own }
    context_window: 100000
    max_output: 8192
    quality: { default: 0.8, basis: guessed }
  sol:
    provider: openai
    upstream: gpt-4.1-2025-04-14
    price: { input: 2, output: 8, as_of: 2026-11-01, basis: own }
    context_window: 100000
    max_output: 8192
    quality: { default: 0.8, basis: guessed }
`,
    );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV, clock: () => performance.now() + ahead });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
  await home.stop();
});

const chat = (model: string, more: object = {}) =>
  box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50, ...more });

/** Returns the model that served a chat, and the name that was sent to the provider. */
async function served(model: string, more: object = {}) {
  const { platform } = await answerOf(await chat(model, more));
  return [platform.routed_model, upstream.requests.at(-1)?.body.model];
}

async function refused(model: string, more: object = {}) {
  const before = upstream.requests.length;
  const response = await chat(model, more);
  const { error } = (await response.json()) as Answer;
  return {
    status: response.status,
    code: error?.code,
    message: error?.message ?? '',
    calls: upstream.requests.length - before,
  };
}

async function stateOfLocal() {
  const response = await box.get('/admin/endpoints');
  const { data } = (await response.json()) as { data: { model: string; state: string }[] };
  return data.find(({ model }) => model === 'local/*')?.state;
}

describe('a model that the policy does not list', () => {
  test('a model that the policy does not list is served under its bare name and with its provider’s prefix, at its public price', async () => {
    expect(await served('gpt-4o-mini')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini']);
    expect(await served('openai/gpt-4o-mini')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini']);
    const { platform, usage } = await answerOf(await chat('gpt-4o-mini'));
    // 0.15 and 0.60 USD per 1M tokens, at 0.001 USD for a Credit.
    const { prompt_tokens: input, completion_tokens: output } = usage;
    expect(platform.credits_consumed).toBeCloseTo((0.15 * input + 0.6 * output) / 1000, 9);
  });

  test('an unlisted model of OpenAI before GPT-5 accepts the fields that such models accept', async () => {
    const more = { n: 2, logprobs: true, top_logprobs: 2, seed: 7, logit_bias: { '1': 1 }, presence_penalty: 0.5 };
    const { choices, platform } = await answerOf(await chat('gpt-4o-mini', more));
    expect([choices.length, platform.dropped]).toEqual([2, []]);
    expect(upstream.requests.at(-1)?.body).toMatchObject(more);
    for (const [model, fields] of [
      ['gpt-5.4', { n: 2 }],
      ['local/gpt-4o-mini', { logprobs: true }],
    ] as const) {
      expect(await refused(model, fields)).toMatchObject({ status: 422, code: 'no_eligible_model', calls: 0 });
    }
  });

  test('the decision about an unlisted model explains it, and is repeated bit for bit', async () => {
    const { platform } = await answerOf(await chat('gpt-4o-mini'));
    const found = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(found).toMatchObject({
      facts: { model: 'openai/gpt-4o-mini', alias: 'gpt-4o-mini', pinned: true },
      choice: 'openai/gpt-4o-mini',
      replay: { matches: true },
    });
  });

  test('if the catalog serves the model, the catalog’s model is used, under whatever name', async () => {
    for (const name of ['openai/gpt-4.1', 'gpt-4.1', 'openai/gpt-4.1-2025-04-14', 'openai/GPT-4.1', 'openai/sol']) {
      expect(await served(name)).toEqual(['sol', 'gpt-4.1-2025-04-14']);
    }
  });

  test('every way to write the name means the model with public figures: its ID, rules, budgets and price', async () => {
    for (const name of ['gpt-4o-mini-2024-07-18', 'openai/GPT-4o-mini', 'openai/models/gpt-4o-mini-latest'])
      expect(await served(name)).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini']);
    const { platform, usage } = await answerOf(await chat('in-house-GPT-4.1-2025-04-14'));
    const { prompt_tokens: input, completion_tokens: output } = usage;
    expect(platform.routed_model).toBe('in-house-gpt-4.1');
    expect(platform.credits_consumed).toBeCloseTo((2 * input + 8 * output) / 1000, 9);
    for (const name of ['in-house-gpt-5-pro', 'in-house-gpt-5-pro-2025-10-06', 'in-house-GPT-5-pro'])
      expect(await refused(name)).toMatchObject({ status: 422, calls: 0 });
    const thrift = { metadata: { thrift: 'yes' } };
    expect(await refused('in-house-gpt-4.1-2025-04-14', thrift)).toMatchObject({ status: 422, calls: 0 });
    expect(await served('in-house-own-2025-10-06', thrift)).toEqual(['in-house-own-2025-10-06', 'own-2025-10-06']);
    for (const name of ['in-house-o3-pro', 'in-house-o3-pro-2025-06-10', 'in-house-O3-pro'])
      expect(await refused(name)).toMatchObject({ status: 402, calls: 0 });
  });

  test('if the requested version of a model has public figures, that version is served', async () => {
    expect(await served('in-house-GPT-4o-2024-08-06')).toEqual(['in-house-gpt-4o-2024-08-06', 'gpt-4o-2024-08-06']);
    expect(await served('in-house-gpt-4o-2024-11-19')).toEqual(['in-house-gpt-4o', 'gpt-4o']);
  });

  test('a version that the public table no longer has is not served as another version, however it is written', async () => {
    for (const name of ['gpt-4o-2024-05-13', 'GPT-4o-2024-05-13'])
      expect(await served(`in-house-${name}`)).toEqual([`in-house-${name}`, name]);
  });

  test('a model without a public price has the operator’s price, or is refused', async () => {
    const { platform, usage } = await answerOf(await chat('local/anything-7b'));
    expect(platform.routed_model).toBe('local/anything-7b');
    const { prompt_tokens: input, completion_tokens: output } = usage;
    expect(platform.credits_consumed).toBeCloseTo((5 * input + 25 * output) / 1000, 9);
    const unknown = await refused('openai/gpt-99');
    expect(unknown).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    expect(unknown.message).toContain('`openai/gpt-99` is not served, because its price is not known');
  });

  test('the error about a mistyped name suggests similar names, the maker’s before a reseller’s', async () => {
    const mistyped = await refused('gpt-4o-minii');
    expect(mistyped).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    expect(mistyped.message).toContain('Did you mean `openai/gpt-4o-mini`?');
    expect((await refused('openai/gpt-4o-minii')).message).toContain('state the price in the policy under `models`');
  });

  test('a model whose name has a part that changes the bill needs a price of its own', async () => {
    for (const name of [
      'local/a:online',
      'local/@preset/mine',
      'local/openrouter/auto',
      'local/auto',
      'local/OpenRouter/Auto',
      'local/gpt-oss:120b-Cloud',
      'local/ft:gpt-4o:me::1',
      'openai/ft:gpt-4o:me::1',
    ]) {
      expect(await refused(name)).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    }
  });

  test('a digest or a second tag does not give a model of the policy the price of the wildcard', async () => {
    const digest = `@sha256:${'4bd'.repeat(20)}`;
    const servedAt = async (name: string) => [
      (await answerOf(await chat(name))).platform.routed_model,
      home.requests.at(-1)?.body.model,
    ];
    for (const name of ['home/qwen3:8b', `home/qwen3:8b${digest}`, `home/Qwen3:8B${digest}`, 'home/qwen3:8b:latest']) {
      expect(await servedAt(name)).toEqual(['big', 'qwen3:8b']);
    }
    // These models are in no list, so they need a price of their own.
    for (const name of ['home/qwen3:8b:q4', 'home/qwen3:q4:8b', `home/qwen3:4b${digest}`, `home/llama3${digest}`]) {
      expect(await refused(name)).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    }
    for (const name of ['qwen3:4b', 'registry:5000/qwen3:4b']) {
      expect(await servedAt(`home/${name}`)).toEqual([`home/${name}`, name]);
    }
  });

  test('the ID of an unlisted model cannot lead to another path', async () => {
    const long = `local/${'a'.repeat(123)}`;
    for (const name of [
      'local/../x',
      'local/a/./b',
      'local//a',
      'local/a%2Fb',
      'local/a b',
      'local/a?b',
      'local/',
      long,
    ]) {
      expect(await refused(name)).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    }
    expect(await served(long.slice(0, 128))).toEqual([long.slice(0, 128), long.slice(6, 128)]);
  });

  test('rules apply to an unlisted model; a rule that reads regions rejects it if its region is not stated', async () => {
    const inEu = { metadata: { region: 'eu' } };
    expect(await refused('gpt-4o-mini', inEu)).toMatchObject({ status: 422, calls: 0 });
    expect(await served('local/some-model', inEu)).toEqual(['local/some-model', 'some-model']);
    expect(await refused('local/some-preview')).toMatchObject({ status: 422, calls: 0 });
    expect(await refused('gpt-5.4-nano')).toMatchObject({ status: 422, calls: 0 });
  });

  test('an unlisted model counts in the budgets that match its ID, under every name', async () => {
    expect(await refused('gpt-4o')).toMatchObject({ status: 402, code: 'request_exceeds_budget', calls: 0 });
    expect(await refused('openai/gpt-4o')).toMatchObject({ status: 402, code: 'request_exceeds_budget', calls: 0 });
  });

  test('a key with a list of models may use an unlisted model only if the list names it or its wildcard', async () => {
    const keyOf = async (models: readonly string[]) => {
      const made = await box.post('/admin/keys', { name: 'listed', models });
      return ((await made.json()) as { key: string }).key;
    };
    const statusFor = async (key: string, model: string) =>
      (await box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] }, withKey(key)))
        .status;
    const [one, all, none] = [await keyOf(['openai/gpt-4o-mini']), await keyOf(['openai/*']), await keyOf(['luna'])];
    expect(await statusFor(one, 'gpt-4o-mini')).toBe(200);
    expect(await statusFor(one, 'openai/gpt-4.1-mini')).toBe(403);
    expect(await statusFor(all, 'openai/gpt-4.1-mini')).toBe(200);
    // The catalog's model does not belong to the wildcard.
    expect(await statusFor(all, 'openai/gpt-4.1')).toBe(403);
    expect(await statusFor(none, 'gpt-4o-mini')).toBe(403);
  });

  test('a selector never chooses an unlisted model', async () => {
    for (const selector of ['auto', 'auto-fast', 'auto-cheap']) {
      const [chosen] = await served(selector);
      expect(chosen === 'luna' || chosen === 'sol').toBe(true);
    }
  });

  test('the list of models has an unlisted model only if its figures are public', async () => {
    await served('local/seen-once');
    const { data } = (await (await box.get('/v1/models')).json()) as { data: { id: string }[] };
    const ids = data.map(({ id }) => id);
    expect(ids).toContain('openai/gpt-4o-mini');
    expect(ids).not.toContain('openai/gpt-4.1');
    expect(ids.filter((id) => id.startsWith('local/'))).toEqual([]);
  });

  test.each([
    { status: 404, error: { message: 'The model `NAME` does not exist', code: 'model_not_found' } },
    { status: 404, error: { message: 'model "NAME" not found, try pulling it first' } },
    { status: 404, error: { message: 'No endpoints found for NAME.', code: 404 } },
    { status: 400, error: { message: 'NAME is not a valid model ID', code: 400 } },
  ])(
    'if its provider does not know an unlisted model, the caller gets a 404 ($status $error.message), remembered for a minute',
    async ({ status, error }) => {
      const name = `unknown-${Bun.hash.crc32(error.message)}`;
      upstream.next({ status, error: { ...error, message: error.message.replace('NAME', name) } });
      expect(await refused(`local/${name}`)).toMatchObject({ status: 404, code: 'model_not_found', calls: 1 });
      expect(await refused(`local/${name}`)).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
      expect(await stateOfLocal()).toBe('healthy');
    },
  );

  test.each([
    { message: 'File not found: file_1', type: 'not_found_error' },
    { message: 'No endpoints found that support tool use. To learn more, visit https://openrouter.ai', code: 404 },
    { message: 'No endpoints found matching your data policy (Paid model training).', code: 404 },
    { message: 'The model `sound-1` does not exist', code: 'model_not_found', param: 'tools[0].model' },
    '',
    '404 page not found',
  ])('a 404 about the content of one request does not close the model to others: %j', async (error) => {
    for (let at = 0; at < 6; at++) {
      upstream.next({ status: 404, error });
      const { status, code, message, calls } = await refused('local/asked-badly');
      expect([status, code, calls]).toEqual([400, 'upstream_rejected_request', 1]);
      const words = typeof error === 'string' ? error || 'status 404' : error.message.split('.')[0];
      expect(message).toContain(`The model's provider refused the request: ${words}`);
    }
    expect(await stateOfLocal()).toBe('healthy');
    expect(await served('local/asked-badly')).toEqual(['local/asked-badly', 'asked-badly']);
  });

  test('a 404 that does not name the missing model is returned to the caller, but not remembered', async () => {
    upstream.next({ status: 400, error: { message: 'Model Not Exist' } });
    expect(await refused('local/nameless')).toMatchObject({ status: 404, code: 'model_not_found', calls: 1 });
    expect(await served('local/nameless')).toEqual(['local/nameless', 'nameless']);
  });

  test('a minute after its provider did not know a model, the provider is called again', async () => {
    upstream.next({ status: 404, error: { message: 'model "pulled-later" not found', code: 'model_not_found' } });
    expect(await refused('local/pulled-later')).toMatchObject({ status: 404, calls: 1 });
    ahead += 45_000;
    expect(await refused('local/pulled-later')).toMatchObject({ status: 404, calls: 0 });
    ahead += 15_000;
    expect(await served('local/pulled-later')).toEqual(['local/pulled-later', 'pulled-later']);
  });

  test('an unlisted model shares the circuit breaker and the metrics of its wildcard', async () => {
    await served('local/metered');
    const text = await (await box.get('/metrics')).text();
    expect(text).not.toContain('metered');
    expect(text).toContain('model="local/*"');
  });
});
