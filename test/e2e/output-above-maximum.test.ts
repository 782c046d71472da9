import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../plugins/providers/json.ts';
import { tries } from '../deep/effort.ts';
import { adviceOf, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Requests whose `max_tokens` is above the `max_output` of a model, as agents send them. */
const one = useUpstream();
const two = useUpstream();
const claude = useUpstream({ dialect: 'anthropic' });
const upstreams = [one, two, claude];

const MAX = { small: 2_048, large: 16_384, claude: 8_192, responds: 4_096, thinks: 1_000, narrow: 3_000 } as const;

interface PolicyOptions {
  readonly version?: 1 | 2;
  /** Keys of the section `gateway`. */
  readonly gateway?: string;
  readonly more?: string;
}

/** `auto` chooses `small`, and falls back to `large`. The others are for requests that name them. */
function policyOf({ version = 2, gateway = 'retries_max: 0', more = '' }: PolicyOptions = {}): string {
  const model = (id: keyof typeof MAX, provider: string, quality: number, window = 200_000) => `  ${id}:
    endpoints: [{ provider: ${provider}, upstream: ${id}-upstream }]
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: ${window}
    max_output: ${MAX[id]}
    default_max_output: ${Math.min(1_024, MAX[id])}
    capabilities: [tools, json_schema]
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: ${quality}, basis: guessed }
`;
  return `version: ${version}
credits: { usd_per_credit: 0.001 }
gateway: { ${gateway} }
providers:
  one: { adapter: openai-compatible, base_url: "${one.url}", api_key_env: TEST_UPSTREAM_KEY }
  two: { adapter: openai-compatible, base_url: "${two.url}", api_key_env: TEST_UPSTREAM_KEY }
  claude: { adapter: anthropic, base_url: "${claude.url}", api_key_env: TEST_UPSTREAM_KEY }
  responds: { adapter: openai, base_url: "${one.url}", api_key_env: TEST_UPSTREAM_KEY }
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
  "house/*": { provider: one, upstream: "*", max_output: 1000, context_window: 9000, unknown_price: { as: { input: 1, output: 4, basis: own, as_of: 2026-11-01 } } }
${model('small', 'one', 0.9)}${model('large', 'two', 0.5)}${model('claude', 'claude', 0.1)}${model('responds', 'responds', 0.1)}${model('narrow', 'one', 0.1, 4_096)}${model('thinks', 'one', 0.1)}    reasoning_tokens: 300
selectors:
  auto: { strategy: auto, models: { require: 'model.id in ["small", "large"]' } }
  thinkers: { strategy: auto, models: { require: 'model.id == "thinks"' } }
${more}`;
}

const hi = [{ role: 'user', content: 'hi' }];
/** What Claude Code and opencode send. */
const ASKED = 32_000;

const chat = (box: Signalbox, body: object = {}, init: RequestInit = {}) =>
  box.post('/v1/chat/completions', { model: 'small', messages: hi, max_tokens: ASKED, ...body }, init);
const sent = (upstream = one): Json => upstream.requests.at(-1)!.body as Json;

beforeEach(() => {
  for (const upstream of upstreams) upstream.behave({ text: 'Hello.' });
});

describe('with `version: 2`, a request for more output than a model can return', () => {
  const box = useSignalbox(() => ({
    policy: policyOf({
      more: `budgets:
  - { name: purse, each: key, match: 'key.labels.purse == "yes"', limit_credits: 3, window: total }
constraints:
  - { name: long, when: 'request.max_tokens == 31000.0', require: 'model.id == "large"' }
`,
    }),
  }));

  test.each([false, true])('is answered with its output capped there, streamed: %p', async (stream) => {
    const response = await chat(box, { stream });
    const { platform } = stream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
    expect(platform).toMatchObject({ routed_model: 'small', output_capped_by: 'model' });
    expect(sent().max_tokens).toBe(MAX.small);
  });

  test('is decided alike by `auto`', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'auto' }));
    expect(platform).toMatchObject({ routed_model: 'small', output_capped_by: 'model' });
    expect(sent().max_tokens).toBe(MAX.small);
  });

  test('is no cap where the request is within the maximum, or states none', async () => {
    for (const max_tokens of [MAX.small, 100, undefined]) {
      const { platform } = await answerOf(await chat(box, { max_tokens }));
      expect(platform).not.toHaveProperty('output_capped_by');
      expect(sent().max_tokens).toBe(max_tokens ?? 1_024);
    }
  });

  test('gets the maximum of each model that is tried', async () => {
    one.next({ status: 500 });
    const { platform } = await answerOf(await chat(box, { model: 'auto' }));
    expect(platform.attempts.map(({ model, failure }) => [model, failure])).toEqual([
      ['small', 'server'],
      ['large', null],
    ]);
    expect(platform.output_capped_by).toBe('model');
    expect([sent(one).max_tokens, sent(two).max_tokens]).toEqual([MAX.small, MAX.large]);
    one.next({ status: 500 });
    const whole = await answerOf(await chat(box, { model: 'auto', max_tokens: 9_000 }));
    expect(whole.platform).not.toHaveProperty('output_capped_by');
    expect([sent(one).max_tokens, sent(two).max_tokens]).toEqual([MAX.small, 9_000]);
  });

  test.each([ASKED - 1, MAX.claude - 1])(
    'is capped in Messages, and a budget of thinking of %p leaves half for the answer',
    async (budget_tokens) => {
      const thinking = { type: 'enabled', budget_tokens };
      const response = await box.post('/v1/messages', { model: 'claude', messages: hi, max_tokens: ASKED, thinking });
      expect(((await response.json()) as { platform: object }).platform).toMatchObject({ output_capped_by: 'model' });
      expect(sent(claude)).toMatchObject({
        max_tokens: MAX.claude,
        thinking: { type: 'enabled', budget_tokens: MAX.claude / 2 },
      });
    },
  );

  test('is capped on a model of a wildcard', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'house/any' }));
    expect(platform).toMatchObject({ routed_model: 'house/any', output_capped_by: 'model' });
    expect(sent().max_tokens).toBe(1_000);
  });

  test('keeps a budget of thinking that is at most half of the cap', async () => {
    const thinking = { type: 'enabled', budget_tokens: 4_000 };
    await box.post('/v1/messages', { model: 'claude', messages: hi, max_tokens: ASKED, thinking });
    expect(sent(claude)).toMatchObject({ max_tokens: MAX.claude, thinking });
  });

  test.each([
    ['small', 'max_tokens', MAX.small],
    ['responds', 'max_output_tokens', MAX.responds],
  ] as const)('is capped in Responses, on `%s`', async (model, field, most) => {
    const response = await box.post('/v1/responses', { model, input: 'hi', max_output_tokens: ASKED });
    expect(((await response.json()) as { platform: object }).platform).toMatchObject({ output_capped_by: 'model' });
    expect(sent()[field]).toBe(most);
  });

  test('shows each candidate’s cap in `/v1/route`, and holds no more than the capped answer can cost', async () => {
    const advice = await adviceOf(await box.post('/v1/route', { model: 'auto', messages: hi, max_tokens: ASKED }));
    expect(advice).toMatchObject({
      recommended_model: 'small',
      max_output_tokens: MAX.small,
      output_capped_by: 'model',
      alternatives: [{ model: 'large', max_output_tokens: MAX.large, output_capped_by: 'model' }],
    });
    expect(advice.reasoning).toContain(`${MAX.small} tokens`);
    // 34 is the bound on the tokens of the prompt.
    expect(advice.max_cost_credits).toBe((34 + 4 * MAX.small) / 1_000);
    const within = await adviceOf(await box.post('/v1/route', { model: 'auto', messages: hi, max_tokens: 9_000 }));
    expect(within.alternatives[0]).toMatchObject({ max_output_tokens: 9_000 });
    expect(within.alternatives[0]).not.toHaveProperty('output_capped_by');
  });

  test('names the fund that pays for less than the model’s maximum, and the model where the fund pays for more', async () => {
    const key = await box.makeKey('--label', 'purse=yes');
    const { platform } = await answerOf(await chat(box, {}, withKey(key)));
    expect(platform.output_capped_by).toBe('purse');
    expect(sent().max_tokens).toBeLessThan(MAX.small);
    const rich = await box.makeKey('--budget', '1000/month');
    expect((await answerOf(await chat(box, {}, withKey(rich)))).platform.output_capped_by).toBe('model');
    expect(sent().max_tokens).toBe(MAX.small);
  });

  test('names neither where `budget_limit` pays for less', async () => {
    const { platform } = await answerOf(await chat(box, { budget_limit: 2 }));
    expect(platform).not.toHaveProperty('output_capped_by');
    expect(sent().max_tokens).toBe((2_000 - 34) / 4 - 0.5);
  });

  test('is seen by rules as the caller sent it', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'auto', max_tokens: 31_000 }));
    expect(platform.routed_model).toBe('large');
    const { message } = await expectError(await chat(box, { max_tokens: 31_000 }), 'no_eligible_model');
    expect(message).toContain('long');
  });

  test.each([null, 500])(
    'is recorded, logged, counted and replayed as it was decided, least output: %p',
    async (least) => {
      const counted = async () => {
        const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
        return total(page, 'signalbox_chats_capped_total', { fund: 'model', end: 'within' }) ?? 0;
      };
      const before = await counted();
      const constraints = { min_output_tokens: least };
      const { platform } = await answerOf(await chat(box, { model: 'auto', constraints }));
      const found = await waitFor(async () => {
        const response = await box.get(`/v1/decisions/${platform.decision_id}`);
        return response.status === 200 ? ((await response.json()) as Json) : null;
      });
      expect(found).toMatchObject({
        facts: { max_tokens: ASKED, min_output_tokens: least },
        replay: { matches: true },
        candidates: expect.arrayContaining([
          expect.objectContaining({ model: 'small', max_output_tokens: MAX.small, output_capped_by: 'model' }),
          expect.objectContaining({ model: 'large', max_output_tokens: MAX.large, output_capped_by: 'model' }),
        ]),
        outcome: { output_capped_by: 'model' },
        receipt: { output_capped_by: 'model' },
      });
      await waitFor(async () => (await counted()) > before);
      const line = await waitFor(() =>
        box.lines.find((text) => text.includes('"message":"chat"') && text.includes(platform.decision_id)),
      );
      expect(JSON.parse(line)).toMatchObject({ output_capped_by: 'model' });
    },
  );

  test('gets a model that can return the expected answer from a selector, and the named model in any case', async () => {
    const long = [{ role: 'user', content: 'Write an essay of 3,000 words on trains.' }];
    const { platform } = await answerOf(await chat(box, { model: 'auto', messages: long }));
    expect(platform.routed_model).toBe('large');
    for (const max_tokens of [ASKED, MAX.small + 1, MAX.small]) {
      const named = await answerOf(await chat(box, { messages: long, max_tokens }));
      expect(named.platform.routed_model).toBe('small');
      expect(sent().max_tokens).toBe(MAX.small);
    }
  });

  test('is refused where no model can return the expected answer, with the value that would be served', async () => {
    const longer = [{ role: 'user', content: 'Write an essay of 20,000 words on trains.' }];
    const { message } = await expectError(await chat(box, { model: 'auto', messages: longer }), 'no_eligible_model');
    expect(message).toContain(`max_tokens ${ASKED} → ${MAX.large} admits \`large\``);
    for (const [model, most] of [
      ['auto', MAX.large],
      ['large', MAX.large],
      ['small', MAX.small],
    ] as const) {
      const stated = { model, messages: hi, max_tokens: ASKED, estimated_output_tokens: 20_000 };
      const refusal = await expectError(await box.post('/v1/route', stated), 'no_eligible_model');
      expect(refusal.message).toContain(`estimated_output_tokens 20000 → ${most} admits`);
    }
  });

  test('is answered by a named model that has less room than its reasoning, which a selector leaves out', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'thinks' }));
    expect(platform).toMatchObject({ routed_model: 'thinks', output_capped_by: 'model' });
    expect(sent().max_tokens).toBe(MAX.thinks);
    const { details } = await expectError(await chat(box, { model: 'thinkers' }), 'no_eligible_model');
    expect(details).toMatchObject({
      rejected: expect.arrayContaining([
        {
          model: 'thinks',
          reasons: [`it needs 1024 tokens to reason and answer, above its maximum of ${MAX.thinks}`],
        },
      ]),
    });
  });

  test('does not name the model where its window leaves less than its maximum', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(1_500) }];
    for (const max_tokens of [MAX.narrow, MAX.narrow + 1]) {
      const asked = { model: 'narrow', messages, max_tokens };
      const advice = await adviceOf(await box.post('/v1/route', asked));
      expect(advice.max_output_tokens).toBeLessThan(MAX.narrow);
      expect(advice).not.toHaveProperty('output_capped_by');
      expect((await answerOf(await chat(box, asked))).platform).not.toHaveProperty('output_capped_by');
    }
  });

  describe('`constraints.min_output_tokens`', () => {
    const least = (min_output_tokens: unknown) => ({ constraints: { min_output_tokens } });

    test('leaves out models that cannot return so much, in each dialect', async () => {
      const more = { model: 'auto', ...least(MAX.small + 1) };
      expect((await answerOf(await chat(box, more))).platform.routed_model).toBe('large');
      const inMessages = await box.post('/v1/messages', { ...more, messages: hi, max_tokens: ASKED });
      expect(((await inMessages.json()) as { model: string }).model).toBe('large');
      const inResponses = await box.post('/v1/responses', { ...more, input: 'hi', max_output_tokens: ASKED });
      expect(((await inResponses.json()) as { model: string }).model).toBe('large');
      const advice = await adviceOf(await box.post('/v1/route', { task_type: 'general', ...least(MAX.small + 1) }));
      expect(advice.recommended_model).toBe('large');
      expect(advice.alternatives).toEqual([]);
    });

    test('raises the cap of a request without `max_tokens`', async () => {
      const { platform } = await answerOf(await chat(box, { max_tokens: undefined, ...least(2_000) }));
      expect(platform).not.toHaveProperty('output_capped_by');
      expect(sent().max_tokens).toBe(2_000);
    });

    test('holds against budgets, which refuse rather than cap below it', async () => {
      const key = await box.makeKey('--label', 'purse=yes');
      await expectError(await chat(box, least(1_000), withKey(key)), 'request_exceeds_budget');
      const { message } = await expectError(
        await chat(box, { ...least(1_000), budget_limit: 2 }),
        'budget_limit_too_low',
        'budget_limit',
      );
      expect(message).toContain(`${(34 + 4_000) / 1_000} Credits`);
    });

    test('above every maximum is refused, with the value that would be served', async () => {
      const { message } = await expectError(await chat(box, least(3_000)), 'no_eligible_model');
      expect(message).toContain(`min_output_tokens 3000 → ${MAX.small} admits \`small\``);
    });

    test('that does not fit into the window with the prompt is named, with the value that would be served', async () => {
      const asked = (most: number) => ({ model: 'narrow', estimated_input_tokens: 2_000, ...least(most) });
      const refusal = await box.post('/v1/route', asked(2_500));
      const { message } = await expectError(refusal, 'context_length_exceeded', 'constraints.min_output_tokens');
      expect(message).toContain('`min_output_tokens` is 2500');
      expect(message).toContain('Set `min_output_tokens` to 2096 or less.');
      expect((await box.post('/v1/route', asked(2_096))).status).toBe(200);
      const long = { ...asked(2_500), estimated_input_tokens: 4_095 };
      const { message: other } = await expectError(
        await box.post('/v1/route', long),
        'context_length_exceeded',
        'estimated_input_tokens',
      );
      expect(other).not.toContain('min_output_tokens');
    });

    test.each([
      [0, 'out_of_range'],
      [-5, 'out_of_range'],
      [1.5, 'invalid_type'],
      ['many', 'invalid_type'],
      [ASKED + 1, 'out_of_range'],
    ] as const)('of %p is an error at its field', async (value, code) => {
      await expectError(await chat(box, least(value)), code, 'constraints.min_output_tokens');
    });

    test('is an error for embeddings, which write nothing', async () => {
      const response = await box.post('/v1/embeddings', { model: 'small', input: 'hi', ...least(5) });
      await expectError(response, 'unsupported_parameter', 'constraints.min_output_tokens');
    });

    test('of null counts as absent', async () => {
      expect((await chat(box, least(null))).status).toBe(200);
      const messages = { model: 'claude', messages: hi, max_tokens: 10, ...least(null) };
      expect((await box.post('/v1/messages', messages)).status).toBe(200);
    });
  });
});

