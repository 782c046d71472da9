import { afterAll, beforeAll, expect, test } from 'bun:test';
import { deeply } from '../../deep/deeply.ts';
import { withKey } from '../../support/signalbox.ts';
import {
  CONSOLE_POLICY,
  type ConsoleStage,
  cellsThatOverlap,
  openConsole,
  openStage,
  settled,
  traffic,
} from './stage.ts';

/** A large limit next to a small limit that no request uses. */
const BUDGETS = `
  - { name: huge, limit_credits: 100000000, window: month }
  - { name: tiny, limit_credits: 0.5, window: day, match: key.labels.x == "y" }
  - { name: per-key, each: key, limit_credits: 90000, window: month }`;

/** Tests of the view Overview, operated as a person would. */
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(16, CONSOLE_POLICY.replace('budgets:', `budgets:${BUDGETS}`));
});
afterAll(() => stage.stop());

interface Totals {
  readonly total: { readonly whole: { readonly requests: number; readonly usd: string } };
}

/** Returns the totals of the admin API. */
async function totals(): Promise<Totals['total']['whole']> {
  const body: Totals = JSON.parse(await (await stage.box.get('/admin/traffic')).text());
  return body.total.whole;
}

test('Overview shows the spend and requests that the admin API reports, exact to the last digit on hover', async () => {
  const { page } = await openConsole(stage);
  const { requests, usd } = await totals();
  expect(requests).toBeGreaterThan(8);
  const values = page.locator('.hero-value');
  expect(await values.nth(0).getAttribute('title')).toBe(`$${usd}`);
  expect(await values.nth(2).textContent()).toBe(String(requests));
});

test('Overview updates its figures in place every ten seconds and moves nothing else', async () => {
  const { page } = await openConsole(stage);
  await page.clock.install();
  await page.reload();
  await settled(page);
  const requests = page.locator('.hero-value').nth(2);
  const before = Number(await requests.textContent());
  await requests.evaluate((shown) => shown.setAttribute('data-same', 'true'));
  await traffic(stage.box, 4);
  const { requests: after } = await totals();
  expect(after).toBeGreaterThan(before);
  await page.clock.runFor(11_000);
  await page
    .locator('.hero-value', { hasText: String(after) })
    .first()
    .waitFor();
  expect(await requests.getAttribute('data-same')).toBe('true');
});

test('if an update fails, the old figures stay with the time of their last update', async () => {
  const { page } = await openConsole(stage);
  await page.clock.install();
  await page.reload();
  await settled(page);
  await page.route('**/admin/ledger*', (route) => route.abort());
  await page.clock.runFor(11_000);
  await page.getByText('Budgets could not be refreshed since').waitFor();
  expect(await page.getByRole('table', { name: 'Budgets' }).count()).toBe(1);
  await page.unroute('**/admin/ledger*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Budgets could not be refreshed').waitFor({ state: 'detached' });
});

deeply('the chart’s figure and lines stand in the address, and a link brings them back', async () => {
  const { page } = await openConsole(stage);
  await page.getByRole('tab', { name: 'Requests' }).click();
  await page.getByLabel('Lines').selectOption({ label: 'By model' });
  const { searchParams } = new URL(page.url());
  expect([searchParams.get('measure'), searchParams.get('by')]).toEqual(['requests', 'model']);
  await page.reload();
  await settled(page);
  expect(await page.getByRole('tab', { name: 'Requests' }).getAttribute('aria-selected')).toBe('true');
  expect(await page.locator('.chart-legend').first().textContent()).toContain('gpt-6-luna');
});

test('arrow keys move along the points of the chart, and a screen reader hears each point', async () => {
  const { page } = await openConsole(stage, { path: '?measure=requests' });
  const plot = page.getByRole('slider', { name: 'Requests over time' });
  await plot.focus();
  await page.keyboard.press('End');
  expect(await plot.getAttribute('aria-valuetext')).toMatch(/, so far: Requests \d+$/);
  const last = Number(await plot.getAttribute('aria-valuenow'));
  await page.keyboard.press('ArrowLeft');
  expect(Number(await plot.getAttribute('aria-valuenow'))).toBe(last - 1);
});

deeply('the time range is in the address, stays from view to view, and is remembered', async () => {
  const { page } = await openConsole(stage);
  await page.getByLabel('Time range').selectOption({ label: 'Last 7 days' });
  expect(new URL(page.url()).searchParams.get('range')).toBe('7d');
  await page.getByRole('link', { name: 'Money' }).click();
  expect(new URL(page.url()).pathname).toBe('/console/money');
  expect(new URL(page.url()).searchParams.get('range')).toBe('7d');
  await page.goBack();
  await page.goto(`${stage.box.url}/console/requests`);
  await settled(page);
  await page.getByText('Last 7 days, all keys').waitFor();
});

test('a chart of a few requests has bars from zero and at least two times below them, at every width', async () => {
  for (const [range, width] of [
    ['1h', 390],
    ['1h', 1_280],
    ['24h', 390],
    ['7d', 1_280],
  ] as const) {
    const { page } = await openConsole(stage, { path: `?range=${range}`, width });
    const plot = page.getByRole('slider', { name: /^Spend over time/ });
    expect(await plot.locator('rect.chart-bar').count()).toBeGreaterThanOrEqual(2);
    expect(await plot.locator('path.chart-line').count()).toBe(0);
    expect(await plot.getByText(/^\d\d:\d\d$|^[A-Z][a-z]{2} \d+$/).count()).toBeGreaterThanOrEqual(2);
  }
});

