import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Timers } from '../../src/core/time/timers.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { PRICE_CHECK_MS } from '../../src/server/price-clock.ts';
import { type OwnServer, startOwnServer } from '../support/own-server.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** A Friday; the price changes on the Saturday. */
const CHANGE = Date.UTC(2027, 0, 9);
const DAY = 86_400_000;
/** Half an hour, so that no request of the evening before can reach the change. */
const EARLY = CHANGE - 1_800_000;

const answer = {
  ...{ id: 'up', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 },
};
/** Changes of prices are looked for a hundred times a second; all other timers have their normal intervals. */
const quick: Timers = {
  ...processTimers,
  after: (ms, run) => processTimers.after(ms === PRICE_CHECK_MS ? 10 : ms, run),
};
let now = EARLY;
/** Moves the clock while the provider answers. */
let during = () => {};
let upstream: OwnServer;
let box: Signalbox;

beforeAll(async () => {
  upstream = startOwnServer(() => {
    during();
    return Response.json(answer);
  });
  const rises = 'until: 2027-01-09T01:00:00+01:00, later: [{ input: 3, output: 3 }]';
  const policy = testPolicy(
    { up: `${upstream.url}/v1` },
    {
      rising: { endpoints: ['up'], price: { input: 1, output: 1 } },
      steady: { endpoints: ['up'], price: { input: 2, output: 2 } },
      begun: { endpoints: ['up'], price: { input: 1, output: 1 } },
      weekend: { endpoints: ['up'], price: { input: 1, output: 1 } },
    },
    'selectors: { cheap: { strategy: auto-cheap, models: { require: \'model.id in ["rising", "steady"]\' } } }\nbudgets: [{ name: all, limit_credits: 5000, window: total }]\n',
  );
  /** Adds keys to the price of a model. */
  const withPrice = (text: string, model: string, keys: string): string => {
    const [head = '', tail = ''] = text.split(`  ${model}:`);
    return `${head}  ${model}:${tail.replace('output: 1', `output: 1, ${keys}`)}`;
  };
  const atWeekends = 'hours: [{ from: "00:00", to: "24:00", days: [sat, sun], input: 0.5, output: 0.5 }]';
  const withRise = [
    ['rising', rises],
    ['begun', `billed_at: start, ${rises}`],
    ['weekend', atWeekends],
  ].reduce((text, [model = '', keys = '']) => withPrice(text, model, keys), policy);
  box = await startSignalbox({ policy: withRise, env: UPSTREAM_ENV, timers: quick, now: () => now, clock: () => now });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});
async function ask(model: string, more: Readonly<Record<string, unknown>> = {}) {
  const messages = [{ role: 'user', content: `Answer yes or no. ${'Well? '.repeat(100)}` }];
  const response = await box.post('/v1/chat/completions', { model, messages, max_tokens: 100, ...more });
  const body = (await response.json()) as {
    readonly model: string;
    readonly platform: { readonly credits_consumed: number; readonly policy_revision: string };
    readonly error?: { readonly code: string };
  };
  return { ...body, status: response.status, id: response.headers.get('x-signalbox-decision-id') };
}
const chargedFor = async (model: string): Promise<number> => (await ask(model)).platform.credits_consumed;
/** Waits until the catalog shows a price. No request for a model is sent. */
async function shown(model: string, price: string): Promise<void> {
  while ((await priceOf(model)) !== price) await Bun.sleep(5);
}
const priceOf = async (model: string): Promise<unknown> => {
  const { data } = (await (await box.get('/admin/models')).json()) as {
    readonly data: readonly { readonly id: string; readonly platform?: unknown; readonly price?: unknown }[];
  };
  const found = data.find(({ id }) => id === model);
  return JSON.stringify(found).match(/"input_usd":"([\d.]+)"/)?.[1];
};

/** The tests follow the clock, which never goes back. */
describe('a price that changes while the server runs', () => {
  let before: Awaited<ReturnType<typeof ask>>;

  test('applies until its change, and limits cover it alone while no request can reach the change', async () => {
    before = await ask('cheap');
    expect([before.model, before.platform.credits_consumed, await priceOf('rising')]).toEqual(['rising', 0.2, '1']);
    expect(await chargedFor('weekend')).toBe(0.2);
    expect(await ask('rising', { budget_limit: 2 })).toMatchObject({ status: 200 });
  });

  test('is covered by the limits of a request that could reach it', async () => {
    now = CHANGE - 4_000;
    const refused = await ask('rising', { budget_limit: 2 });
    expect(refused).toMatchObject({ status: 400, error: { code: 'budget_limit_too_low' } });
    expect(await ask('rising', { budget_limit: 6 })).toMatchObject({ status: 200 });
    expect((await ask('cheap')).model).toBe('rising');
  });

  test('is charged at its start for a request that it overtakes, if the policy says so', async () => {
    during = () => {
      now = CHANGE + 1_000;
    };
    expect(await chargedFor('begun')).toBe(0.2);
    during = () => {};
    expect(await chargedFor('begun')).toBe(0.6);
  });

  test('is charged, shown and chosen by on its own side of the change, and both sides replay', async () => {
    const after = await ask('cheap');
    expect([after.model, await chargedFor('rising'), await priceOf('rising')]).toEqual(['steady', 0.6, '3']);
    const [revision, ...state] = after.platform.policy_revision.split('.');
    const [former, ...formerState] = before.platform.policy_revision.split('.');
    expect([revision, state.length, formerState.length]).toEqual([former, 1, 1]);
    expect(state).not.toEqual(formerState);
    for (const { id } of [before, after]) {
      const decision = await (await box.get(`/v1/decisions/${id}`)).json();
      expect(decision).toMatchObject({ replay: { matches: true } });
    }
  });

  test('on some days of the week is charged on these days, at the dearer end of a request that leaves them', async () => {
    expect(await chargedFor('weekend')).toBe(0.1);
    now = CHANGE + 2 * DAY - 1_000;
    expect(await chargedFor('weekend')).toBe(0.1);
    during = () => {
      now = CHANGE + 2 * DAY;
    };
    expect(await chargedFor('weekend')).toBe(0.2);
  });

  test('applies without any request, also if the computer has slept over it', async () => {
    await shown('weekend', '1');
    now = CHANGE + 7 * DAY;
    await shown('weekend', '0.5');
  });

  test('applies to recommendations from its first moment', async () => {
    const estimate = async () => {
      const body = { model: 'weekend', messages: [{ role: 'user', content: 'Hi' }] };
      return Object(await (await box.post('/v1/route', body)).json()).estimated_cost_credits;
    };
    const atWeekend = await estimate();
    now = CHANGE + 9 * DAY;
    expect(await estimate()).toBe(2 * atWeekend);
  });

  test('leaves books whose charges the audit computes again, and whose bills name the moment', async () => {
    const { code, out } = await runHere(['ledger', 'audit', '--idle', '--data', box.data]);
    expect([code, out]).toEqual([0, expect.stringContaining('nothing wrong')]);
  });
});