describe('`refuse`, the default of `version: 1`', () => {
  const boxes: Signalbox[] = [];
  afterEach(() => Promise.all(boxes.splice(0).map((box) => box.stop())));
  const start = async (options: PolicyOptions) => {
    const box = await startSignalbox({
      policy: policyOf(options),
      env: { TEST_UPSTREAM_KEY: 'upstream-secret-for-tests' },
    });
    boxes.push(box);
    return box;
  };

  test.each([
    ['version 1', { version: 1 }],
    ['version 2 with `refuse`', { gateway: 'retries_max: 0, output_above_maximum: refuse' }],
  ] as const)('refuses a model whose maximum is below `max_tokens`, in %s', async (_, options) => {
    const box = await start(options);
    const { message } = await expectError(await chat(box), 'no_eligible_model');
    expect(message).toBe(
      `\`small\` does not meet the request: max_tokens is above its maximum of ${MAX.small}; max_tokens ${ASKED} → ${MAX.small} admits \`small\`.`,
    );
    const { platform } = await answerOf(await chat(box, { model: 'auto', max_tokens: 9_000 }));
    expect(platform.routed_model).toBe('large');
    const least = { constraints: { min_output_tokens: 3_000 }, max_tokens: undefined };
    expect((await answerOf(await chat(box, { model: 'auto', ...least }))).platform.routed_model).toBe('large');
    expect(sent(two).max_tokens).toBe(3_000);
  });

  test('gives way to a stated `cap` in version 1', async () => {
    const box = await start({ version: 1, gateway: 'retries_max: 0, output_above_maximum: cap' });
    expect((await answerOf(await chat(box))).platform.output_capped_by).toBe('model');
    expect(sent().max_tokens).toBe(MAX.small);
  });
});

