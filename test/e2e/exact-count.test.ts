import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeUpstream, type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts';
import { inTime, leastOf } from '../support/in-time.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey, writePolicy } from '../support/signalbox.ts';

/** A token of input costs 0.001 Credits, a token of output 0.004; the least useful output is 64 tokens. */
const PROSE = 'The committee met on Tuesday, and nobody could remember why. '.repeat(80);
const TOKENS = countTokens(PROSE);
/** More than the cost of the exact count and a useful output, but less than the cost of a token for each byte. */
const LIMIT = 2;
/** According to the estimate, this text does not fit into 32,768 tokens. */
const HINDI = 'गाँव के बाहर एक पुराना कुआँ था, जिसके पास बच्चे हर शाम खेलने आते थे। '.repeat(900);

let upstream: FakeUpstream;
let box: Signalbox;
let policy: string;

const capOf = ({ body }: RecordedRequest) => Number(body.max_tokens ?? body.max_completion_tokens);

beforeAll(async () => {
  upstream = startFakeUpstream({
    key: UPSTREAM_KEY,
    // The upstream uses as much as it may: the whole prompt, and output up to the limit.
    behaviour: (request) => {
      const prompt = countTokens(JSON.stringify(request.body.messages)) + 8;
      return { usage: { prompt_tokens: prompt, completion_tokens: capOf(request) } };
    },
  });
  policy = testPolicy(
    { up: upstream.url },
    {
      counted: { endpoints: ['up'], more: '    tokenizer: o200k_base\n' },
      uncounted: { endpoints: ['up'] },
    },
    `budgets: [{ name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: ${LIMIT}, window: total }]`,
  );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  // The first count reads the vocabulary, which on a busy machine may take longer than a request waits for it.
  await waitFor(async () => (await ask('counted', PROSE, { budget_limit: LIMIT })).status === 200);
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const ask = (model: string, content: string, more: object = {}, init?: RequestInit) =>
  box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content }], ...more }, init);

describe('a prompt that only its upper bound excludes', () => {
  test('`policy explain` also counts the prompt', async () => {
    const folder = writePolicy(policy);
    const explained = async (body: object) => {
      const file = join(folder, 'request.json');
      writeFileSync(file, JSON.stringify({ messages: [{ role: 'user', content: PROSE }], ...body }));
      const { out } = await runHere(['policy', 'explain', folder, file, '--json'], UPSTREAM_ENV);
      return JSON.parse(out);
    };
    const counted = await explained({ model: 'counted', budget_limit: LIMIT });
    expect(counted).toMatchObject({ choice: 'counted', refusal: null });
    expect(counted.facts.counted_input_tokens.o200k_base).toBeGreaterThanOrEqual(TOKENS);
    expect(await explained({ model: 'uncounted', budget_limit: LIMIT })).toMatchObject({
      choice: null,
      refusal: { code: 'budget_limit_too_low' },
    });
    rmSync(folder, { recursive: true, force: true });
  });

  test('a prompt whose bound exceeds budget_limit is counted and served, and the limit is never exceeded', async () => {
    await expectError(await ask('uncounted', PROSE, { budget_limit: LIMIT }), 'budget_limit_too_low', 'budget_limit');
    const answer = await ask('counted', PROSE, { budget_limit: LIMIT });
    expect(answer.status).toBe(200);
    const { platform, usage } = await answerOf(answer);
    expect(usage.prompt_tokens).toBeGreaterThan(TOKENS);
    expect(usage.completion_tokens).toBeGreaterThanOrEqual(64);
    expect(platform.credits_consumed).toBeLessThanOrEqual(LIMIT);
    expect(platform.credits_consumed).toBeGreaterThan(LIMIT / 2);
    const { text } = upstream.requests.at(-1)!;
    expect(text).toContain(PROSE);
  });

  test('a prompt whose bound exceeds the rest of a budget is counted, and the budget is not exceeded', async () => {
    const key = withKey(await box.makeKey('--label', 'team=a'));
    const wanted = { max_tokens: 64 };
    await expectError(await ask('uncounted', PROSE, wanted, key), 'request_exceeds_budget');
    const answer = await ask('counted', PROSE, wanted, key);
    expect(answer.status).toBe(200);
    expect((await answerOf(answer)).platform.credits_consumed).toBeLessThanOrEqual(LIMIT);
    await expectError(await ask('counted', PROSE, wanted, key), 'insufficient_quota');
  });

  test('a prompt whose bound exceeds the context window is counted, also in a route query', async () => {
    await expectError(await ask('uncounted', HINDI), 'context_length_exceeded', 'messages');
    expect((await ask('counted', HINDI)).status).toBe(200);
    const messages = [{ role: 'user', content: HINDI }];
    expect((await box.post('/v1/route', { model: 'counted', messages })).status).toBe(200);
    // A number that the caller states is not a text that could be counted.
    const stated = await box.post('/v1/route', { model: 'counted', messages, estimated_input_tokens: 40_000 });
    await expectError(stated, 'context_length_exceeded', 'messages');
  });

  test('the refusal of a long prompt uses the field name of its own API, also if the request has no turns', async () => {
    const tools = [{ type: 'function', name: 'f', parameters: {}, description: HINDI }];
    const input = [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'So.' }] }];
    const response = await box.post('/v1/responses', { model: 'uncounted', input, tools });
    await expectError(response, 'context_length_exceeded', 'input');
    const sized = await box.post('/v1/route', { model: 'uncounted', estimated_input_tokens: 40_000 });
    await expectError(sized, 'context_length_exceeded', 'estimated_input_tokens');
  });

  test('if the exact count does not fit either, the request is refused with an amount that would be enough', async () => {
    const refusal = await ask('counted', PROSE, { budget_limit: 0.5 });
    const { details } = await expectError(refusal, 'budget_limit_too_low', 'budget_limit');
    const least = Number(details?.least_credits);
    expect(least).toBeLessThan(LIMIT);
    expect((await ask('counted', PROSE, { budget_limit: least })).status).toBe(200);
    await expectError(
      await ask('counted', PROSE, { budget_limit: least - 0.000001 }),
      'budget_limit_too_low',
      'budget_limit',
    );
  });
});

test('texts made to be slow to count are answered within the deadline, and delay no other request', async () => {
  const texts = ['a', 'q', '\u0300', '€', 'qzx '].map((unit) => unit.repeat(100_000 / unit.length));
  let answers: Response[] = [];
  const slowest = await leastOf(500, async () => {
    let slowest = 0;
    let isOver = false;
    const bystander = (async () => {
      while (!isOver) {
        const start = performance.now();
        expect((await box.get('/healthz')).status).toBe(200);
        slowest = Math.max(slowest, performance.now() - start);
        await Bun.sleep(5);
      }
    })();
    answers = await inTime(3_000, () => Promise.all(texts.map((text) => ask('counted', text, { budget_limit: 1 }))));
    isOver = true;
    await bystander;
    return slowest;
  });
  console.log(`hostile texts: a bystander waited ${slowest.toFixed(0)} ms at most`);
  expect(slowest).toBeLessThan(500);
  for (const [at, answer] of answers.entries()) {
    const bounded = await answerOf(await ask('uncounted', texts[at]!, { budget_limit: 1 }));
    expect((await answerOf(answer)).error.code).toBe(bounded.error.code);
  }
});
