import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/** Tokens that a provider writes to its cache cost more the longer it keeps them. Chat completions report them without their TTL. */
const CHAT = {
  ...{ id: 'c', object: 'chat.completion', created: 1_790_000_000, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'It rains.' }, finish_reason: 'stop' }],
  usage: {
    ...{ prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 },
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 600 },
  },
};

/** Responses report how many tokens were written for how long. */
const responseWith = (longWritten: number) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1_790_000_000, status: 'completed', model: 'm', error: null },
  output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'It rains.' }] }],
  usage: {
    ...{ input_tokens: 1_000, output_tokens: 50, total_tokens: 1_050 },
    input_tokens_details: {
      ...{ cached_tokens: 0, cache_write_tokens: 600 },
      cache_write_tokens_details: { ttl_12h_tokens: longWritten, ttl_30m_tokens: 600 - longWritten },
    },
    output_tokens_details: { reasoning_tokens: 0 },
  },
});

const RATES = 'cache_write: 1.25, cache_write_1h: 2, cache_write_12h: 2.5';
const LONG_RATES = 'cache_write: 1.25, cache_write_1h: 3, cache_write_12h: 2.5';
let longWritten = 0;
let upstream: OwnServer;
let box: Signalbox;
let key: string;

beforeAll(async () => {
  upstream = startOwnServer(({ url }) => Response.json(url.endsWith('/responses') ? responseWith(longWritten) : CHAT));
  const policy = testPolicy(
    { own: { url: upstream.url, adapter: 'openai' } },
    {
      priced: { endpoints: ['own'], price: { input: 1, output: 5 } },
      tiered: { endpoints: ['own'], price: { input: 1, output: 4 } },
      bare: { endpoints: ['own'] },
    },
    'budgets:\n  - { name: purse, each: key, limit_credits: 5000, window: total }\n',
  )
    .replace('output: 5,', `output: 5, ${RATES},`)
    .replace(
      'output: 4,',
      `output: 4, ${RATES}, tiers: [{ over_input_tokens: 500, input: 1, output: 5, ${LONG_RATES} }],`,
    );
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  key = await box.makeKey();
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const chat = (mark: object, more: object = {}) =>
  box.post(
    '/v1/chat/completions',
    {
      ...{ model: 'priced', max_tokens: 100 },
      messages: [{ role: 'user', content: [{ type: 'text', text: PROMPT, ...mark }] }],
      ...more,
    },
    withKey(key),
  );
const respond = (mark: object) =>
  box.post(
    '/v1/responses',
    {
      ...{ model: 'priced', max_output_tokens: 100 },
      input: [{ role: 'user', content: [{ type: 'input_text', text: PROMPT, ...mark }] }],
    },
    withKey(key),
  );
const costOf = (written: number) => (400 * 1 + written + 50 * 5) / 1_000;
/** A prompt for which the hold covers the tokens that the provider reports. */
const PROMPT = 'What is the weather? '.repeat(100);
const FOR_12_HOURS = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } };
const FOR_AN_HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };

describe('tokens written to the cache', () => {
  test.each<[name: string, mark: object, rate: number, more: object]>([
    ['without a mark', {}, 1.25, {}],
    ['with a mark for five minutes', { cache_control: { type: 'ephemeral' } }, 1.25, {}],
    ['with a mark for 30 minutes', { prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } }, 1.25, {}],
    ['with a mark for an hour', FOR_AN_HOUR, 2, {}],
    ['with a mark for 12 hours', FOR_12_HOURS, 2.5, {}],
    ['with two marks', { ...FOR_AN_HOUR, ...FOR_12_HOURS }, 2.5, {}],
    ['with an option for 12 hours', {}, 2.5, { prompt_cache_options: { ttl: '12h' } }],
  ])('chat completions bill them at the most expensive TTL that was asked for: %s', async (_, mark, rate, more) => {
    const answer = Object(await (await chat(mark, more)).json());
    expect(answer.platform?.credits_consumed).toBe(costOf(600 * rate));
    // The caller gets the provider's figures.
    expect(answer.usage.prompt_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 600 });
  });

  test('the prices of long prompts decide which TTL is the most expensive one of a long prompt', async () => {
    const answer = Object(await (await chat({ ...FOR_AN_HOUR, ...FOR_12_HOURS }, { model: 'tiered' })).json());
    expect(answer.platform?.credits_consumed).toBe(costOf(600 * 3));
  });

  test.each([600, 200, 0])('responses bill them as the provider divides them: %d for 12 hours', async (long) => {
    longWritten = long;
    const answer = await respond(FOR_12_HOURS);
    await answer.json();
    const { out } = await runHere(['ledger', 'export', '--format', 'json', '--data', box.data]);
    const line = (JSON.parse(out) as Record<string, unknown>[]).findLast(({ kind }) => kind === 'settle');
    const tokens = { cache_write_tokens: 600 - long, cache_write_12h_tokens: long, cache_write_1h_tokens: 0 };
    expect([answer.status, line]).toEqual([
      200,
      expect.objectContaining({ ...tokens, credits: costOf((600 - long) * 1.25 + long * 2.5) }),
    ]);
  });

  test('a mark without a price is refused if a budget applies, and the audit finds every charge right', async () => {
    for (const mark of [FOR_AN_HOUR, FOR_12_HOURS]) expect((await chat(mark, { model: 'bare' })).status).toBe(400);
    const audited = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
    expect([audited.code, audited.out]).toEqual([0, expect.stringContaining('nothing wrong')]);
  });
});
