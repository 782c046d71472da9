import { afterEach, describe, expect, test } from 'bun:test';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** Listed fallbacks together with limits of endpoints and spread, as callers of a real server see them. */
const up = { a: useUpstream(), b: useUpstream() };
const boxes: Signalbox[] = [];

afterEach(async () => {
  for (const upstream of Object.values(up)) {
    upstream.behave({});
    upstream.requests.length = 0;
  }
  await Promise.all(boxes.splice(0).map((box) => box.stop()));
});

/** The models `a` and `b`, each at its own provider. `a` lists fallbacks, and its endpoint has limits. */
async function start(fallbacks: string, limits: string, edit = (policy: string) => policy): Promise<Signalbox> {
  const policy = testPolicy(
    { a: up.a.url, b: up.b.url },
    {
      a: { endpoints: ['a'], quality: 0.9, more: `    fallbacks: ${fallbacks}\n` },
      b: { endpoints: ['b'], quality: 0.5 },
    },
  ).replaceAll(/provider: (\w), upstream: [\w-]+/g, `$&, limits: { ${limits} }`);
  const box = await startSignalbox({ policy: edit(policy), env: UPSTREAM_ENV });
  boxes.push(box);
  return box;
}

const BODY = { model: 'a', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };

const chat = (box: Signalbox, body: object = {}) => box.post('/v1/chat/completions', { ...BODY, ...body });

