import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import OpenAI from 'openai';
import { closedBooks } from '../gateway/money/books.ts';
import { capOf } from '../gateway/money/gate.ts';
import type { MadeKey } from '../gateway/money/keys.ts';
import { askOpenAI, asWorst, hello, type Purse, pursePolicy, startPurse, tokens } from '../gateway/money/purse.ts';
import { adviceOf, answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { UPSTREAM_ENV } from '../support/policies.ts';
import { makeTestKey, startSignalbox, temporaryFolder, writePolicy } from '../support/signalbox.ts';

/**
 * Tests the effects of budgets on requests. Edits of budgets are in test/gateway/money/edits.test.ts; many requests at once are in
 * overspend.test.ts.
 */
const WAIT_MS = 600;
let purse: Purse;

beforeAll(async () => {
  purse = await startPurse(
    WAIT_MS,
    `name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: 1, window: month`,
    `name: thrifty, each: key.labels.thrifty, match: 'key.labels.thrifty != ""', limit_credits: 5, window: total, on_exhausted: downgrade`,
    `name: loose, each: key.labels.crew, match: 'key.labels.kind == "loose"', limit_credits: 1, window: day`,
    `name: pins, each: key, match: 'request.model == "best" && key.labels.kind == "pins"', limit_credits: 0.5, window: week`,
    `name: watched, each: key, match: 'key.labels.kind == "watched"', limit_credits: 1.326, window: day, alert_at: [0.5, 0.6, 1]`,
  );
});
afterEach(() => {
  purse.answers.usageOf = asWorst;
  purse.gate.open();
});
afterAll(() => purse.stop());

const rows = async () => (await closedBooks(purse.live.box.data)).entries.length;

describe('a budget that is spent', () => {
  let key: MadeKey;
  beforeAll(async () => {
    key = await purse.key({ team: 'spent' });
    await purse.spend(key, 2);
  });

  test('a spent budget refuses with 402, its name, figures and renewal time, and no upstream is called', async () => {
    const [sent, written] = [purse.gate.requests.length, await rows()];
    const response = await purse.chat(key);
    const { details, message } = await expectError(response, 'insufficient_quota');
    const now = new Date();
    expect(details).toEqual({
      budget: 'team',
      subject: 'spent',
      window: 'month',
      limit_credits: 1,
      spent_credits: 0.884,
      reserved_credits: 0,
      needed_credits: 0.442,
      limit_usd: '0.001',
      spent_usd: '0.000884',
      reserved_usd: '0',
      needed_usd: '0.000442',
      renews_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString(),
    });
    expect(message).toStartWith(
      'The budget `team` of `spent` has spent 0.884 of its 1 Credit (0.000884 of 0.001 USD). It renews at ',
    );
    expect(response.headers.get('retry-after')).toBeNull();
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect([purse.gate.requests.length, await rows()]).toEqual([sent, written]);
  });

  test('a spent budget refuses a stream with the same status', async () => {
    await expectError(await purse.chat(key, { stream: true }), 'insufficient_quota');
  });

  test('a nearly spent budget still pays for a request that fits its rest', async () => {
    // 42 + 4 × 18 = 114 of the 116 thousandths of a Credit that are left.
    const response = await purse.chat(key, { max_tokens: 18 });
    expect((await answerOf(response)).platform.credits_consumed).toBe(0.114);
    await expectError(await purse.chat(key, { max_tokens: 1 }), 'insufficient_quota');
  });

  test('OpenAI’s client does not retry after a budget is spent', async () => {
    const { answered, statuses } = await askOpenAI(purse, key);
    expect(answered).toBeInstanceOf(OpenAI.APIError);
    expect(answered).toMatchObject({ status: 402, code: 'insufficient_quota', type: 'insufficient_quota' });
    expect(statuses).toEqual([402]);
  });

  test('a spent budget applies only to its team: another team, and a key without the label, are served', async () => {
    const other = await purse.key({ team: 'other' });
    const unlabelled = await purse.key({});
    expect((await purse.chat(other)).status).toBe(200);
    for (let i = 0; i < 4; i++) expect((await purse.chat(unlabelled)).status).toBe(200);
  });
});

describe('a budget with `on_exhausted: downgrade`', () => {
  let key: MadeKey;
  beforeAll(async () => {
    key = await purse.key({ thrifty: 'one' });
  });
  /**
   * If a request has no output limit, its worst case is 42 + 4 × 1024 thousandths of a Credit with `best`, and a tenth of that with
   * `plain`.
   */
  const chat = (body: object = {}) => purse.chat(key, { max_tokens: undefined, ...body });
  const refusal = {
    budget: 'thrifty',
    subject: 'one',
    window: 'total',
    limit_credits: 5,
    spent_credits: 4.966,
    reserved_credits: 0,
    needed_credits: 0.0442,
    limit_usd: '0.005',
    spent_usd: '0.004966',
    reserved_usd: '0',
    needed_usd: '0.0000442',
    renews_at: null,
  };

  test('the best model is chosen while it fits; a recommendation is the same and holds nothing', async () => {
    const before = await rows();
    expect((await adviceOf(await purse.route(key))).recommended_model).toBe('best');
    expect(await rows()).toBe(before);
    purse.answers.usageOf = () => tokens(42, 250);
    expect((await answerOf(await chat())).platform).toMatchObject({ routed_model: 'best', credits_consumed: 1.042 });
  });

  test('when the best model no longer fits, chat and route choose a cheaper one; the output of a named model is limited', async () => {
    expect((await adviceOf(await purse.route(key))).recommended_model).toBe('plain');
    // 42 + 4 × 979 of the 3,958 thousandths of a Credit that are left.
    expect(await adviceOf(await purse.route(key, { model: 'best' }))).toMatchObject({ max_cost_credits: 3.958 });
    purse.answers.usageOf = () => tokens(42, 100);
    const pinned = await answerOf(await chat({ model: 'best' }));
    expect(pinned.platform).toMatchObject({ routed_model: 'best', output_capped_by: 'thrifty' });
    expect(capOf(purse.gate.requests.at(-1)!)).toBe(979);
    purse.answers.usageOf = () => tokens(42, 1000);
    for (let i = 0; i < 8; i++) {
      const { platform } = await answerOf(await chat());
      expect(platform).toMatchObject({ routed_model: 'plain', credits_consumed: 0.4042 });
      expect(platform).not.toHaveProperty('output_capped_by');
    }
  });

  test('when no cheaper model fits, the output is limited, down to the least useful length', async () => {
    // 282.4, then 78.2 thousandths of a Credit are left; `best` would need 442 for 100 tokens.
    for (const [cap, used] of [
      [695, 500],
      [185, 100],
    ] as const) {
      purse.answers.usageOf = () => tokens(42, used);
      const { platform } = await answerOf(await chat());
      expect(platform).toMatchObject({ routed_model: 'plain', output_capped_by: 'thrifty' });
      expect(capOf(purse.gate.requests.at(-1)!)).toBe(cap);
    }
  });

  test('when no useful output fits, chat and route refuse with the same words, and a smaller answer still fits', async () => {
    const chatted = await expectError(await chat(), 'insufficient_quota');
    expect(chatted.details).toEqual(refusal);
    expect(await expectError(await purse.route(key), 'insufficient_quota')).toEqual(chatted);
    expect((await answerOf(await chat({ max_tokens: 64 }))).platform.routed_model).toBe('plain');
  });

  test('if a model is too expensive only while other requests run, a cheaper model is used without waiting', async () => {
    const busy = await purse.key({ thrifty: 'busy' });
    purse.gate.close();
    const first = purse.chat(busy, { max_tokens: undefined });
    await waitFor(() => purse.gate.inside === 1);
    const second = purse.chat(busy, { max_tokens: undefined });
    await waitFor(() => purse.gate.inside === 2);
    expect(purse.gate.requests.map(({ model }) => model)).toEqual(['best-upstream', 'plain-upstream']);
    purse.gate.open();
    expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('open holds that block a request', () => {
  const GAVE_UP = 'signalbox_contention_waits_total{outcome="gave_up"}';
  const figure = (name: string, value: number) => waitFor(async () => (await purse.live.metrics()).get(name) === value);
  /** Waits until this many requests wait for money. */
  const contending = (count: number) => figure('signalbox_contention_waiting', count);

  /** Holds 0.884 of a new team's Credit with two requests that are not answered. */
  async function heldUp(team: string) {
    const key = await purse.key({ team });
    purse.gate.close();
    const running = [purse.chat(key), purse.chat(key)];
    await waitFor(() => purse.gate.inside === 2);
    return { key, running };
  }

  test('a request waits for open holds, and is served when another request releases what it did not use', async () => {
    purse.answers.usageOf = () => tokens(10, 10);
    const { key, running } = await heldUp('waits');
    const waiting = purse.chat(key);
    await contending(1);
    expect(purse.gate.inside).toBe(2);
    purse.gate.release(1);
    await waitFor(() => purse.gate.requests.length === 3);
    purse.gate.open();
    const all = await Promise.all([...running, waiting]);
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('the wait ends with 429 and `retry-after` after `contention_wait_ms`; a recommendation, which holds nothing, does not wait', async () => {
    const { key, running } = await heldUp('contended');
    expect((await adviceOf(await purse.route(key, { model: 'plain' }))).max_cost_credits).toBe(0.4138);
    const since = performance.now();
    const response = await purse.chat(key);
    expect(performance.now() - since).toBeWithin(WAIT_MS - 10, WAIT_MS + 5_000);
    const { details } = await expectError(response, 'budget_contended');
    expect(details).toMatchObject({ budget: 'team', subject: 'contended', spent_credits: 0, reserved_credits: 0.884 });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    purse.gate.open();
    await Promise.all(running);
  });

  test('OpenAI’s client retries after the 429 until money is free', async () => {
    purse.answers.usageOf = () => tokens(10, 10);
    const { key, running } = await heldUp('patient');
    const before = (await purse.live.metrics()).get(GAVE_UP)!;
    const asked = askOpenAI(purse, key);
    await figure(GAVE_UP, before + 1);
    purse.gate.open();
    const { answered, statuses } = await asked;
    expect(answered).toMatchObject({ object: 'chat.completion', usage: { completion_tokens: 10 } });
    expect(statuses.length).toBeGreaterThan(1);
    expect(statuses).toEqual([...Array<number>(statuses.length - 1).fill(429), 200]);
    await Promise.all(running);
  });

  test('when the caller disconnects, the wait ends: nothing is sent upstream, and nothing is charged', async () => {
    purse.answers.usageOf = () => tokens(10, 10);
    const { key, running } = await heldUp('leaves');
    const caller = new AbortController();
    const waiting = purse.chat(key, {}, { signal: caller.signal }).catch(() => null);
    await contending(1);
    caller.abort();
    expect(await waiting).toBeNull();
    // The server must notice the closed connection before money becomes free.
    await contending(0);
    purse.gate.open();
    await Promise.all(running);
    await purse.spend(key, 1);
    const { funds } = await closedBooks(purse.live.box.data);
    expect(purse.gate.requests).toHaveLength(3);
    expect(funds.find(({ subject }) => subject === 'leaves')).toMatchObject({ spent: 150_000, held: 0 });
  });

  test('if the holds end with everything spent, the wait ends at once with 402', async () => {
    const { key, running } = await heldUp('ends');
    const waiting = purse.chat(key);
    await contending(1);
    purse.gate.open();
    await Promise.all(running);
    const { details } = await expectError(await waiting, 'insufficient_quota');
    expect(details).toMatchObject({ spent_credits: 0.884, reserved_credits: 0 });
  });
});

describe('the requests that a budget counts', () => {
  test('keys without the label in `each` share the window with the empty value', async () => {
    const [one, two] = [await purse.key({ kind: 'loose' }), await purse.key({ kind: 'loose' })];
    const named = await purse.key({ kind: 'loose', crew: 'red' });
    await purse.spend(one, 2);
    const { details } = await expectError(await purse.chat(two), 'insufficient_quota');
    expect(details).toMatchObject({ budget: 'loose', subject: '', spent_credits: 0.884 });
    expect((await purse.chat(named)).status).toBe(200);
  });

  test('a `match` on the model counts only requests that name this model', async () => {
    const key = await purse.key({ kind: 'pins' });
    await purse.spend(key, 1);
    const { details } = await expectError(await purse.chat(key, { model: 'best' }), 'insufficient_quota');
    expect(details).toMatchObject({ budget: 'pins', subject: key.id, spent_credits: 0.442 });
    expect((await answerOf(await purse.chat(key))).platform.routed_model).toBe('best');
    await expectError(await purse.chat(key, { model: 'best' }), 'insufficient_quota');
  });

  test('media without an upper bound cannot draw on a budget: 422 with the reason; without a budget they are allowed', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const asked = { messages: [{ role: 'user', content: [image] }] };
    const { details } = await expectError(
      await purse.chat(await purse.key({ team: 'painters' }), asked),
      'no_eligible_model',
    );
    expect(details.rejected).toEqual(
      ['best', 'plain'].map((model) => ({ model, reasons: [expect.stringContaining('have no upper bound')] })),
    );
    expect((await purse.chat(await purse.key({}), asked)).status).toBe(200);
  });
});

test('the log has each budget alert once, only for the highest share that was reached, with figures', async () => {
  const key = await purse.key({ kind: 'watched' });
  const alerts = () =>
    purse.live.box.lines
      .filter((line) => line.includes('a budget has reached an alert threshold') && line.includes(key.id))
      .map((line) => JSON.parse(line) as { readonly share: number });
  // The key spends a third of its budget, then two thirds (above 0.5 and 0.6), then everything.
  await purse.spend(key, 1);
  await rows();
  expect(alerts()).toEqual([]);
  await purse.spend(key, 2);
  await expectError(await purse.chat(key), 'insufficient_quota');
  await waitFor(() => alerts().length > 1);
  const told = { level: 'warn', budget: 'watched', limit_credits: 1.326 };
  expect(alerts()).toMatchObject([
    { ...told, share: 0.6, spent_credits: 0.884 },
    { ...told, share: 1, spent_credits: 1.326 },
  ]);
});

test('`GET /v1/decisions/{id}` explains a request with a budget, including what its funds had left', async () => {
  const key = await purse.key({ thrifty: 'explained' });
  const { platform } = await answerOf(await purse.chat(key));
  const get = { headers: { authorization: `Bearer ${key.key}` } };
  const found = await waitFor(async () => {
    const response = await purse.live.box.get(`/v1/decisions/${platform.decision_id}`, get);
    return response.status === 200 ? ((await response.json()) as Record<string, unknown>) : null;
  });
  expect(found).toMatchObject({
    choice: 'best',
    facts: { max_funded_credits: 5 },
    outcome: { status: 'completed', credits_consumed: 0.442 },
  });
});

test('spending still counts after a restart', async () => {
  const data = temporaryFolder();
  const key = makeTestKey();
  const budget = '\nbudgets: [{ name: all, limit_credits: 1, window: total, alert_at: [0.5] }]\n';
  const policies = writePolicy(pursePolicy(purse.gate.url, 0) + budget);
  const start = (isProcess: boolean) =>
    startSignalbox({
      isProcess,
      data,
      args: ['--policies', policies],
      env: { ...UPSTREAM_ENV, SIGNALBOX_API_KEY: key },
    });
  const asked = { model: 'best', messages: hello, max_tokens: 100 };
  let box = await start(false);
  for (let i = 0; i < 2; i++) expect((await box.post('/v1/chat/completions', asked)).status).toBe(200);
  for (const how of ['SIGTERM', 'SIGKILL'] as const) {
    box.signal(how);
    await box.exited;
    box = await start(how === 'SIGTERM');
    const { details } = await expectError(await box.post('/v1/chat/completions', asked), 'insufficient_quota');
    expect(details).toMatchObject({ budget: 'all', spent_credits: 0.884, reserved_credits: 0 });
    expect(box.lines.filter((line) => line.includes('reached an alert threshold'))).toEqual([]);
  }
  await box.stop();
  for (const folder of [data, policies]) rmSync(folder, { recursive: true });
});
