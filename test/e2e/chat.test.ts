import { describe, expect, test } from 'bun:test';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

interface Outcome {
  readonly status: string;
  readonly credits_consumed: number;
}

const first = useUpstream();
const second = useUpstream();

const box = useSignalbox(() => ({
  policy: testPolicy(
    { first: first.url, second: second.url },
    {
      best: { endpoints: ['first', 'second'], price: { input: 1, output: 4 }, quality: 0.9 },
      plain: { endpoints: ['second'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
      'reasons/slowly': {
        endpoints: ['first'],
        price: { input: 2, output: 8 },
        quality: 0.4,
        more: '    temperature: false\n    reasoning_tokens: 500\n',
      },
    },
    'baseline: best\n',
  ),
}));

const hello = [{ role: 'user', content: 'Say hello.' }];
const chat = (body: object) => box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body });

describe('a JSON completion', () => {
  test('a JSON completion is routed, carried out, metered and explained', async () => {
    first.next({ text: 'Hello!', usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
    const response = await chat({});
    expect(response.status).toBe(200);
    const body = await answerOf(response);
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'best',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          logprobs: null,
          message: { role: 'assistant', content: 'Hello!', refusal: null },
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
      platform: {
        routed_model: 'best',
        route_reason: 'auto:usual',
        // (10 × 1 + 20 × 4) USD per 1M tokens, at 0.001 USD for a Credit.
        credits_consumed: 0.09,
        cost_saved_credits: 0,
        estimated: false,
        dropped: [],
      },
    });
    expect(response.headers.get('x-signalbox-model')).toBe('best');
    expect(response.headers.get('x-signalbox-credits')).toBe('0.09');
    expect(response.headers.get('x-signalbox-decision-id')).toBe(body.platform.decision_id);
    expect(response.headers.get('x-request-id')).toStartWith('req_');
  });

  test('savings are computed against the baseline, for the tokens that were really used', async () => {
    second.next({ text: 'Hi', usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
    const { platform } = await answerOf(
      await chat({ model: 'auto-cheap', route_strategy: { cost_weight: 1, quality_weight: 0 } }),
    );
    expect(platform).toMatchObject({
      routed_model: 'plain',
      route_reason: 'auto-cheap:weighted',
      credits_consumed: 0.009,
      cost_saved_credits: 0.081,
    });
  });

  test('a request that names a model gets that model and saves nothing', async () => {
    const { model, platform } = await answerOf(await chat({ model: 'plain' }));
    expect(model).toBe('plain');
    expect(platform).toMatchObject({ route_reason: 'pinned', cost_saved_credits: 0 });
  });

  test('the decision can be read with its ID', async () => {
    const { platform } = await answerOf(await chat({ temperature: 0.5 }));
    const response = await box.get(`/v1/decisions/${platform.decision_id}`);
    expect(await response.json()).toMatchObject({
      kind: 'chat',
      choice: 'best',
      policy_revision: platform.policy_revision,
      facts: { model: 'auto', natural_language: 'en', estimated_input_tokens: 8 },
      replay: { matches: true },
      quality: { best: expect.any(Number), plain: expect.any(Number) },
      outcome: {
        status: 'completed',
        credits_consumed: platform.credits_consumed,
        attempts: [{ model: 'best', provider: 'first', failure: null }],
      },
    });
    expect((await box.get('/v1/decisions/dec_none')).status).toBe(404);
  });

  test('a decision shows the qualities that counted', async () => {
    const { platform } = await answerOf(await chat({ model: 'plain' }));
    const decision = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(decision).toMatchObject({ quality: { plain: 0.5 }, replay: { matches: true } });
  });
});

describe('the request that reaches the upstream', () => {
  test('the upstream gets its own model name, an output limit and the operator’s key, and nothing of the caller’s key', async () => {
    await chat({
      model: 'best',
      budget_limit: 5,
      temperature: 0.3,
      verbosity: 'low',
      invented_field: 1,
      max_tokens: 50,
    });
    const { body, headers } = first.requests.at(-1)!;
    expect(body).toMatchObject({ model: 'best-upstream', max_tokens: 50, temperature: 0.3, verbosity: 'low' });
    for (const field of ['budget_limit', 'route_strategy', 'constraints', 'agent_wallet', 'invented_field'])
      expect(body).not.toHaveProperty(field);
    expect(headers.get('authorization')).toBe(`Bearer ${UPSTREAM_KEY}`);
    expect(first.requests.at(-1)!.text).not.toContain(box.key);
  });

  test('a field that no list allows to pass is dropped and named', async () => {
    const { platform } = await answerOf(await chat({ model: 'best', invented_field: 1, another: 2 }));
    expect(platform.dropped).toEqual(['invented_field', 'another']);
  });

  test('a model that refuses a temperature is not sent one', async () => {
    const { platform } = await answerOf(await chat({ model: 'reasons/slowly', temperature: 0.3 }));
    expect(first.requests.at(-1)!.body).not.toHaveProperty('temperature');
    expect(platform.dropped).toEqual(['temperature']);
  });

  test('without `max_tokens` the upstream gets the model’s default output limit', async () => {
    await chat({ model: 'best' });
    expect(first.requests.at(-1)!.body).toMatchObject({ max_tokens: 1024 });
  });
});

describe('a stream', () => {
  test('a stream has one ID, a role first, one finish with `platform`, usage if requested, and an end', async () => {
    first.next({ text: ['He', 'llo'], usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
    const response = await chat({ stream: true, stream_options: { include_usage: true } });
    expect(response.headers.get('content-type')).toStartWith('text/event-stream');
    const { chunks, done } = await eventsOf(response);
    expect(done).toBe(true);
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
    expect(chunks.every((chunk) => Array.isArray(chunk.choices))).toBe(true);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: 'He' });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello');
    const finishes = chunks.filter((chunk) => chunk.choices[0] && 'finish_reason' in chunk.choices[0]);
    expect(finishes).toHaveLength(1);
    expect(finishes[0]).toMatchObject({
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      platform: { credits_consumed: 0.09 },
    });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
    });
  });

  test('a stream reports the same `platform` as JSON, field for field', async () => {
    first.behave({ text: 'Same', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } });
    const json = (await answerOf(await chat({}))).platform;
    const { chunks } = await eventsOf(await chat({ stream: true }));
    first.behave({});
    const streamed = chunks.at(-1)!.platform;
    // The two answers belong to different requests, so these fields differ.
    const attempt = {
      model: 'best',
      provider: 'first',
      ms: 0,
      failure: null,
      request_id: 'req_fake',
      finish_reasons: ['stop'],
    };
    const alike = { decision_id: '', attempts: [attempt] };
    expect(streamed.attempts).toEqual([{ ...attempt, ms: expect.any(Number) }]);
    expect({ ...streamed, ...alike }).toEqual({ ...json, ...alike });
    expect(Object.keys(streamed)).toEqual(Object.keys(json));
  });

  test('a stream that breaks after its first part ends with an error and its price, and without [DONE]', async () => {
    first.next({ text: ['one ', 'two ', 'three'], cutAfter: 2 });
    const { chunks, done } = await eventsOf(await chat({ stream: true }));
    const last = chunks.at(-1)!;
    expect(last).toMatchObject({
      error: { code: 'upstream_failed', type: 'upstream_error' },
      platform: { routed_model: 'best', estimated: true },
    });
    expect(last.platform.credits_consumed).toBeGreaterThan(0);
    expect(done).toBe(false);
  });
});

