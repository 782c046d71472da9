import { beforeAll, describe, expect, test } from 'bun:test';
import { type AdviceAnswer, adviceOf, answerOf, eventsOf, quietFor, waitFor } from '../support/answers.ts';
import type { FakeUpstream, RecordedRequest } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** Tests through a real server how the earlier turns of a conversation affect its next turn. */
const TTL_S = 3;
/** The tokens that the upstreams report for every prompt. */
const CACHED = 1_000;

const ANSWER = 'A fake.';
const behaviour = { text: ANSWER, usage: { prompt_tokens: CACHED, completion_tokens: 9 } };
const [first, second] = [useUpstream({ behaviour }), useUpstream({ behaviour })];
const live = useLivePolicy(() => ({ 'policy.yaml': policyText() }));
let other: string;

/** `dear` has a low price for cached input, `stiff` a high one. `cheap` costs half as much as either without any cache. */
function policyText(quality = 0.9): string {
  const text = testPolicy(
    { first: first.url, second: second.url },
    {
      dear: { endpoints: ['first'], price: { input: 4, output: 4 }, quality },
      stiff: { endpoints: ['first'], price: { input: 5, output: 4 }, quality: 0.8 },
      cheap: { endpoints: ['second'], price: { input: 2, output: 4 }, quality: 0.7 },
    },
  );
  return text
    .replace('input: 4,', 'input: 4, cached_input: 0.4,')
    .replace('input: 5,', 'input: 5, cached_input: 4,')
    .replaceAll('passthrough: [verbosity]', `cache_ttl_s: ${TTL_S}, cache_min_tokens: 500`);
}

beforeAll(async () => {
  other = await live.box.makeKey();
});

type Message = Readonly<Record<string, unknown>>;

let conversations = 0;
/** Makes a prompt of 1,000 to 1,700 tokens that no test has sent before. Its question is a general one of usual difficulty. */
const opening = (): Message[] => [
  { role: 'system', content: `Conversation ${++conversations}. ${'You are a helpful assistant. '.repeat(170)}` },
  { role: 'user', content: 'Why do the tides differ from place to place?' },
];
const nextTurn = (messages: readonly Message[], more: object = {}): Message[] => [
  ...messages,
  { role: 'assistant', content: ANSWER, ...more },
  { role: 'user', content: 'Why is that so?' },
];

const as = (key: string | undefined) => (key ? { headers: { authorization: `Bearer ${key}` } } : {});
const chat = async (model: string, messages: readonly Message[], more: object = {}, key?: string) =>
  answerOf(await live.box.post('/v1/chat/completions', { model, messages, max_tokens: 100, ...more }, as(key)));
const route = async (model: string, messages: readonly Message[], key?: string): Promise<AdviceAnswer> =>
  adviceOf(await live.box.post('/v1/route', { model, messages, estimated_output_tokens: 100 }, as(key)));
const cachedOf = async (decision: string, key?: string): Promise<Readonly<Record<string, number>>> => {
  const body = (await (await live.box.get(`/v1/decisions/${decision}`, as(key))).json()) as {
    facts: { cached_input_tokens: Readonly<Record<string, number>> };
  };
  return body.facts.cached_input_tokens;
};

describe('the next turn of a conversation', () => {
  for (const stream of [false, true]) {
    test(`the next turn is priced with the tokens that its model has cached, after ${stream ? 'a stream' : 'an answer in one piece'}, in route and in chat`, async () => {
      const messages = opening();
      const before = await route('dear', nextTurn(messages));
      if (stream) {
        await eventsOf(
          await live.box.post('/v1/chat/completions', { model: 'dear', messages, max_tokens: 100, stream }),
        );
      } else await chat('dear', messages);
      const after = await route('dear', nextTurn(messages));
      // The cached tokens are the expected tokens, whatever the upstream reports. Cached tokens cost 0.4 instead of 4 USD per 1M tokens, at
      // 0.001 USD for a Credit.
      const { dear = 0 } = await cachedOf(after.decision_id);
      expect(dear).toBeGreaterThan(CACHED);
      expect(before.estimated_cost_credits - after.estimated_cost_credits).toBeCloseTo((dear * (4 - 0.4)) / 1_000, 6);
      const { platform } = await chat('dear', nextTurn(messages));
      expect(await cachedOf(platform.decision_id)).toEqual({ dear });
      expect((await route('cheap', nextTurn(messages))).estimated_cost_credits).toBe(
        (await route('cheap', nextTurn(opening()))).estimated_cost_credits,
      );
    });
  }

  test('another key that sends the same words finds no cached tokens', async () => {
    const messages = opening();
    await chat('dear', messages);
    const asked = await route('dear', nextTurn(messages), other);
    expect(await cachedOf(asked.decision_id, other)).toEqual({});
    const { platform } = await chat('dear', nextTurn(messages), {}, other);
    expect(await cachedOf(platform.decision_id, other)).toEqual({});
  });

  test('the next turn finds no cached tokens once the provider’s cache has expired', async () => {
    const messages = opening();
    await chat('dear', messages);
    // Waits until the provider's cache has expired, counted from the answer.
    await Bun.sleep(TTL_S * 1_000 + 50);
    expect(await cachedOf((await route('dear', nextTurn(messages))).decision_id)).toEqual({});
  });

  test('the next turn finds no cached tokens of an answer that failed', async () => {
    const messages = opening();
    first.next({ status: 400, error: { message: 'Bad.' } });
    await chat('dear', messages);
    expect(await cachedOf((await route('dear', nextTurn(messages))).decision_id)).toEqual({});
  });

  test('cached tokens are still known after a reload of the policy', async () => {
    const messages = opening();
    await chat('dear', messages);
    const { revision } = await live.status();
    live.write('policy.yaml', policyText(0.91));
    await live.changedFrom(revision);
    expect(Object.keys(await cachedOf((await route('dear', nextTurn(messages))).decision_id))).toEqual(['dear']);
  });

  test('the next turn stays with a more expensive model only if its price for cached input makes it the better one', async () => {
    const cheapest = { route_strategy: { cost_weight: 1, quality_weight: 0 } };
    for (const [served, next] of [
      ['dear', 'dear'],
      ['stiff', 'cheap'],
      ['cheap', 'cheap'],
    ] as const) {
      const messages = opening();
      expect((await chat('auto', messages, cheapest)).platform.routed_model).toBe('cheap');
      // Another conversation, whose beginning differs from the first one's.
      const own = opening();
      await chat(served, own);
      expect((await chat('auto', nextTurn(own), cheapest)).platform.routed_model).toBe(next);
    }
  });
});

