import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { grant } from '../gateway/money/books.ts';
import { adviceOf, answerOf, eventsOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type MeteredService, type ServiceAnswer, startMeteredService } from '../support/metered-service.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { readPage, total } from '../support/prometheus.ts';
import { type Signalbox, startSignalbox, withKey } from '../support/signalbox.ts';

/**
 * Outputs that are limited to what a fund can pay for. The whole output of `m` is 15,360 tokens at 0.004 Credits, which is 61.5 Credits
 * with its prompt.
 */
const WHOLE = 15_360;
const hi = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
/** 2 bytes of text, and 32 tokens for what dialects add around them. */
const INPUT_MAX = 34;

let service: MeteredService;
let answer: ServiceAnswer;
let box: Signalbox;

beforeAll(async () => {
  service = startMeteredService('whole', () => answer);
  const policy = testPolicy(
    { up: service.url },
    { m: { endpoints: ['up'] } },
    `budgets:
  - { name: purse, each: key, match: 'key.labels.purse == "cap"', limit_credits: 5, window: total }
  - { name: shared, each: key, match: 'key.labels.purse == "shared"', limit_credits: 60, window: total }
  - { name: strict, each: key, match: 'key.labels.purse == "reject"', limit_credits: 5, window: total, on_exhausted: reject }
`,
  )
    .replace('default_max_output: 1024', `default_max_output: ${WHOLE}`)
    .replace('max_output: 8192', `max_output: ${WHOLE}`);
  box = await startSignalbox({ policy, env: UPSTREAM_ENV });
});
afterAll(async () => {
  await box.stop();
  await service.stop();
});

const ask = (key: string, more: object = {}) => box.post('/v1/chat/completions', { ...hi, ...more }, withKey(key));
const writing = (tokens: number): ServiceAnswer => ({ tokens, atOnce: 400, reports: 'last' });
/** An output limit that is ample for an answer whose usual length is shorter, in tokens. */
const AMPLE = 2_048;
/** The most output that this many Credits pay for in addition to the prompt. */
const capFor = (credits: number) => Math.floor((Math.round(credits * 1_000) - INPUT_MAX) / 4);
const idOf = (key: string) => key.slice('sb_live_'.length).split('_')[0]!;

const PAYERS: Readonly<Record<string, { readonly by: string; make(): Promise<string> }>> = {
  'a budget of the policy': { by: 'purse', make: () => box.makeKey('--label', 'purse=cap') },
  'a budget of the key': { by: 'key-month:cap', make: () => box.makeKey('--budget', '5/month') },
  'a balance': {
    by: 'balance',
    async make() {
      const key = await box.makeKey();
      await grant(box.data, idOf(key), 5_000_000);
      return key;
    },
  },
};

describe.each(Object.entries(PAYERS))('%s with 0.33 of 5 Credits spent', (_, { by, make }) => {
  let key: string;
  beforeAll(async () => {
    key = await make();
    // The provider counts 40 tokens of prompt, of which 34 were held: 0.33 Credits.
    answer = writing(74);
    expect((await answerOf(await ask(key, { max_tokens: 74 }))).platform.credits_consumed).toBe(0.33);
  });

  test('a short answer without `max_tokens` is charged what it costs, and names the fund that limited its output', async () => {
    answer = writing(65);
    const { platform, choices } = await answerOf(await ask(key));
    expect(platform).toMatchObject({ credits_consumed: 0.3, output_capped_by: by });
    expect(choices[0]).toMatchObject({ finish_reason: 'stop' });
    expect(service.bills.at(-1)!.cap).toBe(capFor(4.67));
  });

  test('an answer that reaches the limit ends with `length`, in JSON or a stream, and costs not a microcredit more', async () => {
    const advice = await adviceOf(await box.post('/v1/route', hi, withKey(key)));
    expect(advice.max_cost_credits).toBe((INPUT_MAX + 4 * capFor(4.37)) / 1_000);
    expect(advice.reasoning).toContain(` Its output is capped at ${capFor(4.37)} tokens: `);
    expect(advice.output_capped_by).toBe(by);
    answer = writing(500);
    const whole = await answerOf(await ask(key, { max_tokens: 400 }));
    expect(whole.platform).not.toHaveProperty('output_capped_by');
    answer = writing(1e6);
    const { chunks } = await eventsOf(await ask(key, { stream: true }));
    const platform = chunks.findLast((chunk) => chunk.platform)!.platform;
    expect(platform.output_capped_by).toBe(by);
    expect(chunks.flatMap(({ choices }) => choices).some(({ finish_reason }) => finish_reason === 'length')).toBe(true);
    expect(service.bills.at(-1)!.cap).toBe(capFor(4.37 - whole.platform.credits_consumed));
    await expectError(await ask(key), 'insufficient_quota');
  });
});

