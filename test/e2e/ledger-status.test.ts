import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Purse, startPurse, tokens } from '../gateway/money/purse.ts';
import { waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';

/** How operators and callers see the funds while requests hold them, and afterwards. */
let purse: Purse;
beforeAll(async () => {
  purse = await startPurse(
    0,
    `name: team, each: key.labels.team, match: 'key.labels.team != ""', limit_credits: 5, window: month`,
    'name: all, limit_credits: 100, window: total',
  );
});
afterAll(() => purse.stop());

interface FundShown {
  readonly kind: string;
  readonly name: string;
  readonly subject: string;
  readonly subject_name: string | null;
  readonly holder: string | null;
  readonly held_credits: number;
  readonly open_reservations: number;
  readonly oldest_reservation_seconds: number | null;
  readonly forecast_credits: number | null;
  readonly forecast_usd: string | null;
}
interface StatusShown {
  readonly open_reservations: number;
  readonly held_credits: number;
  readonly funds: readonly FundShown[];
  readonly funds_total: number;
}

const byRequest = async (query = ''): Promise<StatusShown> =>
  (await purse.live.box.get(`/admin/ledger${query}`)).json() as Promise<StatusShown>;
async function byCommand(...args: string[]): Promise<StatusShown> {
  const { out, code } = await purse.live.box.run('ledger', 'status', '--json', ...args);
  expect(code).toBe(0);
  return JSON.parse(out) as StatusShown;
}

/** A status without ages and forecasts, which change with the clock, and without names, which a command does not look up. */
const still = ({ funds, ...sums }: StatusShown) => ({
  ...sums,
  funds: funds.map(
    ({ oldest_reservation_seconds: age, subject_name: _, forecast_credits: credits, forecast_usd: usd, ...fund }) => ({
      ...fund,
      isHeld: age !== null,
      isForecast: [credits !== null, usd !== null],
    }),
  ),
});

describe('the funds in the ledger’s status', () => {
  test('the status shows the limits of budgets that nothing has drawn on, which have no subject yet', async () => {
    const shown = await byRequest();
    expect(shown).toMatchObject({ funds_total: 2 });
    expect(shown.funds).toMatchObject([
      { name: 'all', subject: '', limit_credits: 100, renews_at: null },
      {
        name: 'team',
        subject: '',
        limit_credits: 5,
        limit_usd: '0.005',
        spent_credits: 0,
        left_usd: '0.005',
        open_reservations: 0,
      },
    ]);
    expect(still(await byCommand())).toEqual(still(shown));
    const { out } = await purse.live.box.run('ledger', 'status', '--name', 'team');
    expect(out).toMatch(/^team +team +5 +0.005 +0 +0 .* 20\d\d-/m);
  });

  test('the API, the command and the metrics show how many requests hold money of a fund, and since when', async () => {
    const key = await purse.key({ team: 'red' });
    purse.answers.usageOf = () => tokens(10, 10);
    purse.gate.close();
    const running = [purse.chat(key), purse.chat(key), purse.chat(await purse.key({}))];
    await waitFor(() => purse.gate.inside === 3);
    const shown = await byRequest();
    expect(shown).toMatchObject({ open_reservations: 3, held_credits: 1.326, funds_total: 2 });
    expect(shown.funds).toMatchObject([
      { name: 'team', subject: 'red', held_credits: 0.884, open_reservations: 2 },
      { name: 'all', subject: '', held_credits: 1.326, open_reservations: 3 },
    ]);
    for (const { oldest_reservation_seconds: age } of shown.funds) expect(age!).toBeWithin(0, 60);
    expect(still(await byCommand())).toEqual(still(shown));
    expect(still(await byCommand('--name', 'all'))).toEqual(still(await byRequest('?name=all')));
    expect(await byRequest('?name=team')).toMatchObject({ open_reservations: 2, held_credits: 0.884, funds_total: 1 });
    const own = await purse.live.box.get('/v1/usage', { headers: { authorization: `Bearer ${key.key}` } });
    const { funds } = (await own.json()) as StatusShown;
    expect(funds).toMatchObject([
      { name: 'team', open_reservations: 2 },
      { name: 'all', open_reservations: 3 },
    ]);
    const page = await (await fetch(`${purse.live.box.url}/metrics`)).text();
    expect(page).toMatch(/^signalbox_budget_reservations_open\{budget="all"\} 3$/m);
    expect(page).toMatch(/^signalbox_budget_oldest_reservation_seconds\{budget="team"\} \d/m);
    purse.gate.open();
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
  });

  test('the status shows no holds once all requests are settled, and the command prints text for people', async () => {
    await waitFor(async () => (await byCommand()).open_reservations === 0);
    const shown = await byRequest();
    for (const fund of shown.funds) {
      expect(fund).toMatchObject({ held_credits: 0, open_reservations: 0, oldest_reservation_seconds: null });
    }
    expect(still(await byCommand())).toEqual(still(shown));
    const { out } = await purse.live.box.run('ledger', 'status');
    expect(out).toMatch(/^TITLE +NAME .* RENEWS$/m);
    expect(out).toMatch(/^team of red +team +5 +0\.005 +0\.1 +0 +0\.0001 .* 20\d\d-/m);
    expect(out).toMatch(/^all +all +100 +0\.1 +0\.15 +0 +0\.00015 .* never$/m);
    expect(out).toEndWith('0.15 Credits (0.00015 USD) charged, 0 Credits held by 0 open requests.\n');
    const { out: own } = await purse.live.box.run('ledger', 'status', '--name', 'team');
    expect(own).toEndWith('0.1 Credits (0.0001 USD) charged, 0 Credits held by 0 open requests.\n');
  });

  test('the funds of a key’s own budget are listed before anything draws on it, in pages', async () => {
    const { box } = purse.live;
    const keys = await Promise.all(
      [11, 12].map(async (limit_credits) => {
        const made = await box.post('/admin/keys', {
          name: `app ${limit_credits}`,
          budgets: [{ limit_credits, window: 'week' }],
        });
        return ((await made.json()) as { id: string }).id;
      }),
    );
    await waitFor(async () => (await byRequest('?name=key-week:cap')).funds_total === 2);
    const { funds } = await byRequest('?name=key-week:cap');
    expect(new Set(funds.map(({ subject }) => subject))).toEqual(new Set(keys));
    expect(funds.map(({ holder, subject_name: name }) => [holder, name]).toSorted()).toEqual([
      ['key', 'app 11'],
      ['key', 'app 12'],
    ]);
    const first = (await byRequest('?name=key-week:cap&limit=1')) as StatusShown & { next_after: string };
    const second = await byRequest(`?name=key-week:cap&limit=1&after=${first.next_after}`);
    expect([...first.funds, ...second.funds]).toEqual([...funds]);
    expect(second).toMatchObject({ has_more: false, next_after: null, funds_total: 2 });
    await expectError(await box.get('/admin/ledger?after=x'), 'invalid_value', 'after');
    await Promise.all(keys.map((id) => box.post(`/admin/keys/${id}/revoke`, {})));
    await waitFor(async () => (await box.get('/admin/ledger?name=key-week:cap')).status === 404);
  });

  test('the command shows a balance and a key’s own budget as the API does', async () => {
    const { box } = purse.live;
    const headers = { 'content-type': 'application/json' };
    const made = await box.post('/admin/keys', { budgets: [{ limit_credits: 7, window: 'day' }] }, { headers });
    const { id, key } = (await made.json()) as { id: string; key: string };
    expect((await box.post(`/admin/keys/${id}/grant`, { credits: 3 })).status).toBe(200);
    expect((await purse.chat({ id, key })).status).toBe(200);
    await waitFor(async () => (await byCommand()).open_reservations === 0);
    const [shown, told] = [await byRequest(), await byCommand()];
    expect(still(told)).toEqual(still(shown));
    expect(shown.funds.map(({ kind, name }) => `${kind} ${name}`)).toEqual(
      expect.arrayContaining([`balance ${id}`, expect.stringMatching(/^budget key-day/)]),
    );
  });

  test('a budget that is spent when its limit is lowered comes first, and has no time in the past at which it runs out', async () => {
    const { box } = purse.live;
    const key = await purse.key({});
    expect((await purse.chat(key)).status).toBe(200);
    await waitFor(async () => (await byCommand()).open_reservations === 0);
    expect((await box.run('keys', 'change', key.id, '--budget', '0.01/month')).code).toBe(0);
    await waitFor(async () => (await byRequest()).funds[0]?.subject === key.id);
    const { funds } = await byRequest();
    expect(funds[0]).toMatchObject({ spent_credits: 0.05, left_credits: -0.04, runs_out_at: null });
    const { out } = await box.run('ledger', 'status', '--name', 'key-month:cap');
    expect(out).toMatch(/^month of key .* key-month:cap +0\.01 +0\.00001 +0\.05 +0 +0\.00005 +0\.0448 +0 +20\d\d-/m);
    expect(out).not.toContain('RUNS OUT');
  });

  test('the funds of a removed budget are no longer shown', async () => {
    await purse.budgets('name: all, limit_credits: 100, window: total');
    const [shown, told] = [await byRequest(), await byCommand()];
    expect(shown.funds.some(({ name }) => name === 'team')).toBe(false);
    expect(still(told)).toEqual(still(shown));
  });
});
