import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { asWorst, type Purse, startPurse } from '../../gateway/money/purse.ts';
import { waitFor } from '../../support/answers.ts';
import { amountOf, MICROCREDITS_PER_UNIT, startPaid } from '../support/paying.ts';

/**
 * What `/metrics` says of money, the database and payments, as a scraper sees it. Other tests check how the server counts these figures.
 */

/** The highest possible cost of one request of a purse to `best`, Credits. */
const WORST = 0.442;
let purse: Purse;

beforeAll(async () => {
  purse = await startPurse(
    400,
    `name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: 1, window: month`,
    `name: whole, limit_credits: 100, window: total`,
  );
});
afterAll(() => purse.stop());

/** Returns the metrics of one budget, by the name of the metric. */
async function budgetOf(name: string): Promise<Record<string, number>> {
  const own = [...(await purse.live.metrics())].filter(([key]) => key.endsWith(`{budget="${name}"}`));
  return Object.fromEntries(
    own.map(([key, value]) => [key.slice('signalbox_budget_'.length, key.indexOf('{')), value]),
  );
}

const figure = async (name: string): Promise<number> => (await purse.live.metrics()).get(name) ?? Number.NaN;

describe('The metrics page', () => {
  test('shows a full unused budget and the time of its renewal', async () => {
    const now = new Date();
    expect(await budgetOf('team')).toEqual({
      limit_credits: 1,
      spent_credits: 0,
      reserved_credits: 0,
      headroom_credits: 1,
      headroom_ratio: 1,
      subjects: 0,
      subjects_exhausted: 0,
      reservations_open: 0,
      oldest_reservation_seconds: 0,
      renews_timestamp_seconds: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) / 1_000,
      refusals_total: 0,
    });
    expect(await budgetOf('whole')).not.toHaveProperty('renews_timestamp_seconds');
  });

  test('shows the reserved Credits of a running request, and its spent Credits afterwards', async () => {
    const [first, second] = [await purse.key({ team: 'first' }), await purse.key({ team: 'second' })];
    await purse.spend(first, 1);
    purse.gate.close();
    const chat = purse.chat(second, { model: 'best' });
    await waitFor(() => purse.gate.inside === 1);
    expect(await figure('signalbox_reservations_open')).toBe(1);
    expect(await figure('signalbox_credits_reserved')).toBe(WORST);
    expect(await budgetOf('whole')).toMatchObject({ spent_credits: WORST, reserved_credits: WORST, subjects: 1 });
    expect(await budgetOf('team')).toMatchObject({ headroom_credits: 0.558, headroom_ratio: 0.558, subjects: 2 });
    purse.gate.open();
    expect((await chat).status).toBe(200);
    expect(await figure('signalbox_reservations_open')).toBe(0);
    expect(await figure('signalbox_credits_reserved')).toBe(0);
    expect(await budgetOf('whole')).toMatchObject({ spent_credits: 2 * WORST, reserved_credits: 0 });
  });

  test('counts requests that waited for money: successful ones and ones that gave up', async () => {
    const key = await purse.key({ team: 'waits' });
    const outcome = (name: string) => figure(`signalbox_contention_waits_total{outcome="${name}"}`);
    purse.answers.usageOf = () => ({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
    purse.gate.close();
    const running = [purse.chat(key, { model: 'best' }), purse.chat(key, { model: 'best' })];
    await waitFor(() => purse.gate.inside === 2);
    expect((await purse.chat(key, { model: 'best' })).ok).toBe(false);
    expect(await outcome('gave_up')).toBe(1);
    const late = purse.chat(key, { model: 'best' });
    await waitFor(async () => (await figure('signalbox_contention_waiting')) === 1);
    purse.gate.open();
    for (const answer of await Promise.all([...running, late])) expect(answer.status).toBe(200);
    expect([await outcome('served'), await outcome('gave_up'), await outcome('crowded')]).toEqual([1, 1, 0]);
    expect(await figure('signalbox_contention_wait_seconds_count')).toBe(2);
    // Of these requests, one waited as long as the policy allows.
    expect(await figure('signalbox_contention_wait_seconds_sum')).toBeGreaterThan(0.39);
  });

  test('shows the number and duration of writes to the database', async () => {
    const before = await figure('signalbox_store_commit_seconds_count');
    await purse.spend(await purse.key({}), 1);
    expect(await figure('signalbox_store_commit_seconds_count')).toBeGreaterThan(before);
    expect(await figure('signalbox_store_commit_seconds_sum')).toBeGreaterThan(0);
    expect(await figure('signalbox_store_commit_seconds_bucket{le="+Inf"}')).toBeGreaterThan(before);
    expect(await figure('signalbox_store_errors_total')).toBe(0);
    expect(await figure('signalbox_store_failing')).toBe(0);
  });

  test('counts refused requests for which the rest of a budget was too small', async () => {
    purse.answers.usageOf = asWorst;
    const key = await purse.key({ team: 'refused' });
    await purse.spend(key, 2);
    expect((await purse.chat(key, { model: 'best' })).status).toBe(402);
    expect(await budgetOf('team')).toMatchObject({ refusals_total: 1, subjects_exhausted: 0, headroom_credits: 0.116 });
    expect(await budgetOf('whole')).toMatchObject({ refusals_total: 0 });
  });

  test('has the budgets of the active policy, and no others', async () => {
    await purse.budgets('name: fresh, limit_credits: 3, window: day');
    expect(await budgetOf('team')).toEqual({});
    expect(await budgetOf('fresh')).toMatchObject({ limit_credits: 3 });
  });
});

/** The chain makes no block for this time, s. */
const HELD_S = 1;

test('the metrics page counts quoted and received payments with their Credits, and shows whether payments can be made', async () => {
  const paid = await startPaid();
  try {
    const page = async () => {
      const text = await (await fetch(`${paid.box.url}/metrics`)).text();
      const of = (name: string, labels = '') => {
        const line = text
          .split('\n')
          .find((one) => one.startsWith(`signalbox_${name}{network="eip155:84532"${labels}`));
        return line === undefined ? Number.NaN : Number(line.split(' ').at(-1));
      };
      return { text, of };
    };
    // The server reads the gas price in the background.
    const before = await waitFor(async () => {
      const now = await page();
      return Number.isNaN(now.of('payment_gas_ratio')) ? null : now;
    });
    expect([before.of('payments_total', ',state="captured"'), before.of('payments_credits_total')]).toEqual([0, 0]);
    expect([before.of('payment_network_ready'), before.of('payments_unsettled')]).toEqual([1, 0]);
    expect(before.of('payment_gas_ratio')).toBeGreaterThan(1);
    const account = await paid.payer();
    const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
    const { required } = await paid.quote(body);
    await paid.chain.automine(false);
    const answer = paid.send(await paid.sign(account, required), body);
    await Bun.sleep(HELD_S * 1_000);
    await paid.chain.mine();
    await paid.chain.automine(true);
    expect((await answer).status).toBe(200);
    const after = await page();
    // The time that the chain takes does not count as time of the gateway.
    const [, dispatch] = /^signalbox_chat_dispatch_seconds_sum (\S+)$/m.exec(after.text) ?? [];
    expect(Number(dispatch)).toBeLessThan(HELD_S);
    const credits = (Number(amountOf(required)) * MICROCREDITS_PER_UNIT) / 1_000_000;
    expect(after.of('payments_total', ',state="captured"')).toBe(1);
    expect(after.of('payments_total', ',state="failed"')).toBe(0);
    expect(after.of('payments_credits_total')).toBe(credits);
    expect(after.of('payments_unsettled')).toBe(0);
    expect(after.text).toContain('\nsignalbox_payment_quotes_total{purpose="chat"} 1\n');
    expect(after.text).toContain('\nsignalbox_balances 1\n');
    // Only operators may see wallets and payments.
    expect(after.text.toLowerCase()).not.toContain(account.address.toLowerCase().slice(2));
  } finally {
    await paid.stop();
  }
});
