import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { deeply, orDeeply } from '../../deep/deeply.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { newPage } from '../support/browser.ts';
import {
  axeFinds,
  CONSOLE_POLICY,
  type ConsoleStage,
  chartsWithoutTwin,
  openConsole,
  openStage,
  overflowOf,
  settled,
} from './stage.ts';

/** Tests of the view Money, operated as a person would. Before the compared periods, another key sends a request. Two days ago a key spent little; today the same key spends a lot on one model. */
const DAY_MS = 86_400_000;
let shift = -2.5 * DAY_MS;
let stage: ConsoleStage;
let ids: Readonly<Record<'steady' | 'rising', string>>;

async function spend({ url }: Pick<Signalbox, 'url'>, secret: string, model: string, requests: number): Promise<void> {
  for (let at = 0; at < requests; at++) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: `Say ${at}` }], max_tokens: 20 }),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  }
}

const idOf = (secret: string): string => secret.split('_')[2]!;

beforeAll(async () => {
  stage = await openStage(0, CONSOLE_POLICY, {}, () => Date.now() + shift);
  const { box } = stage;
  await spend(box, await box.makeKey('--name', 'first'), 'mistral-breeze', 1);
  shift = -1.5 * DAY_MS;
  const label = ['--label', 'app=shop'];
  const steady = await box.makeKey('--name', 'nightly', '--team', 'search', ...label);
  const rising = await box.makeKey('--name', '=billing-app', '--team', 'search');
  ids = { steady: idOf(steady), rising: idOf(rising) };
  await spend(box, steady, 'mistral-breeze', 3);
  await spend(box, rising, 'gpt-6-luna', 1);
  shift = 0;
  await spend(box, steady, 'mistral-breeze', 3);
  await spend(box, rising, 'gpt-6-luna', 1);
  await spend(box, rising, 'claude-mirror-4', 6);
});
afterAll(() => stage.stop());

const read = async (path: string) => JSON.parse(await (await stage.box.get(path)).text());

test('the list of keys begins with the key whose spend grew most, and its detail shows the model that causes the spend', async () => {
  const { page, faults } = await openConsole(stage, { path: '/money?range=24h' });
  const table = page.getByRole('table', { name: 'Spend by key' });
  const row = table.locator('tbody tr').first();
  expect(await row.locator('td').first().textContent()).toBe('=billing-app');
  expect(await page.locator('#spenders').textContent()).toMatch(
    /^Key =billing-app spends \d+ times as much as before: \$[\d.]+, up from \$[\d.]+\.$/,
  );
  const from = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 23 * 3_600_000).toISOString();
  const { series } = await read(`/admin/traffic?by=key&compare=before&from=${from}`);
  const told = series.find(({ value }: { value: string }) => value === ids.rising);
  expect([told.whole.requests, told.before.requests]).toEqual([7, 1]);
  expect(await row.locator('td').nth(1).locator('.figure').getAttribute('title')).toContain(`$${told.whole.usd} · `);
  expect(await row.locator('td').nth(2).locator('.figure').getAttribute('title')).toContain(`$${told.before.usd} · `);

  await row.getByRole('link').click();
  await settled(page);
  const panel = page.getByRole('complementary');
  await panel.getByText('Mostly on claude-mirror-4, which is new.').waitFor();
  const parts = panel.getByRole('table', { name: 'Its spend by model' });
  expect(await parts.locator('tbody tr td:first-child').allTextContents()).toEqual(['claude-mirror-4', 'gpt-6-luna']);
  expect(await axeFinds(page)).toEqual([]);
  expect(await chartsWithoutTwin(page)).toEqual([]);
  await page.reload();
  await settled(page);
  await panel.getByRole('heading', { name: 'Key =billing-app' }).waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
});

test('while the period before is not known, the list has no columns for it, and begins with the largest spend', async () => {
  const { page } = await openConsole(stage, { path: '/money?range=7d' });
  const table = page.getByRole('table', { name: 'Spend by key' });
  await table.waitFor();
  expect(await table.locator('thead').textContent()).not.toMatch(/Before|Change/);
  const amounts = await table.locator('tbody tr td:nth-child(2)').allInnerTexts();
  const spent = amounts.map((text) => Number(text.replace('$', '')));
  expect(spent.length).toBe(3);
  expect(spent).toEqual(spent.toSorted((one, other) => other - one));
});

