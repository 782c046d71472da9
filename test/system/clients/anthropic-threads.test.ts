import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';
import { asksForWeather, platformOf } from '../../support/dialect-bench.ts';
import { forgetThreads } from '../../support/dialects/anthropic-threads.ts';
import { type LivePolicy, startLivePolicy } from '../../support/live-policy.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { makeTestKey, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

/**
 * Conversations that Anthropic stores: the unmodified SDK sends only new turns, and Signalbox sends them to the endpoint that stores the
 * history.
 */
const one = useUpstream({ dialect: 'anthropic' });
const other = useUpstream({ dialect: 'anthropic' });
const foreign = useUpstream();
const budget = (kind: string, limit: number) =>
  `  - { name: ${kind}, each: key, match: 'key.labels.kind == "${kind}"', limit_credits: ${limit}, window: day, on_exhausted: reject }\n`;
const BUDGETS = `budgets:\n${budget('small', 20)}${budget('large', 1_000)}`;
const policyWith = (providers: readonly ('one' | 'other')[]) =>
  testPolicy(
    {
      ...Object.fromEntries(
        providers.map((name) => [name, { url: (name === 'one' ? one : other).url, adapter: 'anthropic' }]),
      ),
      foreign: foreign.url,
    },
    {
      best: { endpoints: providers, quality: 0.9 },
      fair: { endpoints: [providers.at(-1)!], quality: 0.7 },
      cheap: { endpoints: ['foreign'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
    },
    BUDGETS,
  )
    .replaceAll('adapter: anthropic,', 'adapter: anthropic, settings: { threads: true },')
    .replaceAll('best-upstream', 'claude-haiku-5-5');

let live: LivePolicy;
let client: Anthropic;
beforeAll(async () => {
  live = await startLivePolicy({ 'policy.yaml': policyWith(['one', 'other']) });
  client = clientOf(live.box.key);
});
afterAll(() => live.stop());
beforeEach(() => {
  for (const upstream of [one, other, foreign]) {
    upstream.behave(asksForWeather);
    upstream.requests.length = 0;
  }
});

const clientOf = (apiKey: string) => new Anthropic({ apiKey, baseURL: live.box.url, maxRetries: 0 });
const weather = betaZodTool({
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  run: ({ city }) => `20 °C (${city})`,
});
const body = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'The weather?' }] };
const bodiesAt = ({ requests }: typeof one) =>
  requests.map(({ body: { thread, messages, tools } }) => ({
    thread,
    messages: (messages as unknown[]).length,
    tools: tools !== undefined,
  }));
const asked = { type: 'create' };
const goneOn = { type: 'continue', previous_message_id: expect.stringMatching(/^msg_fake/) };
const WITH_BETA = { 'anthropic-beta': 'message-threads-2026-08-12' };

/** Sends the first turn of a thread. */
async function begun(model: string, key = live.box.key, more: object = {}): Promise<string> {
  one.next({ text: 'Hello!' });
  const request = { ...body, ...more, model, thread: { type: 'create' } };
  const headers = { authorization: `Bearer ${key}`, ...WITH_BETA };
  const answer = await live.box.post('/v1/messages', request, { headers });
  const { id } = (await answer.json()) as { id: string };
  expect([answer.status, id]).toEqual([200, expect.stringMatching(/^msg_fake/)]);
  return id;
}

const goOn = (id: string, more: object = {}, key = live.box.key, path = '/v1/messages') =>
  live.box.post(
    path,
    { ...body, model: 'best', thread: { type: 'continue', previous_message_id: id }, ...more },
    { headers: { authorization: `Bearer ${key}`, ...WITH_BETA } },
  );

const codeOf = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { type: string; details: { error_code: string } } };
  return [answer.status, error.type, error.details.error_code];
};

