import { afterEach, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import type { RecordedRequest } from '../support/fake-upstream.ts';
import { startLivePolicy } from '../support/live-policy.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { useUpstream } from '../support/use.ts';

/** The limits of endpoints, as callers and operators of a real server see them. */
const first = useUpstream();
const second = useUpstream();
const boxes: Signalbox[] = [];

afterEach(async () => {
  for (const upstream of [first, second]) upstream.behave({});
  await Promise.all(boxes.splice(0).map((box) => box.stop()));
});

/** A model with an endpoint at `first` under these limits, and an unlimited endpoint at `second` if `hasOther`. */
const policyText = (limits: string, hasOther: boolean): string =>
  testPolicy(
    { first: first.url, second: second.url },
    { best: { endpoints: hasOther ? ['first', 'second'] : ['first'] } },
  ).replace(/provider: first, upstream: [\w-]+/, `$&, limits: { ${limits} }`);

async function start(limits: string, hasOther: boolean): Promise<Signalbox> {
  const box = await startSignalbox({ policy: policyText(limits, hasOther), env: UPSTREAM_ENV });
  boxes.push(box);
  return box;
}

const chat = (box: Signalbox, body: object = {}, signal?: AbortSignal) =>
  box.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20, ...body },
    { ...(signal && { signal }) },
  );

/** Counts the requests that an upstream serves at the same time. */
function meter(ms: number) {
  const seen = { now: 0, most: 0, all: 0 };
  const behaviour = (_: RecordedRequest) => {
    seen.all++;
    seen.now++;
    seen.most = Math.max(seen.most, seen.now);
    // The fake counts a request as running for as long as it waits before its headers.
    setTimeout(() => seen.now--, ms - 5);
    return { headersAfterMs: ms };
  };
  return { seen, behaviour };
}

test('requests beyond the limit of an endpoint go to the next endpoint at once, and the provider never refuses one', async () => {
  const box = await start('requests_per_minute: 5', true);
  const [before, other] = [first.requests.length, second.requests.length];
  let left = 5;
  first.behave(() => (left-- > 0 ? {} : { fail: 'rate_limited' }));
  const answers = await Promise.all(Array.from({ length: 20 }, () => chat(box)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(first.requests.length - before).toBe(5);
  expect(second.requests.length - other).toBe(15);
});

test('the decision lists the endpoints that had no room, and metrics and the list of endpoints show the used share', async () => {
  const box = await start('requests_per_minute: 2, concurrent_requests: 10', true);
  for (let asked = 0; asked < 3; asked++) await chat(box);
  const { platform } = await answerOf(await chat(box));
  expect(platform.attempts.map(({ provider }) => provider)).toEqual(['second']);
  const decision = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
  const skipped = { model: 'best', provider: 'first', upstream: 'best-upstream', endpoint: 0 };
  const limit = 'requests_per_minute';
  expect(decision).toMatchObject({ outcome: { full: [{ ...skipped, limit, most: 2, times: 1 }] } });
  const page = await (await fetch(`${box.url}/metrics`)).text();
  const names = 'provider="first",model="best",upstream="best-upstream"';
  const used = new RegExp(`signalbox_endpoint_limit_used\\{${names},limit="(\\w+)"\\} (\\S+)`, 'g');
  const shares = Object.fromEntries([...page.matchAll(used)].map(([, name, share]) => [name, Number(share)]));
  expect(shares.concurrent_requests).toBe(0);
  expect(shares.requests_per_minute).toBeGreaterThan(0.5);
  expect(await (await box.get('/admin/endpoints')).json()).toMatchObject({
    data: [
      {
        limits: [
          { limit: 'requests_per_minute', most: 2 },
          { limit: 'concurrent_requests', most: 10 },
        ],
      },
      { limits: [] },
    ],
  });
});

test('an endpoint never has more requests at the same time than its limit, and waiting requests follow when places return', async () => {
  const box = await start('concurrent_requests: 2', false);
  const { seen, behaviour } = meter(150);
  first.behave(behaviour);
  const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => chat(box, { stream: at % 2 === 0 })));
  for (const answer of answers) await answer.text();
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(seen.most).toBeLessThanOrEqual(2);
  expect(seen.all).toBe(8);
});

test('places return after failures, after callers who disconnect and after refusals', async () => {
  const box = await start('concurrent_requests: 1', false);
  first.next({ status: 400 }, { status: 500 });
  await chat(box);
  await chat(box);
  first.behave({ hang: 'headers' });
  const leaver = new AbortController();
  const before = first.requests.length;
  const left = chat(box, {}, leaver.signal).catch(() => null);
  await waitFor(() => first.requests.length > before);
  leaver.abort();
  await left;
  first.behave({});
  expect((await chat(box)).status).toBe(200);
});

