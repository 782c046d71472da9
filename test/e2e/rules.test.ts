import { beforeAll, describe, expect, test } from 'bun:test';
import { adviceOf, answerOf } from '../support/answers.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Constraints, preferences and selector filters, as an operator writes them and a caller sees their effects. */
const policy = (us: string, eu: string) => `version: 1
credits: { usd_per_credit: 0.001 }
gateway: { time_zone: Europe/Berlin, retries_max: 0 }
providers:
  us: { adapter: openai-compatible, base_url: "${us}", api_key_env: TEST_UPSTREAM_KEY }
  eu: { adapter: openai-compatible, base_url: "${eu}", api_key_env: TEST_UPSTREAM_KEY }
models:
  both:
    endpoints: [{ provider: us, regions: [us] }, { provider: eu, regions: [eu], price: { input: 2, output: 8, as_of: 2026-11-01, basis: own } }]
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 4096
    latency: { ttft_ms: 100, output_tokens_per_second: 100 }
    quality: { default: 0.8 }
  only-us:
    endpoints: [{ provider: us, regions: [us] }]
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 4096
    tags: [fast]
    latency: { ttft_ms: 50, output_tokens_per_second: 1000 }
    quality: { default: 0.82 }
  private:
    endpoints: [{ provider: eu, regions: [eu] }]
    price: { input: 0, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 4096
    tags: [private]
    latency: { ttft_ms: 100, output_tokens_per_second: 40 }
    quality: { default: 0.5 }
selectors:
  auto-private: { strategy: auto, models: { require: '"private" in model.tags' } }
constraints:
  - name: legal-stays-in-the-eu
    when: key.labels.department == "legal"
    require: '"eu" in endpoint.regions'
  - name: answers-quickly
    when: request.metadata.interactive == "true"
    max_latency_ms: 1000
  - name: not-dear
    when: request.metadata.thrift == "true"
    max_cost_credits: 2.5
  - name: impossible
    when: request.user == "nobody"
    require: model.price.output > 1000.0
preferences:
  - name: private-for-those-who-ask
    when: request.metadata["taste"] == "private"
    prefer: '"private" in model.tags'
    worth: 0.5
`;

// Answers that are cut teach nothing about the usual length, so the expected length stays the declared one.
const [us, eu] = [useUpstream({ behaviour: { finish: 'length' } }), useUpstream({ behaviour: { finish: 'length' } })];
const box = useSignalbox(() => ({ policy: policy(us.url, eu.url) }));
let legal: string;
beforeAll(async () => {
  legal = await box.makeKey('--name', 'legal', '--label', 'department=legal');
});

const chat = (body: object = {}, key = box.key) =>
  box.post(
    '/v1/chat/completions',
    { model: 'auto', messages: [{ role: 'user', content: 'Why is the sky blue?' }], ...body },
    { headers: { authorization: `Bearer ${key}` } },
  );
const routedTo = async (body: object = {}, key = box.key) => (await answerOf(await chat(body, key))).platform;

describe('a constraint', () => {
  test('a constraint does not affect requests that its condition does not match', async () => {
    expect((await routedTo()).routed_model).toBe('only-us');
  });

  test('a constraint sends a key’s requests only to endpoints that it allows, at their own price', async () => {
    const before = us.requests.length;
    eu.next({ text: 'x', usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } });
    const platform = await routedTo({}, legal);
    expect(platform).toMatchObject({ routed_model: 'both', credits_consumed: 0.1 });
    expect(us.requests.length).toBe(before);
  });

  test('a constraint that rejects a named model is named in the error', async () => {
    const response = await chat({ model: 'only-us' }, legal);
    expect(response.status).toBe(422);
    const { error } = await answerOf(response);
    expect(error.message).toContain('legal-stays-in-the-eu');
    expect(error.details.rejected).toEqual([
      { model: 'only-us', reasons: ['the policy rejects it: legal-stays-in-the-eu'] },
    ]);
  });

  test('a constraint can be an upper limit on cost or time', async () => {
    expect((await routedTo({ metadata: { interactive: 'true' } })).routed_model).toBe('only-us');
    const response = await chat({ metadata: { interactive: 'true' } }, legal);
    expect(response.status).toBe(422);
    expect(JSON.stringify((await answerOf(response)).error.details)).toContain('answers-quickly');
  });

  test('a limit on cost is checked for the endpoint that the other constraints allow, and the error names it', async () => {
    const thrift = { metadata: { thrift: 'true' }, model: 'both' };
    // 400 tokens of output at 4 USD per 1M tokens are 1.6 Credits in the US, and 3.2 in the EU.
    expect((await chat(thrift)).status).toBe(200);
    const { error } = await answerOf(await chat(thrift, legal));
    expect(error.message).toBe('`both` cannot serve this request: the policy rejects it: not-dear.');
  });

  test('a constraint applies to a route query in the same way', async () => {
    const asked = await box.post(
      '/v1/route',
      { metadata: { interactive: 'true' } },
      { headers: { authorization: `Bearer ${legal}` } },
    );
    expect(asked.status).toBe(422);
    const query = { messages: [{ role: 'user', content: 'Why is the sky blue?' }] };
    const advice = await adviceOf(
      await box.post('/v1/route', query, { headers: { authorization: `Bearer ${legal}` } }),
    );
    expect([advice.recommended_model, ...advice.alternatives.map(({ model }) => model)]).toEqual(['both', 'private']);
  });

  test('a constraint that rejects every model is named for each of them', async () => {
    const { error } = await answerOf(await chat({ user: 'nobody' }));
    expect(error.code).toBe('no_eligible_model');
    expect(error.message).toBe(
      'No model can serve this request. The reason is the same for each model: the policy rejects it: impossible.',
    );
  });
});

describe('a preference', () => {
  test('a preference changes the choice by its worth, for the requests that it matches', async () => {
    expect((await routedTo({ metadata: { taste: 'private' } })).routed_model).toBe('private');
    expect((await routedTo({ metadata: { taste: 'other' } })).routed_model).toBe('only-us');
  });
});

describe('a selector that the operator defines', () => {
  test('a selector chooses within its filter, and is listed', async () => {
    expect(await routedTo({ model: 'auto-private' })).toMatchObject({
      routed_model: 'private',
      route_reason: 'auto-private:usual',
    });
    const { data } = (await (await box.get('/v1/models')).json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toContain('auto-private');
  });

  test('a selector keeps its filter with route_strategy', async () => {
    const platform = await routedTo({ model: 'auto-private', route_strategy: { quality_weight: 1, cost_weight: 0 } });
    expect(platform).toMatchObject({ routed_model: 'private', route_reason: 'auto-private:weighted' });
  });
});
