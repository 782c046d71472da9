import { afterAll, beforeAll, expect, test } from 'bun:test';
import { StoreError } from '../../src/store/store.ts';
import { World } from '../store/hostile/world.ts';
import { answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { useUpstream } from '../support/use.ts';

/** Rate limits with two applications on one store. */
const upstream = useUpstream({ key: UPSTREAM_KEY });
const LIMITS = `rate_limits:
  - { name: slow, each: key, match: key.labels.pace == "slow", requests_per_minute: 10, tokens_per_minute: 10000 }
  - { name: tokens, each: key, match: key.labels.pace == "tokens", tokens_per_minute: 800 }
  - { name: streams, each: key, match: key.labels.pace == "streams", concurrent_streams: 2 }
  - { name: away, each: key, match: key.labels.pace == "away", requests_per_minute: 5 }
`;
let fleet: Fleet;

beforeAll(async () => {
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, LIMITS);
  fleet = await startFleet(new World(), 2, { policy, env: UPSTREAM_ENV });
});
afterAll(() => fleet.stop());

const keyFor = (pace: string) => fleet.makeKey({ labels: { pace } });
const ask = (key: string, more: object = {}, at?: number, signal?: AbortSignal) => {
  const messages = [{ role: 'user', content: 'How far is the moon?' }];
  const one = at === undefined ? fleet : fleet.instances[at]!;
  return one.post(
    '/v1/chat/completions',
    { model: 'best', messages, max_tokens: 100, ...more },
    { headers: { authorization: `Bearer ${key}` }, ...(signal && { signal }) },
  );
};

test('if thirty requests reach two applications at once, as many pass as the limit allows, and the refused requests get correct headers', async () => {
  const key = await keyFor('slow');
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: 30 }, () => ask(key)));
  const minutes = (performance.now() - begun) / 60_000;
  const passed = answers.filter(({ status }) => status === 200);
  expect(passed.length).toBeGreaterThanOrEqual(10);
  // A slow machine may take longer: each six seconds allow one more request.
  expect(passed.length).toBeLessThanOrEqual(10 + Math.floor(10 * minutes));
  const refused = answers.filter(({ status }) => status !== 200);
  for (const answer of refused) {
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('10');
    expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const { details } = await expectError(answer, 'rate_limit_exceeded', null, true);
    expect(details).toEqual({ limit: 'slow', kind: 'requests' });
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(6);
  }
  const left = passed.map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')));
  expect(Math.min(...left)).toBeLessThanOrEqual(1);
  for (const { headers } of passed) expect(Number(headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(10_000);
});

test('tokens that an application has used are not available on the other application', async () => {
  const key = await keyFor('tokens');
  const begun = performance.now();
  let used = 0;
  for (let asked = 0; asked < 200; asked++) {
    const answer = await ask(key, {}, asked % 2);
    if (answer.status !== 200) {
      expect(await limitOf(answer)).toEqual({ limit: 'tokens', kind: 'tokens' });
      break;
    }
    const { usage } = await answerOf(answer);
    used += usage?.total_tokens ?? 0;
  }
  const came = (800 * (performance.now() - begun)) / 60_000;
  // The limit reserves a request's expected tokens, which are more than the request uses, so the last requests are refused although some
  // tokens are left.
  expect(used).toBeGreaterThan(400);
  expect(used).toBeLessThan(800 + came);
});

const limitOf = async (answer: Response) => (await expectError(answer, 'rate_limit_exceeded', null, true)).details;

test('two applications count their open streams together, and a stream that ends makes room on both applications', async () => {
  const key = await keyFor('streams');
  /** Opens a stream that stalls after its first part. */
  const open = (at: number, signal?: AbortSignal) => {
    upstream.next({ text: ['a ', 'b '], hang: 2 });
    return ask(key, { stream: true }, at, signal);
  };
  const leaving = new AbortController();
  expect((await open(0, leaving.signal)).status).toBe(200);
  expect((await open(1)).status).toBe(200);
  for (const at of [0, 1])
    expect(await limitOf(await ask(key, { stream: true }, at))).toEqual({ limit: 'streams', kind: 'streams' });
  // Requests without a stream are not limited.
  expect((await ask(key, {}, 1)).status).toBe(200);
  leaving.abort();
  const next = await waitFor(async () => {
    const answer = await ask(key, { stream: true }, 1);
    return answer.status === 200 ? answer : null;
  });
  expect((await eventsOf(next)).done).toBe(true);
});

test('while limits cannot be counted, the server refuses each request at once with retry-after, and no request passes uncounted', async () => {
  const key = await keyFor('away');
  const { rates } = fleet.world;
  const take = rates.take.bind(rates);
  rates.take = () => {
    throw new StoreError('away');
  };
  const answer = await ask(key);
  await expectError(answer, 'overloaded', null, true);
  expect(answer.headers.get('retry-after')).toBe('1');
  rates.take = take;
  await waitFor(async () => (await ask(key)).status === 200);
});
