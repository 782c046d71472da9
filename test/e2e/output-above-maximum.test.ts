import { afterEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../plugins/providers/json.ts';
import { tries } from '../deep/effort.ts';
import { adviceOf, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';
import { useSignalbox } from '../support/use.ts';
import { ASKED, chat, hi, MAX, type PolicyOptions, useCappingModels } from './capping-models.ts';

/** Requests whose `max_tokens` is above the `max_output` of a model. Agents send such requests. */
const { one, two, claude, policyOf, sent } = useCappingModels();

describe('a request for more output than a model can return', () => {
  const box = useSignalbox(() => ({
    policy: policyOf({
      more: `budgets:
  - { name: purse, each: key, match: 'key.labels.purse == "yes"', limit_credits: 3, window: total }
constraints:
  - { name: long, when: 'request.max_tokens == 31000.0', require: 'model.id == "large"' }
`,
    }),
  }));

  test.each([false, true])(
    'a request above the maximum is answered with its output limited to the maximum, streamed: %p',
    async (stream) => {
      const response = await chat(box, { stream });
      const { platform } = stream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
      expect(platform).toMatchObject({ routed_model: 'small', output_capped_by: 'model' });
      expect(sent().max_tokens).toBe(MAX.small);
    },
  );

  test('`auto` decides a request above the maximum in the same way', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'auto' }));
    expect(platform).toMatchObject({ routed_model: 'small', output_capped_by: 'model' });
    expect(sent().max_tokens).toBe(MAX.small);
  });

  test('a request within the maximum, or without a limit, is not capped', async () => {
    for (const max_tokens of [MAX.small, 100, undefined]) {
      const { platform } = await answerOf(await chat(box, { max_tokens }));
      expect(platform).not.toHaveProperty('output_capped_by');
      expect(sent().max_tokens).toBe(max_tokens ?? 1_024);
    }
  });

  test('each model that is tried gets its own maximum', async () => {
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
    'a Messages request is capped, and a thinking budget of %p leaves half for the answer',
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

  test('a request is capped on a model of a wildcard', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'house/any' }));
    expect(platform).toMatchObject({ routed_model: 'house/any', output_capped_by: 'model' });
    expect(sent().max_tokens).toBe(1_000);
  });

  test('a thinking budget of at most half of the output limit is kept', async () => {
    const thinking = { type: 'enabled', budget_tokens: 4_000 };
    await box.post('/v1/messages', { model: 'claude', messages: hi, max_tokens: ASKED, thinking });
    expect(sent(claude)).toMatchObject({ max_tokens: MAX.claude, thinking });
  });

  test.each([
    ['small', 'max_tokens', MAX.small],
    ['responds', 'max_output_tokens', MAX.responds],
  ] as const)('a Responses request is capped, on `%s`', async (model, field, most) => {
    const response = await box.post('/v1/responses', { model, input: 'hi', max_output_tokens: ASKED });
    expect(((await response.json()) as { platform: object }).platform).toMatchObject({ output_capped_by: 'model' });
    expect(sent()[field]).toBe(most);
  });

  test('`/v1/route` shows the output limit of each candidate, and a hold is no more than the capped answer can cost', async () => {
    const advice = await adviceOf(await box.post('/v1/route', { model: 'auto', messages: hi, max_tokens: ASKED }));
    expect(advice).toMatchObject({
      recommended_model: 'small',
      max_output_tokens: MAX.small,
      output_capped_by: 'model',
      alternatives: [{ model: 'large', max_output_tokens: MAX.large, output_capped_by: 'model' }],
    });
    expect(advice.reasoning).toContain(`${MAX.small} tokens`);
    // 34 is the upper bound of the prompt's tokens.
    expect(advice.max_cost_credits).toBe((34 + 4 * MAX.small) / 1_000);
    const within = await adviceOf(await box.post('/v1/route', { model: 'auto', messages: hi, max_tokens: 9_000 }));
    expect(within.alternatives[0]).toMatchObject({ max_output_tokens: 9_000 });
    expect(within.alternatives[0]).not.toHaveProperty('output_capped_by');
  });

  test('the answer names the fund if it pays for less than the model’s maximum, and the model if the fund pays for more', async () => {
    const key = await box.makeKey('--label', 'purse=yes');
    const { platform } = await answerOf(await chat(box, {}, withKey(key)));
    expect(platform.output_capped_by).toBe('purse');
    expect(sent().max_tokens).toBeLessThan(MAX.small);
    const rich = await box.makeKey('--budget', '1000/month');
    expect((await answerOf(await chat(box, {}, withKey(rich)))).platform.output_capped_by).toBe('model');
    expect(sent().max_tokens).toBe(MAX.small);
  });

  test('the answer names neither fund nor model if `budget_limit` pays for less', async () => {
    const { platform } = await answerOf(await chat(box, { budget_limit: 2 }));
    expect(platform).not.toHaveProperty('output_capped_by');
    expect(sent().max_tokens).toBe((2_000 - 34) / 4 - 0.5);
  });

  test('rules see the `max_tokens` that the caller sent', async () => {
    const { platform } = await answerOf(await chat(box, { model: 'auto', max_tokens: 31_000 }));
    expect(platform.routed_model).toBe('large');
    const { message } = await expectError(await chat(box, { max_tokens: 31_000 }), 'no_eligible_model');
    expect(message).toContain('long');
  });

  test.each([null, 500])(
    'a capped request is recorded, logged, counted and replayed as it was decided, least output: %p',
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

  test('a selector chooses a model that can return the expected answer; a named model is used in any case', async () => {
    const long = [{ role: 'user', content: 'Write an essay of 3,000 words on trains.' }];
    const { platform } = await answerOf(await chat(box, { model: 'auto', messages: long }));
    expect(platform.routed_model).toBe('large');
    for (const max_tokens of [ASKED, MAX.small + 1, MAX.small]) {
      const named = await answerOf(await chat(box, { messages: long, max_tokens }));
      expect(named.platform.routed_model).toBe('small');
      expect(sent().max_tokens).toBe(MAX.small);
    }
  });

  test('if no model can return the expected answer, the request is refused with a value that would be served', async () => {
    const longer = [{ role: 'user', content: 'Write an essay of 20,000 words on trains.' }];
    const { message } = await expectError(await chat(box, { model: 'auto', messages: longer }), 'no_eligible_model');
    expect(message).toContain(`change max_tokens from ${ASKED} to ${MAX.large} to use \`large\``);
    for (const [model, most] of [
      ['auto', MAX.large],
      ['large', MAX.large],
      ['small', MAX.small],
    ] as const) {
      const stated = { model, messages: hi, max_tokens: ASKED, estimated_output_tokens: 20_000 };
      const refusal = await expectError(await box.post('/v1/route', stated), 'no_eligible_model');
      expect(refusal.message).toContain(`change estimated_output_tokens from 20000 to ${most} to use`);
    }
  });

  test('a named model answers although its maximum is less than its reasoning needs; a selector rejects it', async () => {
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

  test('the answer does not name the model if its window leaves less than its maximum', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(1_500) }];
    for (const max_tokens of [MAX.narrow, MAX.narrow + 1]) {
      const asked = { model: 'narrow', messages, max_tokens };
      const advice = await adviceOf(await box.post('/v1/route', asked));
      expect(advice.max_output_tokens).toBeLessThan(MAX.narrow);
      expect(advice).not.toHaveProperty('output_capped_by');
      expect((await answerOf(await chat(box, asked))).platform).not.toHaveProperty('output_capped_by');
    }
  });
});