/** Returns which models were tried and how each attempt ended, such as `a server`. */
async function tried(response: Response): Promise<readonly string[]> {
  expect(response.status).toBe(200);
  const isStream = response.headers.get('content-type')?.includes('event-stream');
  const { platform } = isStream ? (await eventsOf(response)).chunks.at(-1)! : await answerOf(response);
  return platform.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`);
}

const REFUSED = { text: [], finish: 'content_filter', usage: { prompt_tokens: 10, completion_tokens: 1 } } as const;
/** Azure's answer to a prompt that its content filter refuses. */
const FILTERED = { status: 400, error: { message: 'The prompt was filtered.', code: 'content_filter' } } as const;

describe.each([false, true])('with stream: %p', (stream) => {
  test('a refused answer gives back the place of its endpoint, and counts with the tokens that it used', async () => {
    const box = await start('{ refused: [b] }', 'concurrent_requests: 1, tokens_per_minute: 2000');
    for (let sent = 0; sent < 4; sent++) {
      up.a.next(REFUSED);
      expect(await tried(await chat(box, { stream }))).toEqual(['a refused', 'b ok']);
    }
    const { data } = (await (await box.get('/admin/endpoints')).json()) as {
      readonly data: readonly { readonly model: string; readonly limits: readonly { readonly used: number }[] }[];
    };
    const used = (model: string) => data.find((one) => one.model === model)!.limits.map((limit) => limit.used);
    expect(used('a')[1]).toBe(0);
    expect(used('b')[1]).toBe(0);
    // The provider of `a` reported 11 tokens for each refused answer.
    expect(used('a')[0]).toBeLessThanOrEqual(44 / 2000);
  });

  test('the fallback for rate limits is called at once if the limit of the endpoint is used up', async () => {
    const box = await start('{ rate_limit: [b] }', 'requests_per_minute: 1');
    expect(await tried(await chat(box, { stream }))).toEqual(['a ok']);
    const begun = performance.now();
    expect(await tried(await chat(box, { stream }))).toEqual(['b ok']);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  test("a prompt that the provider's content filter refuses goes to the fallback for refusals, and to no other endpoint of the model", async () => {
    const box = await start('{ refused: [b] }', 'concurrent_requests: 1', (policy) =>
      policy.replace('{ provider: a,', '{ provider: a, upstream: x }, { provider: a,'),
    );
    up.a.next(FILTERED);
    expect(await tried(await chat(box, { stream }))).toEqual(['a rejected', 'b ok']);
    expect(up.a.requests).toHaveLength(1);
    up.a.next({ status: 400, error: { message: 'Invalid value for tools' } });
    expect((await chat(box, { stream })).status).toBe(400);
    expect(up.b.requests).toHaveLength(1);
  });

  test("a content filter's refusal of the prompt is final without a fallback for refusals", async () => {
    const box = await start('[b]', 'concurrent_requests: 1');
    up.a.next(FILTERED);
    expect((await chat(box, { stream })).status).toBe(400);
    expect(up.b.requests).toHaveLength(0);
  });

  test('a limit that is used up leads to no fallback for other reasons', async () => {
    const box = await start('{ error: [b] }', 'requests_per_minute: 1');
    expect(await tried(await chat(box, { stream }))).toEqual(['a ok']);
    expect((await chat(box, { stream })).status).toBe(429);
    expect(up.b.requests).toHaveLength(0);
  });
});

test('a caller who disconnects while a refused answer is read to its end gives back the place, and no fallback is called', async () => {
  const box = await start('{ refused: [b] }', 'concurrent_requests: 1');
  up.a.next({ ...REFUSED, hang: 2 });
  const leaver = new AbortController();
  const left = box
    .post('/v1/chat/completions', { ...BODY, stream: true }, { signal: leaver.signal })
    .then((response) => response.text())
    .catch(() => null);
  await waitFor(() => up.a.requests.length === 1);
  await Bun.sleep(50);
  leaver.abort();
  await left;
  await waitFor(() => up.a.aborted > 0);
  expect(up.b.requests).toHaveLength(0);
  expect(await tried(await chat(box))).toEqual(['a ok']);
});

test('an answer with several choices is refused if a filter ended all of them', async () => {
  const box = await start('{ refused: [b] }', 'concurrent_requests: 1', (policy) =>
    policy.replaceAll('capabilities: [', 'capabilities: [choices, '),
  );
  const choice = (index: number, finish_reason: string) => ({ index, finish_reason, message: { content: '' } });
  const answerWith = (...finishes: string[]) => ({
    raw: [
      JSON.stringify({
        object: 'chat.completion',
        choices: finishes.map((finish, at) => choice(at, finish)),
        usage: { prompt_tokens: 10, completion_tokens: 2 },
      }),
    ],
    contentType: 'application/json',
  });
  up.a.next(answerWith('content_filter', 'content_filter'), answerWith('content_filter', 'stop'));
  expect(await tried(await chat(box, { n: 2 }))).toEqual(['a refused', 'b ok']);
  expect(await tried(await chat(box, { n: 2 }))).toEqual(['a ok']);
});

describe('the reasoning of earlier turns', () => {
  const asClaude = [useUpstream({ dialect: 'anthropic' }), useUpstream({ dialect: 'anthropic' })] as const;
  const SEALED = 'c2VhbGVkLWJ5LXRoZS1tb2RlbA==';

  /** The models `a` and `b` at Anthropic's own dialect, or at OpenAI's with OpenRouter's members for reasoning. */
  async function startReasoning(adapter: 'anthropic' | 'openai-compatible'): Promise<Signalbox> {
    const [a, b] = adapter === 'anthropic' ? asClaude : [up.a, up.b];
    const policy = testPolicy(
      { a: { url: a.url, adapter }, b: { url: b.url, adapter } },
      { a: { endpoints: ['a'], quality: 0.9, more: '    fallbacks: [b]\n' }, b: { endpoints: ['b'], quality: 0.5 } },
    ).replaceAll('capabilities: [', 'capabilities: [reasoning, ');
    const settings = 'settings: { reasoning_history: reasoning_details }';
    const box = await startSignalbox({
      policy: adapter === 'anthropic' ? policy : policy.replaceAll('passthrough: [verbosity]', settings),
      env: UPSTREAM_ENV,
    });
    boxes.push(box);
    return box;
  }

  test('of an unknown writer goes to the model that the request names, and to none of its fallbacks', async () => {
    const box = await startReasoning('openai-compatible');
    const details = [{ type: 'reasoning.encrypted', data: SEALED }];
    const answer = { role: 'assistant', content: 'Aye.', reasoning_details: details };
    const turn = (content: string) => ({ role: 'user', content });
    up.a.next({ status: 429, headers: { 'retry-after-ms': '1' } });
    const response = await chat(box, { messages: [turn('Say aye.'), answer, turn('Go on.')] });
    expect(await tried(response)).toEqual(['a rate_limited', 'b ok']);
    expect(up.a.requests.at(-1)!.text).toContain(SEALED);
    expect(up.b.requests.at(-1)!.text).not.toContain(SEALED);
  });

  test('goes to no fallback, even if the fallback gets the request unchanged', async () => {
    const [a, b] = asClaude;
    const box = await startReasoning('anthropic');
    const body = { model: 'a', max_tokens: 100, messages: [{ role: 'user', content: 'Say aye.' }] };
    a.behave({ text: 'Aye.', reasoning: 'Hm.' });
    const begun = (await (await box.post('/v1/messages', { ...body, thinking: { type: 'adaptive' } })).json()) as {
      readonly content: readonly { readonly type: string; readonly signature?: string }[];
    };
    const thought = begun.content.find(({ type }) => type === 'thinking')!;
    for (const text of ['Aye.', 'Text of an unknown writer.']) {
      const answer = { role: 'assistant', content: [thought, { type: 'text', text }] };
      const messages = [...body.messages, answer, { role: 'user', content: 'Go on.' }];
      a.next({ status: 429, headers: { 'retry-after-ms': '1' } });
      const { platform } = await answerOf(await box.post('/v1/messages', { ...body, messages }));
      expect(platform.routed_model).toBe('b');
      expect(a.requests.at(-1)!.text).toContain(thought.signature!);
      expect(b.requests.at(-1)!.text).not.toContain(thought.signature!);
      expect(b.requests.at(-1)!.text).toContain(text);
      await Bun.sleep(5);
    }
  });
});