describe('the tool runner of the SDK', () => {
  test.each(['best', 'auto'])(
    'the SDK sends each turn once, in JSON and as a stream, with the model %s',
    async (model) => {
      for (const stream of [false, true]) {
        one.requests.length = 0;
        const runner = client.beta.messages.toolRunner({
          ...body,
          model,
          tools: [weather],
          system: 'Be brief.',
          stream,
        });
        const last = await runner.runUntilDone();
        expect(last.content.at(-1)).toMatchObject({ type: 'text', text: 'It is 20 °C (Bern) in Bern.' });
        expect(bodiesAt(one)).toEqual([
          { thread: asked, messages: 1, tools: true },
          { thread: goneOn, messages: 1, tools: false },
        ]);
        // The service received the whole conversation.
        expect(one.requests.at(-1)!.asked.turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
        expect(other.requests).toEqual([]);
      }
    },
  );

  test('the SDK sends the whole conversation again if the service has lost the history', async () => {
    one.behave((request) => {
      const said = asksForWeather(request);
      if (said.toolCalls) queueMicrotask(() => setTimeout(forgetThreads, 20));
      return said;
    });
    const run = async () => {
      await Bun.sleep(60);
      return '20 °C (Bern)';
    };
    const slow = { ...weather, run };
    const last = await client.beta.messages.toolRunner({ ...body, model: 'best', tools: [slow] });
    expect(last.content.at(-1)).toMatchObject({ text: 'It is 20 °C (Bern) in Bern.' });
    expect(bodiesAt(one)).toMatchObject([
      { thread: asked, messages: 1 },
      { thread: goneOn, messages: 1 },
      { thread: asked, messages: 3 },
    ]);
  });

  test('Signalbox does not use a thread if it chooses another service’s model, or if a budget cannot hold the model’s context window', async () => {
    const cheapest = { ...body, model: 'auto', route_strategy: { cost_weight: 1, quality_weight: 0 } };
    const byOther = await client.beta.messages.toolRunner({ ...cheapest, tools: [weather] });
    expect(byOther.content.at(-1)).toMatchObject({ text: 'It is 20 °C (Bern) in Bern.' });
    expect([one.requests.length, foreign.requests.length]).toEqual([0, 2]);
    const key = await live.box.makeKey('--name', 'small', '--label', 'kind=small');
    const small = await clientOf(key).beta.messages.toolRunner({ ...body, model: 'best', tools: [weather] });
    expect(small.content.at(-1)).toMatchObject({ text: 'It is 20 °C (Bern) in Bern.' });
    expect(bodiesAt(one)).toMatchObject([
      { thread: asked, messages: 1 },
      { thread: undefined, messages: 3 },
    ]);
  });
});

describe('a continued turn', () => {
  test('a continued turn is decided, recorded and decided again with the endpoint of its history', async () => {
    const id = await begun('best');
    one.next({ text: 'Again!' });
    const answer = await goOn(id, { model: 'auto' });
    const kept = await live.box.get(`/v1/decisions/${answer.headers.get('x-signalbox-decision-id')}`);
    expect(await kept.json()).toMatchObject({
      facts: { thread: { model: 'best', endpoints: [0] }, needs: ['anthropic_messages', 'threads'] },
      replay: { matches: true },
      candidates: expect.arrayContaining([
        expect.objectContaining({
          model: 'fair',
          rejections: [
            expect.objectContaining({ text: 'the provider keeps the history of this conversation only for `best`' }),
          ],
        }),
      ]),
    });
  });

  test('a continued turn stays with the model of its thread, even if a selector would now choose another', async () => {
    const id = await begun('best');
    one.next({ text: 'Again!' });
    const answer = await goOn(id, { model: 'auto-cheap' });
    expect(platformOf((await answer.json()) as object)).toMatchObject({
      routed_model: 'best',
      route_reason: expect.stringMatching(/^auto-cheap:/),
    });
    const recommended = await (
      await goOn(await begun('best'), { model: 'auto-cheap' }, live.box.key, '/v1/route')
    ).json();
    expect(recommended).toMatchObject({ recommended_model: 'best' });
  });

  test('a continued turn never moves to another endpoint when its own fails', async () => {
    const id = await begun('best');
    one.next({ fail: 'overloaded' });
    expect((await goOn(id)).status).toBe(502);
    expect(other.requests).toEqual([]);
  });

  test('a continued turn may have no message and then completes an unfinished answer', async () => {
    const id = await begun('best');
    one.next({ text: 'More.' });
    expect((await goOn(id, { messages: [] })).status).toBe(200);
    expect((await live.box.post('/v1/messages', { ...body, model: 'best', messages: [] })).status).toBe(400);
  });

  test('a continued turn of an unknown answer, or of another key’s answer, gets an error that makes the client start over', async () => {
    const unknown = [404, 'not_found_error', 'thread_not_found'];
    expect(await codeOf(await goOn('msg_none'))).toEqual(unknown);
    const id = await begun('best');
    const key = await live.box.makeKey('--name', 'stranger');
    expect(await codeOf(await goOn(id, {}, key))).toEqual(unknown);
    // A model of another service cannot continue the conversation.
    expect(await codeOf(await goOn(id, { model: 'cheap' }))).toEqual(unknown);
  });

  test('a continued turn gets the service’s own error if the service refuses it', async () => {
    const id = await begun('best');
    one.next({ text: 'Once.' });
    expect((await goOn(id)).status).toBe(200);
    const again = await goOn(id);
    expect([again.status, await again.json()]).toMatchObject([
      400,
      { error: { message: `${id} has already been continued.`, details: { error_code: 'thread_already_continued' } } },
    ]);
    expect((await goOn(await begun('best'))).status).toBe(200);
  });

  test('Signalbox holds a continued turn as if the history filled the model’s window, and charges the tokens that were read', async () => {
    const key = await live.box.makeKey('--name', 'large', '--label', 'kind=large');
    const id = await begun('best', key);
    const quoted = (await goOn(id, {}, key, '/v1/route')).json();
    // 32,768 tokens of input and 100 tokens of output.
    expect(await quoted).toMatchObject({ first_hold_credits: 32.768 + 0.4 });
    one.next({ text: 'Hm.', usage: { prompt_tokens: 900, completion_tokens: 10 } });
    const answer = await goOn(id, {}, key);
    expect(platformOf((await answer.json()) as object)).toMatchObject({ credits_consumed: 0.94 });
  });

  test.each([
    ['tools', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }] }],
    ['cache marks', { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
  ])('a continued turn pays for the %s of the turns before it, which still apply', async (_, more) => {
    const unpriced = [400, 'invalid_request_error', 'unsupported_parameter'];
    const limit = { budget_limit: 1_000 };
    const id = await begun('best', live.box.key, more);
    expect(await codeOf(await goOn(id, limit))).toEqual(unpriced);
    one.next({ text: 'Again!' });
    const next = Object(await (await goOn(id)).json()).id;
    expect(await codeOf(await goOn(next, limit))).toEqual(unpriced);
    one.next({ text: 'Again!' });
    expect((await goOn(await begun('best'), limit)).status).toBe(200);
  });
});

