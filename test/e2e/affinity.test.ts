import { beforeAll, describe, expect, test } from 'bun:test';
import { type AdviceAnswer, adviceOf, answerOf, eventsOf, quietFor, waitFor } from '../support/answers.ts';
import type { FakeUpstream, RecordedRequest } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { useLivePolicy, useUpstream } from '../support/use.ts';

/** What a conversation's earlier turns mean for its next one, through the real server. */
const TTL_S = 3;
/** Tokens that the upstreams report of every prompt. */
const CACHED = 1_000;

const ANSWER = 'A fake.';
const behaviour = { text: ANSWER, usage: { prompt_tokens: CACHED, completion_tokens: 9 } };
const [first, second] = [useUpstream({ behaviour }), useUpstream({ behaviour })];
const live = useLivePolicy(() => ({ 'policy.yaml': policyText() }));
let other: string;

/** `dear` gives a good price for what it has in its cache, `stiff` a poor one; `cheap` costs half of both without any. */
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
/** Between 1,000 and 1,700 tokens that nobody has asked before. */
const opening = (): Message[] => [
  { role: 'system', content: `Conversation ${++conversations}. ${'You know the tides of the sea. '.repeat(170)}` },
  { role: 'user', content: 'Who are you?' },
];
const nextTurn = (messages: readonly Message[], more: object = {}): Message[] => [
  ...messages,
  { role: 'assistant', content: ANSWER, ...more },
  { role: 'user', content: 'And then?' },
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
    test(`prices what its model has cached, after ${stream ? 'a stream' : 'an answer in one piece'}, in route and in chat`, async () => {
      const messages = opening();
      const before = await route('dear', nextTurn(messages));
      if (stream) {
        await eventsOf(
          await live.box.post('/v1/chat/completions', { model: 'dear', messages, max_tokens: 100, stream }),
        );
      } else await chat('dear', messages);
      const after = await route('dear', nextTurn(messages));
      // As they were expected, whatever the upstream counts; at 0.4 rather than 4 USD per 1M tokens, and 0.001 USD a Credit.
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

  test('of another key with the same words finds nothing', async () => {
    const messages = opening();
    await chat('dear', messages);
    const asked = await route('dear', nextTurn(messages), other);
    expect(await cachedOf(asked.decision_id, other)).toEqual({});
    const { platform } = await chat('dear', nextTurn(messages), {}, other);
    expect(await cachedOf(platform.decision_id, other)).toEqual({});
  });

  test('finds nothing once the provider has let go of it', async () => {
    const messages = opening();
    await chat('dear', messages);
    // The provider's own time, from the answer on.
    await Bun.sleep(TTL_S * 1_000 + 50);
    expect(await cachedOf((await route('dear', nextTurn(messages))).decision_id)).toEqual({});
  });

  test('finds nothing of an answer that failed', async () => {
    const messages = opening();
    first.next({ status: 400, error: { message: 'Bad.' } });
    await chat('dear', messages);
    expect(await cachedOf((await route('dear', nextTurn(messages))).decision_id)).toEqual({});
  });

  test('survives a reload', async () => {
    const messages = opening();
    await chat('dear', messages);
    const { revision } = await live.status();
    live.write('policy.yaml', policyText(0.91));
    await live.changedFrom(revision);
    expect(Object.keys(await cachedOf((await route('dear', nextTurn(messages))).decision_id))).toEqual(['dear']);
  });

  test('stays with a dearer model where its cached price makes it the better one, and nowhere else', async () => {
    const cheapest = { route_strategy: { cost_weight: 1, quality_weight: 0 } };
    for (const [served, next] of [
      ['dear', 'dear'],
      ['stiff', 'cheap'],
      ['cheap', 'cheap'],
    ] as const) {
      const messages = opening();
      expect((await chat('auto', messages, cheapest)).platform.routed_model).toBe('cheap');
      // Another conversation, which that one has not begun.
      const own = opening();
      await chat(served, own);
      expect((await chat('auto', nextTurn(own), cheapest)).platform.routed_model).toBe(next);
    }
  });
});

describe('signed reasoning', () => {
  const signed = { thought_signature: 'c2lnbmVk', reasoning_content: 'I am a fake.' };
  /** What an upstream was sent of the answer of before. */
  const answerIn = ({ messages }: RecordedRequest['body']) => (messages as Message[])[2]!;
  const sent = ({ requests }: FakeUpstream) => answerIn(requests.at(-1)!.body);

  test('goes back to the model that wrote it, and not to its stand-in of another family', async () => {
    const messages = opening();
    expect((await chat('auto', messages)).platform.routed_model).toBe('dear');
    const own = await chat('auto', nextTurn(messages, signed));
    expect(own.platform).toMatchObject({ routed_model: 'dear', dropped: [] });
    expect(sent(first)).toHaveProperty('thought_signature');
    const before = first.requests.length;
    // `stiff` is at the same provider, and of another family, too.
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

  test('with other words than the answer’s has no known origin', async () => {
    const messages = opening();
    expect((await chat('auto', messages)).platform.routed_model).toBe('dear');
    const elsewhere = { ...signed, content: 'Another answer.' };
    const { platform } = await chat('auto', nextTurn(messages, elsewhere));
    expect(platform.dropped).toEqual(['messages[2].thought_signature']);
  });

  test('of unknown origin goes only to a model that its caller names', async () => {
    const messages = nextTurn(opening(), signed);
    const routed = await chat('auto', messages);
    expect(routed.platform.dropped).toEqual(['messages[2].thought_signature']);
    expect(sent(first)).not.toHaveProperty('thought_signature');
    const pinned = await chat('dear', nextTurn(opening(), signed));
    expect(pinned.platform.dropped).toEqual([]);
    expect(sent(first)).toHaveProperty('thought_signature');
  });
});

test('how long answers are, and how soon they come from a cache, is learnt and shown', async () => {
  const usage = { prompt_tokens: 2_000, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 1_500 } };
  const ask = async (more: object) => {
    first.next({ usage, firstChunkAfterMs: 5 });
    // A ceiling goes by the task, which is read for it.
    const body = { model: 'dear', messages: opening(), constraints: { max_latency_ms: 600_000 }, ...more };
    await eventsOf(await live.box.post('/v1/chat/completions', body));
  };
  const expected = () => live.metrics().then((all) => all.get('signalbox_task_output_tokens{task="general"}')!);
  const answers = () => live.metrics().then((all) => all.get('signalbox_task_answers{task="general"}') ?? 0);
  const known = await answers();
  // Their length is fixed: they teach nothing.
  for (let i = 0; i < 5; i++) await ask({ max_tokens: 50 });
  // Nothing depends on their task, so it is not known.
  for (let i = 0; i < 5; i++) await ask({ constraints: {} });
  const isLearnt = async () => (await answers()) > known + 0.1;
  await quietFor(1_100, 'a length that was learnt of these, which is published each second', isLearnt);
  const before = await expected();
  for (let i = 0; i < 20; i++) await ask({ stream: true, stream_options: { include_usage: true } });
  // One caller is not heard twice within ten seconds.
  await waitFor(async () => (await answers()) > known + 0.9);
  expect(await answers()).toBeLessThan(known + 2.1);
  expect(await expected()).toBeLessThan(before);
  const warm =
    'signalbox_endpoint_warm_ttft_seconds{provider="first",model="dear",upstream="dear-upstream",percentile="50"}';
  expect((await live.metrics()).get(warm)).toBeGreaterThan(0.004);
});