test('the shipped policy serves what Claude Code sends, on a simulated model and on `auto`', async () => {
  const box = await startSignalbox();
  try {
    for (const model of ['sim-flash', 'auto']) {
      const response = await box.post('/v1/messages', { model, messages: hi, max_tokens: ASKED });
      expect(((await response.json()) as { platform: object }).platform).toMatchObject({ output_capped_by: 'model' });
    }
  } finally {
    await box.stop();
  }
});

describe('for any request', () => {
  const box = useSignalbox(() => ({ policy: policyOf() }));
  const requests = fc.record({
    model: fc.constantFrom('auto', 'small', 'large'),
    max_tokens: fc.integer({ min: 1, max: 100_000 }),
    stream: fc.boolean(),
    written: fc.integer({ min: 1, max: 20_000 }),
    credits: fc.integer({ min: 1, max: 100 }),
  });

  test('no attempt sends more than the model’s maximum, and the hold covers the answer', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async ({ written, credits, ...body }) => {
        const key = await box.makeKey('--budget', `${credits}/month`);
        const asked = { messages: hi, ...body };
        const advice = await adviceOf(await box.post('/v1/route', asked, withKey(key)));
        // The service fills its cap, and reports the usage that it bills.
        const bill = (cap: number) => ({ usage: { prompt_tokens: 30, completion_tokens: Math.min(written, cap) } });
        for (const upstream of [one, two]) {
          upstream.behave(({ body: { max_tokens } }) => ({ text: 'Hello.', ...bill(Number(max_tokens)) }));
        }
        const response = await box.post('/v1/chat/completions', asked, withKey(key));
        const { platform } = body.stream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
        const model = platform.routed_model as 'small' | 'large';
        const cap = Number(sent(model === 'small' ? one : two).max_tokens);
        expect(cap).toBeLessThanOrEqual(Math.min(MAX[model], body.max_tokens));
        expect(cap).toBe(advice.max_output_tokens);
        expect(platform.credits_consumed).toBeLessThanOrEqual(advice.max_cost_credits);
        expect(platform.credits_consumed).toBeLessThanOrEqual(credits);
        expect(platform.output_capped_by).toBe(advice.output_capped_by);
      }),
      tries('no attempt sends more than the model’s maximum', 25, 300),
    );
  });
});
