import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, traffic } from './stage.ts';

/** The time range of a view whose URL states none. */
const DAY_MS = 86_400_000;
let shift = 0;
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0, CONSOLE_POLICY, {}, () => Date.now() + shift);
});
afterAll(() => stage.stop());

async function rangeAt(path: string): Promise<string | null> {
  const { page, faults } = await openConsole(stage, { path });
  await page.waitForURL(/[?&](?:range|from)=/);
  expect(faults).toEqual([]);
  return new URL(page.url()).searchParams.get('range');
}

test('Overview and Money open with the shortest range that contains all data', async () => {
  expect(await rangeAt('')).toBe('1h');
  await traffic(stage.box, 2);
  expect([await rangeAt(''), await rangeAt('/money')]).toEqual(['1h', '1h']);
  for (const [days, range] of [
    [3, '7d'],
    [20, '30d'],
    [40, '90d'],
    [400, '90d'],
  ] as const) {
    // The clock of the gateway, and therefore its first request, is earlier than the browser's clock.
    shift = -days * DAY_MS;
    const older = await openStage(0, CONSOLE_POLICY, {}, () => Date.now() + shift);
    await traffic(older.box, 2);
    shift = 0;
    const { page } = await openConsole(older);
    await page.waitForURL(/[?&]range=/);
    expect([days, new URL(page.url()).searchParams.get('range')]).toEqual([days, range]);
    if (days === 3) {
      // This browser has chosen no range yet.
      const requests = await openConsole(older, { path: '/requests' });
      await requests.page.waitForURL(/[?&]range=7d/);
      await requests.page.getByRole('table', { name: 'Requests' }).waitFor();
    }
    await older.stop();
  }
});

test('a view uses the time range in its URL, and links keep the range', async () => {
  expect(await rangeAt('?range=30d')).toBe('30d');
  const { page } = await openConsole(stage, { path: '/money?range=7d' });
  await page.getByText('Last 7 days, all teams').waitFor();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(page.url()).searchParams.get('range')).toBe('7d');
  expect(await rangeAt('/money?from=2026-01-01&to=2026-01-05')).toBe(null);
});

test('other views open with the last chosen time range, and views without a time range have no range in their URL', async () => {
  const { page } = await openConsole(stage, { path: '/fleet?range=24h' });
  await page.getByLabel('Time range').selectOption({ label: 'Last 7 days' });
  expect(await rangeAt('/requests')).toBe('7d');
  expect(await rangeAt('')).toBe('1h');
  const people = await openConsole(stage, { path: '/people/keys' });
  await people.page.getByRole('table', { name: 'Keys' }).waitFor();
  expect(new URL(people.page.url()).search).toBe('');
});

test('the choice of days begins with the shown days, from the first day with a request', async () => {
  const { page } = await openConsole(stage, { path: '/money?range=90d' });
  await page.getByLabel('Time range').selectOption({ label: 'Chosen days' });
  await page.waitForURL(/[?&]from=/);
  const { searchParams } = new URL(page.url());
  // The test began a moment ago, perhaps before midnight.
  const days = (Date.parse(searchParams.get('to')!) - Date.parse(searchParams.get('from')!)) / DAY_MS;
  expect(days).toBeWithin(0, 2);
});

test('a view opens even if the time of the first request cannot be read', async () => {
  const { page } = await openConsole(stage);
  await page.route('**/admin/traffic*', (route) => route.fulfill({ status: 503, json: { error: { message: 'No.' } } }));
  await openConsole(stage, { path: '/money' });
  await page.getByText('cannot be shown').first().waitFor();
  await page.unroute('**/admin/traffic*');
});
