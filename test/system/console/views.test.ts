import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { orDeeply } from '../../deep/deeply.ts';
import { isDeep } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import {
  axeFinds,
  type ConsoleRole,
  type ConsoleStage,
  chartsWithoutTwin,
  openConsole,
  openStage,
  overflowOf,
  tabOrder,
  VIEW_PATHS,
} from './stage.ts';

/** Tests of rules for every view, in a real browser. */
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.stop());

describe.each([...VIEW_PATHS])('the view /console%s', (path) => {
  // The dark theme differs only in colours, so one view is enough.
  for (const theme of path === '/money' || isDeep ? (['light', 'dark'] as const) : (['light'] as const)) {
    test(`the view has no finding of axe in the ${theme} theme, violates no rule of its policy, and has a table for each chart`, async () => {
      const { page, faults } = await openConsole(stage, { path, theme });
      expect(await axeFinds(page)).toEqual([]);
      expect(await chartsWithoutTwin(page)).toEqual([]);
      // The view must also fit a phone after resizing. `npm run test:deep` also loads it at this size.
      await page.setViewportSize({ width: 390, height: 900 });
      expect(await overflowOf(page)).toBe(0);
      expect(faults).toEqual([]);
    });
  }

  test.if(isDeep)('the view fits a phone: nothing is wider than 390 px', async () => {
    const { page, faults } = await openConsole(stage, { path, width: 390 });
    expect(await overflowOf(page)).toBe(0);
    expect(await axeFinds(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  // All views share the same navigation bar.
  test.if(path === '' || isDeep)(
    'the keyboard reaches every part: first the link past the navigation, then its seven entries',
    async () => {
      const { page } = await openConsole(stage, { path });
      expect(await tabOrder(page, 9)).toEqual([
        'Skip to the content',
        'Signalbox',
        ...['Overview', 'Playground', 'Requests', 'Policies', 'People', 'Money', 'Fleet'],
      ]);
    },
  );
});

test('on a phone, all views are visible in the navigation, and the filters of a list are folded until they are opened', async () => {
  const { page } = await openConsole(stage, { path: '/requests', width: 390 });
  const views = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
  const isInside = await views.evaluateAll((links) =>
    links.map((link) => {
      const { left, right } = link.getBoundingClientRect();
      return left >= 0 && right <= 390;
    }),
  );
  expect(isInside).toEqual(Array.from({ length: 7 }, () => true));
  const fold = page.locator('.filters-fold');
  expect(await page.getByLabel('Model', { exact: true }).isVisible()).toBe(false);
  await fold.click();
  await page.getByLabel('Status', { exact: true }).selectOption('completed');
  await page.getByRole('button', { name: 'Hide filters' }).click();
  expect(await page.getByLabel('Status', { exact: true }).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Filters (active)' }).waitFor();
  // A screen with enough room shows the filters at once.
  await page.setViewportSize({ width: 1_280, height: 900 });
  await page.getByLabel('Status', { exact: true }).waitFor();
  expect(await fold.isVisible()).toBe(false);
});

test.each(
  orDeeply(
    [
      ['/money/wallets', 'Money'],
      ['/nowhere/at/all', 'the overview'],
    ],
    [
      ['/fleet/north/x', 'Fleet'],
      ['/playground/old', 'Playground'],
    ],
  ) as [string, string][],
)('%s is not a page, and links to %s', async (path, near) => {
  const { page } = await openConsole(stage, { path });
  await page.getByRole('heading', { name: 'No such page' }).waitFor();
  await page.getByRole('link', { name: `Go to ${near}` }).click();
  await page.getByRole('heading', { level: 1, name: near === 'the overview' ? 'Overview' : near }).waitFor();
});

test.each(
  orDeeply<readonly [string, RegExp]>(
    [
      ['/requests/%', /the part `?%`?, which is incomplete/],
      ['/requests?from=2026-13-01', /from=2026-13-01`?, which is not a day/],
      ['?from=2026-11-02&to=2026-11-01', /ends before it begins/],
    ],
    [
      ['/people/keys/%E0%A4', /which is incomplete/],
      ['/policies/files/%', /which is incomplete/],
      ['/money?from=2026-02-30&to=2026-03-01', /from=2026-02-30`?, which is not a day/],
      ['/fleet?to=2026-11-01', /has no `?from/],
    ],
  ) as [string, RegExp][],
)('for the invalid address %s the page says so and links back', async (path, words) => {
  const { page, faults } = await openConsole(stage, { path });
  await page.getByRole('heading', { name: 'This address cannot be read' }).waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(words);
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
  await page.getByRole('alert').getByRole('link').click();
  await page.locator('h1', { hasText: /^(?:Overview|Requests|People|Policies|Money|Fleet)$/ }).waitFor();
  expect(new URL(page.url()).searchParams.get('from')).toBeNull();
});

test.each(
  orDeeply(
    ['/requests/nope', '/people/keys/nope'],
    [
      '/people/nope',
      '/policies/nope',
      '/policies/files/nope.yaml',
      '/policies/revisions/nope',
      '/policies/diff?a=x&b=y',
    ],
  ).map((path) => [path] as [string]),
)('a link to something that does not exist, %s, shows a page that says so', async (path) => {
  const { page, faults } = await openConsole(stage, { path });
  await page
    .getByText(/[Nn]ot found|[Nn]o such|has no file|cannot be (?:shown|read)|Nothing|no .*nope/)
    .first()
    .waitFor();
  expect(await page.locator('main a, main button').count()).toBeGreaterThan(0);
  expect(faults.filter((one) => !one.includes('status of 4'))).toEqual([]);
});

test('a view that fails while it is drawn says so, retries, and leaves the rest of the console intact', async () => {
  const { page } = await openConsole(stage, { path: '/policies' });
  await page.route('**/admin/decisions?*', (route) => route.fulfill({ json: { data: [null], has_more: false } }));
  await page.getByRole('link', { name: 'Requests' }).first().click();
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  await page.getByRole('link', { name: 'Fleet' }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
  await page.getByRole('link', { name: 'Requests' }).first().click();
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  await page.unroute('**/admin/decisions?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('table', { name: 'Requests' }).waitFor();
});

test('older rows load even while the page polls for newer ones', async () => {
  let isRefused = true;
  const held = Promise.withResolvers<void>();
  const polled = Promise.withResolvers<void>();
  const { page } = await openConsole(stage, { path: '/policies' });
  await page.route('**/admin/decisions?*', async (route) => {
    const url = new URL(route.request().url());
    if (url.searchParams.has('newer_than')) {
      polled.resolve();
      await held.promise;
      // The page may have cancelled the request already.
      return route.abort().catch(() => {});
    }
    if (isRefused && url.searchParams.has('after')) return route.fulfill({ status: 503, json: {} });
    url.searchParams.set('limit', '5');
    await route.continue({ url: url.href });
  });
  await page.getByRole('link', { name: 'Requests' }).first().click();
  await page.getByText('Older requests could not be loaded').waitFor();
  const rows = page.getByRole('table', { name: 'Requests' }).locator('tbody tr');
  const before = await rows.count();
  // A page that becomes visible after some time polls at once.
  await page.evaluate(`{ const now = Date.now; Date.now = () => now() + 60_000 }`);
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
  await polled.promise;
  isRefused = false;
  await waitFor(async () => {
    await page.evaluate('dispatchEvent(new Event("scroll"))');
    return (await rows.count()) > before || undefined;
  });
  held.resolve();
  await page.unroute('**/admin/decisions?*');
});

describe('roles', () => {
  test('a team lead sees no figures that the gateway shows only to people who see all teams', async () => {
    const { page, faults } = await openConsole(stage, { role: 'lead' });
    expect(await page.getByLabel('Lines').locator('option').allTextContents()).toEqual(['All together', 'By model']);
    await openConsole(stage, { role: 'lead', path: '/?by=provider' });
    expect(await page.getByText('cannot be shown').count()).toBe(0);
    await openConsole(stage, { role: 'lead', path: '/requests' });
    expect(await page.getByRole('search').getByLabel('Team').count()).toBe(0);
    expect(await page.getByRole('search').getByRole('textbox', { name: 'Task' }).count()).toBe(1);
    expect(faults).toEqual([]);
  });

  test.each(
    orDeeply<readonly [ConsoleRole, readonly string[]]>(
      [['finance', ['Overview', 'People', 'Money', 'Fleet']]],
      [
        ['admin', ['Overview', 'Playground', 'Requests', 'Policies', 'People', 'Money', 'Fleet']],
        ['lead', ['Overview', 'Playground', 'Requests', 'People', 'Money', 'Fleet']],
        ['member', ['Overview', 'Playground', 'Requests', 'People', 'Money', 'Fleet']],
      ],
    ),
  )('a person with the role %s sees exactly the views that this role may open', async (role, words) => {
    const { page, faults } = await openConsole(stage, { role });
    expect(await page.locator('.rail-view').allTextContents()).toEqual([...words]);
    expect(faults).toEqual([]);
    if (role === 'finance') {
      await page.goto(`${stage.box.url}/console/policies`);
      await page.getByText('Policies are not available to your role').waitFor();
      await page.goto(`${stage.box.url}/console/playground`);
      await page.getByText('Owners, admins, team leads and members can send requests here').waitFor();
    }
  });
});