test('a decision shows the output limit, and the funds that it came from', async () => {
  const key = await box.makeKey('--label', 'purse=cap');
  answer = writing(65);
  const { platform } = await answerOf(await ask(key));
  const found = await waitFor(async () => {
    const response = await box.get(`/v1/decisions/${platform.decision_id}`, withKey(key));
    return response.status === 200 ? ((await response.json()) as Record<string, unknown>) : null;
  });
  expect(found).toMatchObject({
    facts: { capping_fund: { name: 'purse', unspent_credits: 5 } },
    outcome: { output_capped_by: 'purse' },
    receipt: { output_capped_by: 'purse' },
  });
});

test('the metrics count by fund whether answers reached the limit, and the log line names the fund', async () => {
  const capped = async () => {
    const page = readPage(await (await fetch(`${box.url}/metrics`)).text());
    const of = (end: string) => total(page, 'signalbox_chats_capped_total', { fund: 'purse', end });
    return [of('within') ?? 0, of('length') ?? 0] as const;
  };
  const key = await box.makeKey('--label', 'purse=cap');
  const [within, length] = await capped();
  answer = writing(65);
  const { platform } = await answerOf(await ask(key));
  answer = writing(1e6);
  await answerOf(await ask(key));
  // A request is counted when it has ended, which may be a moment after its answer.
  await waitFor(async () => (await capped()).join() === [within + 1, length + 1].join());
  const line = await waitFor(() =>
    box.lines.find((one) => one.includes('"message":"chat"') && one.includes(platform.decision_id)),
  );
  expect(JSON.parse(line)).toMatchObject({ output_capped_by: 'purse' });
});

test('`on_exhausted: reject` still refuses the request', async () => {
  const key = await box.makeKey('--label', 'purse=reject');
  const { details } = await expectError(await ask(key), 'request_exceeds_budget');
  expect(details).toMatchObject({ budget: 'strict', needed_credits: (INPUT_MAX + 4 * WHOLE) / 1_000 });
});

test('a request whose worst case fits is sent and charged as without a fund', async () => {
  const key = await box.makeKey('--label', 'purse=cap');
  answer = writing(100);
  const { platform } = await answerOf(await ask(key, { max_tokens: 1_000 }));
  expect(platform).not.toHaveProperty('output_capped_by');
  expect(service.bills.at(-1)!.cap).toBe(1_000);
});

test('if each request of a burst without `max_tokens` is too large for the budget, several requests still run at once and complete', async () => {
  const key = await box.makeKey('--label', 'purse=shared');
  const before = service.bills.length;
  answer = { tokens: 300, atOnce: 100, everyMs: 40, reports: 'last' };
  const streams = await Promise.all(Array.from({ length: 12 }, () => ask(key, { stream: true })));
  const ends = await Promise.all(streams.map(eventsOf));
  for (const { chunks } of ends) {
    expect(chunks.flatMap(({ choices }) => choices).findLast((one) => one.finish_reason)?.finish_reason).toBe('stop');
  }
  const caps = service.bills.slice(before).map(({ cap }) => cap);
  // The first request leaves half of the money. For the next, an eighth of the rest is less than an ample answer.
  expect(caps.slice(0, 3)).toEqual([capFor(30), AMPLE, AMPLE]);
  expect(Math.min(...caps)).toBe(AMPLE);
});

test('each of many requests at once gets free money or waits: the budget is used up, and never overspent', async () => {
  const key = await box.makeKey('--label', 'purse=cap');
  answer = writing(120);
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(key)));
  const bodies = await Promise.all(answers.map(async (one) => ({ status: one.status, body: await one.json() })));
  const served = bodies.filter(({ status }) => status === 200);
  // Each request costs 0.514 Credits.
  expect(served.length).toBeGreaterThanOrEqual(9);
  for (const { status } of bodies) expect([200, 402, 429]).toContain(status);
  const spent = served.reduce(
    (sum, { body }) => sum + (body as { platform: { credits_consumed: number } }).platform.credits_consumed,
    0,
  );
  expect(spent).toBeLessThanOrEqual(5);
});
