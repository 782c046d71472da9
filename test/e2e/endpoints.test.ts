import { expect, test } from 'bun:test';
import { waitFor } from '../support/answers.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** `GET /admin/endpoints` has the figures of the metrics in one answer. */
const upstream = useUpstream();

const box = useSignalbox(() => {
  const models = { best: { endpoints: ['first'], quality: 0.9 }, plain: { endpoints: ['second'], quality: 0.5 } };
  const policy = testPolicy({ first: upstream.url, second: upstream.url }, models, 'gateway: { retries_max: 0 }\n');
  return { policy };
});

const chat = (model: string) =>
  box.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 20 });

interface Endpoint {
  readonly provider: string;
  readonly model: string;
  readonly state: string;
  readonly retry_at: string | null;
  readonly since: string | null;
  readonly attempts: Readonly<Record<string, number>>;
}

async function endpoints(): Promise<readonly Endpoint[]> {
  const response = await box.get('/admin/endpoints');
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: Endpoint[] }).data;
}

test('the server lists every endpoint of the policy, with its attempts and the end of its cool-down', async () => {
  expect((await endpoints()).map(({ provider, model, state }) => [provider, model, state])).toEqual([
    ['first', 'best', 'healthy'],
    ['second', 'plain', 'healthy'],
  ]);
  expect((await chat('plain')).status).toBe(200);
  upstream.next({ status: 429, headers: { 'retry-after': '60' } });
  expect((await chat('best')).status).toBe(429);
  await waitFor(async () => (await endpoints())[0]!.state === 'cooling');
  const [best, plain] = await endpoints();
  expect(Date.parse(best!.retry_at!)).toBeGreaterThan(Date.now() + 5_000);
  expect(plain).toMatchObject({ state: 'healthy', retry_at: null, attempts: { ok: 1 } });

  expect(best).toMatchObject({
    why: 'rate_limited 429',
    recent_attempts: 1,
    recent_faults: 1,
    recent_share: 1,
    breaker: { state: 'closed', faults_in_a_row: 0, opens_at_faults_in_a_row: 5 },
    declared: { basis: expect.any(String), ttft_ms: expect.any(Number) },
  });
  expect(Date.parse(best!.since!)).toBeGreaterThan(Date.now() - 60_000);
  expect(plain).toMatchObject({ why: null, since: null, recent_attempts: 1, recent_faults: 0 });

  // The metrics page shows the same figures.
  const page = await (await fetch(`${box.url}/metrics`)).text();
  const counted = (await endpoints()).flatMap(({ provider, attempts }) =>
    Object.entries(attempts).map(([outcome, count]) => [provider, outcome, count]),
  );
  const lines = page.matchAll(/^signalbox_attempts_total\{provider="(\w+)".*outcome="(\w+)"\} (\d+)$/gm);
  expect([...lines].map(([, provider, outcome, count]) => [provider, outcome, Number(count)])).toEqual(counted);
});

test('the list of endpoints shows how close a circuit breaker is to opening, and whether it is open', async () => {
  const breaker = async () => {
    const [, plain] = await endpoints();
    return (plain as unknown as { breaker: Readonly<Record<string, unknown>> }).breaker;
  };
  for (let faults = 1; faults <= 5; faults++) {
    upstream.next({ status: 500 });
    expect((await chat('plain')).status).toBeGreaterThanOrEqual(500);
    const state = faults < 5 ? 'closed' : 'open';
    await waitFor(async () => (await breaker()).faults_in_a_row === faults);
    expect(await breaker()).toMatchObject({ state, faults_in_a_row: faults, recent_faults: faults });
  }
  const [, plain] = await endpoints();
  expect(plain).toMatchObject({ state: 'ejected', why: '5 faults in a row; the last: server 500' });
});