test('a budget of a key or team, and the share of a key in a budget of the policy, links to it', async () => {
  const [made] = await Promise.all([
    stage.box.post('/admin/keys', { name: 'nightly-batch', budgets: [{ limit_credits: 0.0001, window: 'total' }] }),
    stage.box.post('/admin/teams', { name: 'delivery', budgets: [{ limit_credits: 5, window: 'week' }] }),
  ]);
  const { id, key }: { id: string; key: string } = JSON.parse(await made.text());
  const body = { model: 'mistral-breeze', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 5 };
  await (await stage.box.post('/v1/chat/completions', body, withKey(key))).text();
  const { page } = await openConsole(stage, { path: '/money?tab=budgets' });
  const table = page.getByRole('table', { name: 'Budgets and balances' });
  expect(await table.getByText(id).count()).toBe(0);
  await table.getByRole('link', { name: 'week of team delivery' }).waitFor();
  await table.getByRole('link', { name: 'per-key of installed' }).waitFor();
  await table.getByRole('link', { name: 'total of key nightly-batch' }).click();
  await page.getByRole('complementary', { name: 'nightly-batch' }).waitFor();
  expect(page.url()).toContain(`/people/keys/${id}`);
});

test('all amounts of budgets have two decimals, and no cell of a budget is cut off', async () => {
  const { page } = await openConsole(stage);
  const table = page.getByRole('table', { name: 'Budgets' });
  const cells = (name: string) => table.getByRole('row', { name }).getByRole('cell').allTextContents();
  const tiny = await cells('tiny');
  expect(tiny[2]).toBe('< $0.01');
  expect(await table.getByRole('row', { name: 'tiny' }).getByTitle('$0.0005').count()).toBe(1);
  const amounts = await table.locator('tbody tr').locator('td:nth-child(2), td:nth-child(3)').allTextContents();
  expect(new Set(amounts.map((amount) => amount.split('.')[1]?.length))).toEqual(new Set([2]));
  const hidden = await table.locator('..').evaluate((around) => around.scrollWidth - around.clientWidth);
  expect(hidden).toBe(0);
  await page.goto(`${stage.box.url}/console/money?tab=budgets`);
  await settled(page);
  const all = page.getByRole('table', { name: 'Budgets and balances' });
  expect(await cellsThatOverlap(all)).toEqual([]);
  for (const [name, limit] of [
    ['tiny', '< $0.01'],
    ['huge', '$100,000.00'],
  ] as const) {
    expect(await all.getByRole('row', { name }).getByRole('cell').nth(2).textContent()).toBe(limit);
  }
});

test('a budget that no request fits says so', async () => {
  const { page } = await openConsole(stage);
  await page.getByRole('heading', { name: /^Budget “.*” fits no usual request: a short one needs \$/ }).waitFor();
  const row = page.getByRole('table', { name: 'Budgets' }).getByRole('row', { name: 'tiny' });
  await row.getByText('No request fits').waitFor();
  await page.getByRole('link', { name: /^Budget “tiny” fits no usual request/ }).waitFor();
});

test('Overview says how many requests were refused, next to the errors, and links to them', async () => {
  const { page } = await openConsole(stage);
  const body: { total: { whole: { refused: number } } } = JSON.parse(
    await (await stage.box.get('/admin/traffic')).text(),
  );
  const { refused } = body.total.whole;
  expect(refused).toBeGreaterThan(0);
  await page.getByRole('tab', { name: 'Errors' }).click();
  await page.getByRole('heading', { name: new RegExp(`failed.*; Signalbox refused ${refused} more\\.$`) }).waitFor();
  expect(await page.locator('.chart-legend').first().textContent()).toContain('Refused');
  await page.getByRole('link', { name: `${refused} refused` }).click();
  await page.waitForURL(/\/requests\?.*status=refused/);
  const rows = page.getByRole('table', { name: 'Requests' }).locator('tbody tr', { hasText: 'Refused' });
  await rows.first().waitFor();
  expect(await rows.count()).toBe(refused);
});

test('a line without any figure is not in the legend', async () => {
  const { page } = await openConsole(stage, { path: '?by=provider&measure=ttft&range=1h' });
  const legend = page.locator('.chart-legend').first();
  await legend.getByText('north').waitFor();
  expect(await legend.textContent()).not.toContain('none');
});

test('if every request was refused, Overview says so instead of asking for a first request', async () => {
  const { page } = await openConsole(stage);
  await page.route('**/admin/traffic*', async (route) => {
    const answer = await route.fetch();
    const report: { total: { whole: object } } = await answer.json();
    const whole = { ...report.total.whole, requests: 0, errors: 0, refused: 5 };
    await route.fulfill({ response: answer, json: { ...report, total: { ...report.total, whole } } });
  });
  await page.reload();
  await settled(page);
  await page.getByText(/^Every request in the last .* was refused$/).waitFor();
  expect(await page.getByRole('link', { name: '5 refused' }).count()).toBe(2);
  expect(await page.getByText('Send a request to').count()).toBe(0);
  await page.unroute('**/admin/traffic*');
});

// This test is the last one: the gateway notes the wrong key at the end of the minute, which would change the figures of the other tests.
test('signing out shows the sign-in page, which reports a wrong key and does not store it', async () => {
  const { page } = await openConsole(stage, { role: 'member' });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.locator('input[type=password]').fill('sb_live_test00000001_wrong');
  await page.getByRole('button', { name: 'Sign in with the key' }).click();
  await page.locator('.field-error').waitFor();
  expect(await page.locator('input[type=password]').inputValue()).toBe('');
  const kept = await page
    .locator('html')
    .evaluate((html) => JSON.stringify({ ...html.ownerDocument.defaultView?.localStorage }));
  expect(kept).not.toContain('wrong');
});