test('if nothing else is left, the caller gets 429 with the limit and the time when room returns', async () => {
  const box = await start('requests_per_minute: 1', false);
  expect((await chat(box)).status).toBe(200);
  const refused = await chat(box);
  const after = Number(refused.headers.get('retry-after'));
  expect(after).toBeGreaterThan(30);
  expect(after).toBeLessThanOrEqual(60);
  const { message, details } = await expectError(refused, 'upstream_rate_limited');
  expect(message).toContain('1 request a minute');
  expect(details).toEqual({ unavailable: [{ model: 'best', state: 'full' }] });
});

test('a request waits for room that returns within seconds', async () => {
  const box = await start('requests_per_minute: 60', false);
  const answers = await Promise.all(Array.from({ length: 62 }, () => chat(box)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
});

test('at its end, an attempt counts with the tokens that it used instead of its estimate', async () => {
  const box = await start('tokens_per_minute: 1000', false);
  // Each request is estimated at more tokens than it uses.
  first.behave({ usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } });
  for (let asked = 0; asked < 5; asked++) expect((await chat(box, { max_tokens: 800 })).status).toBe(200);
  first.behave({ usage: { prompt_tokens: 2_000, completion_tokens: 1_000, total_tokens: 3_000 } });
  expect((await chat(box, { max_tokens: 800 })).status).toBe(200);
  await expectError(await chat(box, { max_tokens: 800 }), 'upstream_rate_limited');
});

for (const [name, headers] of Object.entries<Readonly<Record<string, string>>>({
  "OpenAI's": { 'x-ratelimit-remaining-requests': '0' },
  "Anthropic's": { 'anthropic-ratelimit-requests-remaining': '0' },
}))
  test(`${name} header for remaining requests lowers the level of the endpoint, and never raises it`, async () => {
    const box = await start('requests_per_minute: 10', true);
    first.next({ headers });
    const [before, other] = [first.requests.length, second.requests.length];
    await chat(box);
    await chat(box);
    expect(first.requests.length - before).toBe(1);
    expect(second.requests.length - other).toBe(1);
    first.behave({ headers: { 'x-ratelimit-remaining-requests': '1000' } });
    await Promise.all(Array.from({ length: 12 }, () => chat(box)));
    expect(first.requests.length - before).toBeLessThanOrEqual(3);
  });

interface EndpointBody {
  readonly provider: string;
  readonly limits: readonly { readonly used: number }[];
}

test.each([
  ["OpenAI's", 'x-ratelimit-remaining-tokens', false],
  ["OpenAI's", 'x-ratelimit-remaining-tokens', true],
  ["Anthropic's", 'anthropic-ratelimit-tokens-remaining', false],
])(
  '%s header for remaining tokens (%s) still counts after the end of the request, as a stream: %p',
  async (_, header, stream) => {
    const box = await start('tokens_per_minute: 10000', true);
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    first.next({ headers: { [header]: '100' }, usage });
    // The estimate is much larger than what the provider reports and what the request uses.
    const answer = await chat(box, { max_tokens: 8_000, stream });
    expect(answer.status).toBe(200);
    await answer.text();
    const used = await waitFor(async () => {
      const { data } = (await (await box.get('/admin/endpoints')).json()) as { data: readonly EndpointBody[] };
      return data.find(({ provider }) => provider === 'first')?.limits[0]?.used;
    });
    expect(used).toBeGreaterThan(0.5);
    const [before, other] = [first.requests.length, second.requests.length];
    expect((await chat(box, { max_tokens: 3_000 })).status).toBe(200);
    expect([first.requests.length - before, second.requests.length - other]).toEqual([0, 1]);
  },
);

test('an edit of the policy does not refill the limit of an endpoint', async () => {
  const policy = policyText('requests_per_minute: 1', true);
  const live = await startLivePolicy({ 'policy.yaml': policy });
  boxes.push(live.box);
  expect((await chat(live.box)).status).toBe(200);
  const before = first.requests.length;
  const { revision } = await live.status();
  live.replace('policy.yaml', policy.replace('cost: 0.3', 'cost: 0.31'));
  await live.changedFrom(revision);
  expect((await chat(live.box)).status).toBe(200);
  expect(first.requests.length).toBe(before);
});
