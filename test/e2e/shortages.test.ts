import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { MadeKey } from '../gateway/money/keys.ts';
import { askOpenAI, asWorst, hello, type Purse, startPurse } from '../gateway/money/purse.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';

/** Which shortage of money a request gets: one that passes soon, one until the window renews, or a permanent one. */
let purse: Purse;

beforeAll(async () => {
  purse = await startPurse(
    200,
    `name: tiny, each: key, match: 'key.labels.kind == "tiny"', limit_credits: 0.04, window: day`,
    `name: small, each: key, match: 'key.labels.kind == "small"', limit_credits: 0.4, window: day, on_exhausted: reject`,
    `name: capped, each: key, match: 'key.labels.kind == "capped"', limit_credits: 0.5, window: day, on_exhausted: cap`,
    `name: low, each: key, match: 'key.labels.kind == "low"', limit_credits: 0.2, window: day, on_exhausted: cap`,
  );
});
afterEach(() => {
  purse.answers.usageOf = asWorst;
  purse.gate.open();
});
afterAll(() => purse.stop());

describe('a request that costs more than a whole budget', () => {
  test('a request that costs more than a whole budget gets its own 402, with nothing spent, by chat and by route', async () => {
    const key = await purse.key({ kind: 'small' });
    const response = await purse.chat(key, { model: 'best' });
    const { details, message } = await expectError(response, 'request_exceeds_budget');
    expect(details).toMatchObject({ budget: 'small', window: 'day', limit_credits: 0.4, needed_credits: 0.442 });
    expect(details).toMatchObject({ spent_credits: 0, reserved_credits: 0 });
    expect(message).toStartWith(
      'The budget `small` is 0.4 Credits (0.0004 USD) in total, so this request can never fit.',
    );
    expect(response.headers.get('retry-after')).toBeNull();
    const advice = { model: 'best', messages: hello, max_tokens: 100 };
    expect(await expectError(await purse.route(key, advice), 'request_exceeds_budget')).toMatchObject({ details });
    expect((await purse.chat(key, { model: 'best', max_tokens: 80 })).status).toBe(200);
  });

  test('a request whose prompt alone costs more than a whole budget is refused in the same way, whatever its output limit', async () => {
    const key = await purse.key({ kind: 'tiny' });
    await expectError(await purse.chat(key, { model: 'best', max_tokens: 1 }), 'request_exceeds_budget');
  });

  test('OpenAI’s client does not retry a request that costs more than a whole budget', async () => {
    const { answered, statuses } = await askOpenAI(purse, await purse.key({ kind: 'small' }));
    expect(answered).toMatchObject({ status: 402, code: 'request_exceeds_budget', type: 'insufficient_quota' });
    expect(statuses).toEqual([402]);
  });
});

describe('with `on_exhausted: cap`, a useful answer must fit: 42 for the prompt and 4 × 100 thousandths of a Credit', () => {
  const ask = (key: MadeKey, more = {}) => purse.chat(key, { model: 'best', max_tokens: undefined, ...more });

  test('a request waits for money that other requests hold, and is refused once that money is spent', async () => {
    const key = await purse.key({ kind: 'capped' });
    purse.gate.close();
    const running = ask(key);
    await waitFor(() => purse.gate.inside === 1);
    const { details } = await expectError(await ask(key), 'budget_contended');
    expect(details).toMatchObject({ budget: 'capped', needed_credits: 0.442, spent_credits: 0 });
    purse.gate.open();
    expect((await running).status).toBe(200);
    const spent = await expectError(await ask(key), 'insufficient_quota');
    expect(spent.details).toMatchObject({ needed_credits: 0.442, spent_credits: 0.498, reserved_credits: 0 });
  });

  test('a budget that is too small for a useful answer never pays for it, but pays if the request needs less', async () => {
    const key = await purse.key({ kind: 'low' });
    const { details } = await expectError(await ask(key), 'request_exceeds_budget');
    expect(details).toMatchObject({ budget: 'low', limit_credits: 0.2, needed_credits: 0.442 });
    expect((await ask(key, { max_tokens: 20 })).status).toBe(200);
  });
});