test('a person finds what team search spent and saved this week', async () => {
  const { page } = await openConsole(stage, { path: '/money' });
  await page.getByLabel('Time range').selectOption({ label: 'Last 7 days' });
  await page.getByLabel('By', { exact: true }).selectOption({ label: 'By team' });
  await page.getByRole('link', { name: 'search', exact: true }).click();
  const from = new Date(Date.now() - 7 * DAY_MS).toISOString();
  const { series } = await read(`/admin/traffic?by=team&from=${from}`);
  const total = series.find(({ name }: { name: string }) => name === 'search');
  expect(total.whole.requests).toBe(14);
  const sentence = await page
    .getByRole('complementary')
    .getByText(/ in the last 7 days, /)
    .textContent();
  const [spent, saved] = sentence!.match(/\$[\d.,]+/g)!.map((text) => Number(text.slice(1)));
  expect(sentence).toMatch(/ less than the baseline\.$/);
  expect(spent).toBeCloseTo(Number(total.whole.usd), 2);
  expect(saved).toBeCloseTo(Number(total.whole.saved_usd), 2);
  // The ledger has the team's spend by key. For more than a day, the page requests it only on a click.
  const panel = page.getByRole('complementary');
  await panel.getByText('Charges by key are counted when you click').waitFor();
  await panel.getByRole('button', { name: 'Count by key' }).click();
  await panel.getByRole('table', { name: 'Its spend by key' }).getByText('nightly').waitFor();
});

deeply('users, labels and months are there at once, from traffic, and agree with the books', async () => {
  const { page } = await openConsole(stage, { path: '/money?by=label:app' });
  const asked: URL[] = [];
  page.on('request', (request) => asked.push(new URL(request.url())));
  const table = page.getByRole('table', { name: 'Spend by label app' });
  await page.reload();
  await settled(page);
  await table.waitFor();
  expect(await table.locator('tbody tr td:first-child').allTextContents()).toEqual(['no label app', 'shop']);
  expect(await axeFinds(page)).toEqual([]);
  await table.getByRole('link', { name: 'shop' }).click();
  await page
    .getByRole('complementary')
    .getByText(/^Spend is \$/)
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Months' }).click();
  await page.getByRole('table', { name: 'Spend by label app and month' }).waitFor();
  const months = page.getByRole('table', { name: 'Spend by label app and month' });
  const { total_usd } = await read('/admin/usage?by=month');
  const cells = await months
    .locator('tbody tr td:last-child .figure')
    .evaluateAll((all) => all.map((cell) => Number((cell.getAttribute('title') ?? '').match(/\$([\d.]+)/)?.[1] ?? 0)));
  const before = await months
    .locator('tbody tr td:nth-last-child(2) .figure')
    .evaluateAll((all) => all.map((cell) => Number((cell.getAttribute('title') ?? '').match(/\$([\d.]+)/)?.[1] ?? 0)));
  expect([...cells, ...before].reduce((sum, usd) => sum + usd, 0)).toBeCloseTo(Number(total_usd), 9);
  // The costs that providers state are a card of its own, for which nothing else waits.
  const others = asked.filter(({ searchParams }) => searchParams.get('by') !== 'provider,model');
  expect(others.map(({ pathname }) => pathname)).toContain('/admin/spend');
  expect(others.map(({ pathname }) => pathname)).not.toContain('/admin/usage');
});

test('the CSV export has charges by day, and writes a name that is a formula as text', async () => {
  const { page, faults } = await openConsole(stage, { path: '/money?range=7d' });
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export CSV' }).click(),
  ]);
  const lines = (await Bun.file(await download.path()).text()).trimEnd().split('\r\n');
  expect(download.suggestedFilename()).toMatch(/\.csv$/);
  expect(lines[0]).toBe('day,key_id,key_name,charges,input_tokens,output_tokens,credits,usd');
  expect(lines.some((line) => line.includes(`,${ids.rising},'=billing-app,`))).toBe(true);
  const sum = lines.slice(1).reduce((usd, line) => usd + Number(line.split(',').at(-1)), 0);
  expect(sum).toBeCloseTo(Number((await read('/admin/usage?by=month')).total_usd), 9);
  expect(faults).toEqual([]);
});

test('Spend exports each charge of the range in view, or of one key, without a shell', async () => {
  const { page, faults } = await openConsole(stage, { path: '/money?range=7d', role: 'finance' });
  const linesOf = async (scope: Page | Locator) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      scope.getByRole('link', { name: 'Export charges' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^charges-.*\.csv$/);
    return (await Bun.file(await download.path()).text()).trimEnd().split('\r\n');
  };
  const [head = '', ...lines] = await linesOf(page.locator('section[aria-labelledby=spenders]'));
  for (const column of ['time', 'key_name', 'team_name', 'model', 'credits', 'usd']) {
    expect(head.split(',')).toContain(column);
  }
  const sum = lines.reduce((usd, line) => usd + Number(line.split(',')[head.split(',').indexOf('usd')]), 0);
  expect(sum).toBeCloseTo(Number((await read('/admin/usage?by=month')).total_usd), 9);
  await page.goto(`${stage.box.url}/console/money?range=7d&open=${ids.rising}`);
  await settled(page);
  const [, ...own] = await linesOf(page.getByRole('complementary'));
  expect(own.length).toBeGreaterThan(0);
  expect(own).toEqual(lines.filter((line) => line.includes(`,${ids.rising},`)));
  expect(faults).toEqual([]);
});