describe('failover', () => {
  test('failover goes to the next endpoint of the same model first', async () => {
    first.next({ status: 500 });
    const before = second.requests.length;
    const { platform } = await answerOf(await chat({}));
    expect(platform).toMatchObject({ routed_model: 'best', route_reason: 'auto:usual' });
    expect(second.requests.length).toBe(before + 1);
    expect(second.requests.at(-1)!.body).toMatchObject({ model: 'best-upstream' });
  });

  test('failover goes to the next model after the endpoints, and the answer says so; the caller of a stream does not notice', async () => {
    for (const stream of [false, true]) {
      first.next({ status: 503 });
      second.next({ status: 500 });
      const response = await chat({ stream });
      expect(response.status).toBe(200);
      const body = stream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
      expect(body.platform).toMatchObject({ routed_model: 'plain', route_reason: 'auto:usual:fallback' });
      expect(body.model).toBe('plain');
    }
  });
});

describe('tokens and money', () => {
  test('Signalbox counts usage that the upstream does not report, and marks it as an estimate', async () => {
    first.next({ text: 'four words are here', usage: 'missing' });
    const { usage, platform } = await answerOf(await chat({}));
    expect(platform.estimated).toBe(true);
    expect(usage.completion_tokens).toBeGreaterThan(2);
    expect(platform.credits_consumed).toBeGreaterThan(0);
  });

  test('budget_limit limits the output that the upstream is sent, and the charge, whatever the upstream bills', async () => {
    first.next({
      text: 'dear',
      usage: { prompt_tokens: 900_000, completion_tokens: 900_000, total_tokens: 1_800_000 },
    });
    const { platform } = await answerOf(await chat({ model: 'best', budget_limit: 0.5 }));
    const { max_tokens: cap } = first.requests.at(-1)!.body as { max_tokens: number };
    expect(cap).toBeLessThan(125);
    expect(cap).toBeGreaterThan(64);
    expect(platform.credits_consumed).toBeLessThanOrEqual(0.5);
  });

  test('a budget_limit that is too low for any answer is refused with the lowest useful amount, before anything is sent', async () => {
    const before = first.requests.length + second.requests.length;
    const response = await chat({ model: 'best', budget_limit: 0.01 });
    expect(response.status).toBe(400);
    const { error } = await answerOf(response);
    expect(error).toMatchObject({ code: 'budget_limit_too_low', param: 'budget_limit' });
    expect(first.requests.length + second.requests.length).toBe(before);
    expect((await chat({ model: 'best', budget_limit: error.details.least_credits })).status).toBe(200);
  });

  test('a caller that disconnects aborts the upstream call, and pays for the output so far', async () => {
    const controller = new AbortController();
    first.next({ text: ['a ', 'b ', 'c '], hang: 3 });
    const before = first.aborted;
    const response = await box.post(
      '/v1/chat/completions',
      { model: 'best', stream: true, messages: hello },
      { signal: controller.signal },
    );
    const id = response.headers.get('x-signalbox-decision-id');
    await response.body!.getReader().read();
    controller.abort();
    await waitFor(() => first.aborted > before);
    const record = await waitFor(async () => {
      const found = await box.get(`/v1/decisions/${id}`);
      const { outcome } = (await found.json()) as { outcome: Outcome | null };
      return outcome && { outcome };
    });
    expect(record.outcome).toMatchObject({ status: 'abandoned', estimated: true });
    expect(record.outcome.credits_consumed).toBeGreaterThan(0);
  });
});