describe('`output_above_maximum: refuse`', () => {
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

  test('a model whose maximum is below `max_tokens` is refused', async () => {
    const box = await start({ gateway: 'retries_max: 0, output_above_maximum: refuse' });
    const { message } = await expectError(await chat(box), 'no_eligible_model');
    expect(message).toBe(
      `\`small\` cannot serve this request: max_tokens is above its maximum of ${MAX.small}; change max_tokens from ${ASKED} to ${MAX.small} to use \`small\`.`,
    );
    const { platform } = await answerOf(await chat(box, { model: 'auto', max_tokens: 9_000 }));
    expect(platform.routed_model).toBe('large');
    const least = { constraints: { min_output_tokens: 3_000 }, max_tokens: undefined };
    expect((await answerOf(await chat(box, { model: 'auto', ...least }))).platform.routed_model).toBe('large');
    expect(sent(two).max_tokens).toBe(3_000);
  });
});

test('the shipped policy serves what Claude Code sends, on a simulated model and on `auto-fast`', async () => {
  const box = await startSignalbox();
  try {
    for (const model of ['sim-flash', 'auto-fast']) {
      const response = await box.post('/v1/messages', { model, messages: hi, max_tokens: ASKED });
      expect(((await response.json()) as { platform: object }).platform).toMatchObject({ output_capped_by: 'model' });
    }
  } finally {
    await box.stop();
  }
});

describe('for any request with any limits', () => {
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
        // The provider writes up to its limit, and reports the usage that it bills.
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