describe('signed reasoning', () => {
  const signed = { thought_signature: 'c2lnbmVk', reasoning_content: 'I am a fake.' };
  /** Returns the earlier answer as the upstream received it in the next request. */
  const answerIn = ({ messages }: RecordedRequest['body']) => (messages as Message[])[2]!;
  const sent = ({ requests }: FakeUpstream) => answerIn(requests.at(-1)!.body);

  test('signed reasoning goes back to the model that wrote it, and not to a fallback of another model family', async () => {
    const messages = opening();
    expect((await chat('auto', messages)).platform.routed_model).toBe('dear');
    const own = await chat('auto', nextTurn(messages, signed));
    expect(own.platform).toMatchObject({ routed_model: 'dear', dropped: [] });
    expect(sent(first)).toHaveProperty('thought_signature');
    const before = first.requests.length;
    // `stiff` is at the same provider, but of another model family.
    first.next({ status: 500 }, { status: 500 });
    const { platform } = await chat('auto', nextTurn(messages, signed));
    expect(platform.routed_model).toBe('cheap');
    expect(platform.dropped).toEqual(['messages[2].thought_signature']);
    const tried = first.requests.slice(before).map(({ body }) => [body.model, 'thought_signature' in answerIn(body)]);
    expect(tried).toEqual([
      ['dear-upstream', true],
      ['stiff-upstream', false],
    ]);
    expect(sent(second)).toEqual({ role: 'assistant', content: ANSWER });
  });

  test('signed reasoning with other words than the answer had counts as of unknown origin', async () => {
    const messages = opening();
    expect((await chat('auto', messages)).platform.routed_model).toBe('dear');
    const elsewhere = { ...signed, content: 'Another answer.' };
    const { platform } = await chat('auto', nextTurn(messages, elsewhere));
    expect(platform.dropped).toEqual(['messages[2].thought_signature']);
  });

  test('signed reasoning of unknown origin goes only to a model that its caller names', async () => {
    const messages = nextTurn(opening(), signed);
    const routed = await chat('auto', messages);
    expect(routed.platform.dropped).toEqual(['messages[2].thought_signature']);
    expect(sent(first)).not.toHaveProperty('thought_signature');
    const pinned = await chat('dear', nextTurn(opening(), signed));
    expect(pinned.platform.dropped).toEqual([]);
    expect(sent(first)).toHaveProperty('thought_signature');
  });
});

test('the server learns and shows the length of answers, and the time to the first token with a cached prompt', async () => {
  const usage = { prompt_tokens: 2_000, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 1_500 } };
  const ask = async (more: object, key?: string) => {
    first.next({ usage, firstChunkAfterMs: 5 });
    // A latency limit depends on the expected length of the task, so the task is read.
    const body = { model: 'dear', messages: opening(), constraints: { max_latency_ms: 600_000 }, ...more };
    await eventsOf(await live.box.post('/v1/chat/completions', body, as(key)));
  };
  const streamed = { stream: true, stream_options: { include_usage: true } };
  const expected = () => live.metrics().then((all) => all.get('signalbox_task_output_tokens{task="general"}')!);
  const answers = () => live.metrics().then((all) => all.get('signalbox_task_answers{task="general"}') ?? 0);
  const known = await answers();
  // The lengths of these answers are fixed by the request, so they teach nothing.
  for (let i = 0; i < 5; i++) await ask({ max_tokens: 50 });
  // Nothing in these requests depends on their task, so the task is not read.
  for (let i = 0; i < 5; i++) await ask({ constraints: {} });
  const isLearnt = async () => (await answers()) > known + 0.1;
  await quietFor(1_100, 'a length that was learnt of these, which is published each second', isLearnt);
  const before = await expected();
  for (let i = 0; i < 5; i++) await ask(streamed);
  // Each caller adds at most one answer in ten seconds.
  await waitFor(async () => (await answers()) > known + 0.9);
  expect(await answers()).toBeLessThan(known + 2.1);
  expect(await expected()).toBe(before);
  // The measured length counts with 20 answers.
  await Promise.all(Array.from({ length: 20 }, async () => ask(streamed, await live.box.makeKey())));
  await waitFor(async () => (await answers()) > known + 20);
  expect(await expected()).toBeLessThan(before);
  const warm =
    'signalbox_endpoint_warm_ttft_seconds{provider="first",model="dear",upstream="dear-upstream",percentile="50"}';
  expect((await live.metrics()).get(warm)).toBeGreaterThan(0.004);
});
