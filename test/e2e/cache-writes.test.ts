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

let upstream: OwnServer;
let box: Signalbox;
let key: string;

beforeAll(async () => {
  upstream = startOwnServer(() => Response.json(CHAT));
  const policy = testPolicy(
    { chat: upstream.url },
    { priced: { endpoints: ['chat'], price: { input: 1, output: 5 } }, bare: { endpoints: ['chat'] } },
    'budgets:\n  - { name: purse, each: key, limit_credits: 5000, window: total }\n',
  ).replace('output: 5,', 'output: 5, cache_write: 1.25, cache_write_1h: 2,');
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
  key = await box.makeKey();
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});

const chat = (mark: object, model = 'priced') =>
  box.post(
    '/v1/chat/completions',
    { model, max_tokens: 100, messages: [{ role: 'user', content: [{ type: 'text', text: PROMPT, ...mark }] }] },
    withKey(key),
  );
/** A prompt for which the hold covers the tokens that the provider reports. */
const PROMPT = 'What is the weather? '.repeat(100);
const FOR_AN_HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } };

describe('tokens written to the cache, if the provider does not report for how long', () => {
  test.each<[name: string, mark: object, rate: number]>([
    ['without a mark', {}, 1.25],
    ['with a mark for five minutes', { cache_control: { type: 'ephemeral' } }, 1.25],
    ['with a mark for an hour', FOR_AN_HOUR, 2],
  ])('tokens written to the cache cost the most expensive TTL that was asked for: %s', async (_, mark, rate) => {
    const answer = Object(await (await chat(mark)).json());
    expect(answer.platform?.credits_consumed).toBe((400 * 1 + 600 * rate + 50 * 5) / 1_000);
    // The caller gets the provider's figures.
    expect(answer.usage.prompt_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 600 });
  });

  test('a mark without a price is refused if a budget applies, and the audit finds every charge right', async () => {
    expect((await chat(FOR_AN_HOUR, 'bare')).status).toBe(400);
    const audited = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
    expect([audited.code, audited.out]).toEqual([0, expect.stringContaining('nothing wrong')]);
  });
});
