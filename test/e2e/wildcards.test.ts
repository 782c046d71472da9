import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, answerOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

let upstream: FakeUpstream;
let box: Signalbox;
/** Milliseconds that the gateway's clock is ahead. */
let ahead = 0;

const MORE = `
budgets: [{ name: cheap, match: 'request.model == "openai/gpt-4o"', limit_credits: 0, window: day }]
constraints:
  - { name: in-eu, when: 'request.metadata.region == "eu"', require: '!("us" in endpoint.regions)' }
  - { name: no-preview, require: '!model.id.contains("preview")' }
  - { name: no-turbo, require: '!model.id.endsWith("gpt-4-turbo")' }
gateway: { retries_max: 2 }
`;

beforeAll(async () => {
  upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const listed = testPolicy({ local: upstream.url }, { luna: { endpoints: ['local'] } }, MORE);
  const policy = listed
    .replace(
      'providers:\n',
      `providers:\n  openai: { preset: openai, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }\n`,
    )
    .replace(
      'models:\n',
      `models:
  "local/*": { provider: local, regions: [eu], unknown_price: { as: { input: 5, output: 25, basis: own, as_of: 2026-11-01 } } }
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
});

const chat = (model: string, more: object = {}) =>
  box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50, ...more });

/** The model that a chat was served as, and the provider's name that it was asked by. */
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

describe('a model that the policy does not list', () => {
  test('is served by its bare name and behind its provider’s, at its public price', async () => {
    expect(await served('gpt-4o-mini')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini']);
    expect(await served('openai/gpt-4o-mini')).toEqual(['openai/gpt-4o-mini', 'gpt-4o-mini']);
    const { platform, usage } = await answerOf(await chat('gpt-4o-mini'));
    // 0.15 and 0.60 USD per 1M tokens, at 0.001 USD per Credit.
    const { prompt_tokens: input, completion_tokens: output } = usage;
    expect(platform.credits_consumed).toBeCloseTo((0.15 * input + 0.6 * output) / 1000, 9);
  });

  test('is explained by its decision, which is repeated bit for bit', async () => {
    const { platform } = await answerOf(await chat('gpt-4o-mini'));
    const found = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(found).toMatchObject({
      facts: { model: 'openai/gpt-4o-mini', alias: 'gpt-4o-mini', pinned: true },
      choice: 'openai/gpt-4o-mini',
      replay: { matches: true },
    });
  });

  test('is that of the catalog where the catalog serves it, under whatever name', async () => {
    for (const name of ['openai/gpt-4.1', 'gpt-4.1', 'openai/gpt-4.1-2025-04-14', 'openai/GPT-4.1', 'openai/sol']) {
      expect(await served(name)).toEqual(['sol', 'gpt-4.1-2025-04-14']);
    }
  });

  test('has the operator’s price where none is known, or is refused', async () => {
    const { platform, usage } = await answerOf(await chat('local/anything-7b'));
    expect(platform.routed_model).toBe('local/anything-7b');
    const { prompt_tokens: input, completion_tokens: output } = usage;
    expect(platform.credits_consumed).toBeCloseTo((5 * input + 25 * output) / 1000, 9);
    const unknown = await refused('openai/gpt-99');
    expect(unknown).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    expect(unknown.message).toContain('The price of `openai/gpt-99` is not known');
  });

  test('is among the nearest names of a mistyped one, its maker’s before a reseller’s', async () => {
    const mistyped = await refused('gpt-4o-minii');
    expect(mistyped).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    expect(mistyped.message).toContain('Did you mean `openai/gpt-4o-mini`?');
    expect((await refused('openai/gpt-4o-minii')).message).toContain('A policy states it in `models`');
  });

  test('needs a price of its own where a part of its name changes the bill', async () => {
    for (const name of [
      'local/a:online',
      'local/@preset/mine',
      'local/openrouter/auto',
      'local/auto',
      'openai/ft:gpt-4o:me::1',
    ]) {
      expect(await refused(name)).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    }
  });

  test('has an ID that leads nowhere else', async () => {
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

  test('is judged by the rules; a region that is not stated fails a rule that reads regions', async () => {
    const inEu = { metadata: { region: 'eu' } };
    expect(await refused('gpt-4o-mini', inEu)).toMatchObject({ status: 422, calls: 0 });
    expect(await served('local/some-model', inEu)).toEqual(['local/some-model', 'some-model']);
    expect(await refused('local/some-preview')).toMatchObject({ status: 422, calls: 0 });
    expect(await refused('gpt-4-turbo')).toMatchObject({ status: 422, calls: 0 });
  });

  test('counts in the budgets that match its ID, by every name', async () => {
    expect(await refused('gpt-4o')).toMatchObject({ status: 402, code: 'request_exceeds_budget', calls: 0 });
    expect(await refused('openai/gpt-4o')).toMatchObject({ status: 402, code: 'request_exceeds_budget', calls: 0 });
  });

  test('is reached by a key with a list only if the list names it or its wildcard', async () => {
    const keyOf = async (models: readonly string[]) => {
      const made = await box.post('/admin/keys', { name: 'listed', models });
      return ((await made.json()) as { key: string }).key;
    };
    const statusFor = async (key: string, model: string) =>
      (await box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] }, withKey(key)))
        .status;
    const [one, all, none] = [await keyOf(['openai/gpt-4o-mini']), await keyOf(['openai/*']), await keyOf(['luna'])];
    expect(await statusFor(one, 'gpt-4o-mini')).toBe(200);
    expect(await statusFor(one, 'openai/gpt-4.1-nano')).toBe(403);
    expect(await statusFor(all, 'openai/gpt-4.1-nano')).toBe(200);
    // The catalog's model is not the wildcard's.
    expect(await statusFor(all, 'openai/gpt-4.1')).toBe(403);
    expect(await statusFor(none, 'gpt-4o-mini')).toBe(403);
  });

  test('is never chosen by a selector', async () => {
    for (const selector of ['auto', 'auto-fast', 'auto-cheap']) {
      const [chosen] = await served(selector);
      expect(chosen === 'luna' || chosen === 'sol').toBe(true);
    }
  });

  test('is in the list of models where its figures are public, and no other', async () => {
    await served('local/seen-once');
    const { data } = (await (await box.get('/v1/models')).json()) as { data: { id: string }[] };
    const ids = data.map(({ id }) => id);
    expect(ids).toContain('openai/gpt-4o-mini');
    expect(ids).not.toContain('openai/gpt-4.1');
    expect(ids.filter((id) => id.startsWith('local/'))).toEqual([]);
  });

  test.each([
    { status: 404, error: { message: 'The model `x` does not exist', code: 'model_not_found' } },
    { status: 400, error: { message: 'x/y is not a valid model ID', code: 400 } },
  ])('is the caller’s 404 where its service does not know it ($status), remembered for a minute', async (failure) => {
    const name = `local/unknown-${failure.status}`;
    upstream.next(failure);
    expect(await refused(name)).toMatchObject({ status: 404, code: 'model_not_found', calls: 1 });
    expect(await refused(name)).toMatchObject({ status: 404, code: 'model_not_found', calls: 0 });
    const { data } = (await (await box.get('/admin/endpoints')).json()) as {
      data: { model: string; state: string }[];
    };
    expect(data.find(({ model }) => model === 'local/*')).toMatchObject({ state: 'healthy' });
  });

  test('is asked again a minute after its service did not know it', async () => {
    upstream.next({ status: 404, error: { code: 'model_not_found' } });
    expect(await refused('local/pulled-later')).toMatchObject({ status: 404, calls: 1 });
    ahead += 45_000;
    expect(await refused('local/pulled-later')).toMatchObject({ status: 404, calls: 0 });
    ahead += 15_000;
    expect(await served('local/pulled-later')).toEqual(['local/pulled-later', 'pulled-later']);
  });

  test('shares breaker and metrics with all of its wildcard', async () => {
    await served('local/metered');
    const text = await (await box.get('/metrics')).text();
    expect(text).not.toContain('metered');
    expect(text).toContain('model="local/*"');
  });
});