test('months are shown by two dimensions in a chosen time zone, and exported as they are shown', async () => {
  const page = await newPage({ timezoneId: 'Asia/Tokyo' });
  await page.goto(`${stage.box.url}/console/money?tab=months&by=key`);
  await page.locator('input[type=password]').fill(stage.box.key);
  await page.locator('button[type=submit]').click();
  await settled(page);
  await page.getByText('Six calendar months in UTC').waitFor();
  await page.getByLabel('And by', { exact: true }).selectOption('model');
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.getByText('Six calendar months in Asia/Tokyo').waitFor();
  const table = page.getByRole('table', { name: 'Spend by key, model and month' });
  await table.waitFor();
  const { groups } = await read('/admin/usage?by=key,model&from=2026-01-01&time_zone=Asia/Tokyo');
  expect(await table.locator('tbody tr').count()).toBe(groups.length);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export CSV' }).click(),
  ]);
  expect(new URL(download.url()).searchParams.get('time_zone')).toBe('Asia/Tokyo');
  const [head] = (await Bun.file(await download.path()).text()).split('\r\n');
  expect(head).toBe('month,key_id,key_name,model,charges,input_tokens,output_tokens,credits,usd');
  // The zone is remembered, and `last month` is a range of Spend with the days of that zone.
  await page.goto(`${stage.box.url}/console/money?tab=months`);
  await page.getByText('Six calendar months in Asia/Tokyo').waitFor();
  await page.goto(`${stage.box.url}/console/money`);
  await settled(page);
  await page.getByLabel('Time range').selectOption('last-month');
  const inTokyo = new Date(Date.now() + 9 * 3_600_000);
  const [year, month] = [inTokyo.getUTCFullYear(), inTokyo.getUTCMonth()];
  const [from, to] = [Date.UTC(year, month - 1, 1), Date.UTC(year, month, 0)].map((day) =>
    new Date(day).toISOString().slice(0, 10),
  );
  await page.waitForURL((url) => url.searchParams.get('from') === from && url.searchParams.get('to') === to);
  await page.getByText(/^[A-Z][a-z]+ \d{4} in Asia\/Tokyo, all teams$/).waitFor();
  expect(await page.getByLabel('First day').count()).toBe(0);
  await page.context().close();
});

test('on a phone, a month before the first request is left out', async () => {
  const { page } = await openConsole(stage, { path: '/money?tab=months&by=model', width: 390 });
  const rows = page.getByRole('table', { name: 'Spend by model and month' }).locator('tbody tr');
  await rows.first().waitFor();
  expect(await rows.locator('td:visible', { hasText: '–' }).count()).toBe(0);
});

describe('each tab', () => {
  for (const tab of orDeeply(['budgets'], ['months', 'payments'])) {
    test(`${tab} has no finding of axe and fits a phone`, async () => {
      const { page, faults } = await openConsole(stage, { path: `/money?tab=${tab}` });
      expect(await axeFinds(page)).toEqual([]);
      expect(await chartsWithoutTwin(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 900 });
      expect(await overflowOf(page)).toBe(0);
      expect(await axeFinds(page)).toEqual([]);
      expect(faults).toEqual([]);
    });
  }
});

deeply('an audit runs at a click and says that the books are sound', async () => {
  const { page } = await openConsole(stage, { path: '/money?tab=budgets' });
  await page.getByRole('button', { name: 'Audit the ledger' }).click();
  await page.getByRole('heading', { name: 'The last audit found no error.' }).waitFor();
  const { result } = await read('/admin/ledger/audit');
  expect([result.is_sound, result.reservations]).toEqual([true, 15]);
  expect(await axeFinds(page)).toEqual([]);
});

deeply('a member sees its own spend and no books, and finance sees both', async () => {
  const member = await openConsole(stage, { path: '/money', role: 'member' });
  expect(await member.page.getByRole('tab').allTextContents()).toEqual(['Spend', 'Months']);
  await member.page.getByText('No spend by key yet').waitFor();
  await member.page.goto(`${stage.box.url}/console/money?tab=payments`);
  await member.page.getByText('Payments are not available to your role').waitFor();
  expect(member.faults).toEqual([]);
  const finance = await openConsole(stage, { path: '/money', role: 'finance' });
  expect(await finance.page.getByRole('tab').allTextContents()).toEqual(['Spend', 'Months', 'Budgets', 'Payments']);
  expect(finance.faults).toEqual([]);
});