test('a thread continues after a restart, and ends with its key', async () => {
  const data = temporaryFolder();
  const env = { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: makeTestKey() };
  const start = () => startSignalbox({ policy: policyWith(['one', 'other']), env, data });
  let box = await start();
  const key = await box.makeKey('--name', 'app');
  const turnAt = async (thread: object) => {
    one.next({ text: 'Hello!' });
    const headers = { authorization: `Bearer ${key}`, ...WITH_BETA };
    return box.post('/v1/messages', { ...body, model: 'best', thread }, { headers });
  };
  try {
    const { id } = (await (await turnAt({ type: 'create' })).json()) as { id: string };
    await box.stop();
    box = await start();
    expect((await turnAt({ type: 'continue', previous_message_id: id })).status).toBe(200);
    await box.run('keys', 'revoke', key.split('_')[2]!);
    using file = new Database(join(data, 'signalbox.db'), { readonly: true });
    expect(file.query('SELECT * FROM threads').all()).toEqual([]);
  } finally {
    await box.stop();
    rmSync(data, { recursive: true, force: true });
  }
});

test('Signalbox stores a thread in the same transaction as the settlement of its answer', async () => {
  using file = new Database(join(live.box.data, 'signalbox.db'));
  const counted = () => ({
    settled: file.query("SELECT count(*) FROM journal WHERE kind = 'settle'").values().flat()[0],
    threads: file.query('SELECT count(*) FROM threads').values().flat()[0],
  });
  const before = counted();
  await begun('best');
  const after = counted();
  expect([Number(after.settled) - Number(before.settled), Number(after.threads) - Number(before.threads)]).toEqual([
    1, 1,
  ]);
  // A table that refuses the row makes the whole commit fail.
  file.run("CREATE TRIGGER refused BEFORE INSERT ON threads BEGIN SELECT RAISE(ABORT, 'refused'); END");
  await begun('best');
  file.run('DROP TRIGGER refused');
  expect(counted()).toEqual(after);
});

// This test is last, because it removes a provider.
test('a continued turn starts over if the policy no longer has the service of its thread', async () => {
  const id = await begun('best');
  const { revision } = await live.status();
  live.replace('policy.yaml', policyWith(['other']));
  await live.changedFrom(revision);
  expect(await codeOf(await goOn(id))).toEqual([404, 'not_found_error', 'thread_not_found']);
});
