import { afterEach, describe, expect, test } from 'bun:test';
import { answerOf, eventsOf } from '../support/answers.ts';
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

const chat = (box: Signalbox, body: object = {}) =>
  box.post('/v1/chat/completions', {
    model: 'a',
    messages: [{ role: 'user', content: 'Say hello.' }],
    max_tokens: 100,
    ...body,
  });

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
