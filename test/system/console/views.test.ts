import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { orDeeply } from '../../deep/deeply.ts';
import { isDeep } from '../../deep/effort.ts';
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

/** What holds for every view, looked at in a real browser. */
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.stop());

describe.each([...VIEW_PATHS])('the view /console%s', (path) => {
  // A dark page differs in its colours alone, which one view shows.
  for (const theme of path === '/money' || isDeep ? (['light', 'dark'] as const) : (['light'] as const)) {
    test(`has nothing for axe in the ${theme} theme, breaks no rule of its policy, and each chart has its table`, async () => {
      const { page, faults } = await openConsole(stage, { path, theme });
      expect(await axeFinds(page)).toEqual([]);
      expect(await chartsWithoutTwin(page)).toEqual([]);
      // It fits a phone, too; that it is loaded on one is tried in `npm run test:deep`.
      await page.setViewportSize({ width: 390, height: 900 });
      expect(await overflowOf(page)).toBe(0);
      expect(faults).toEqual([]);
    });
  }

  test.if(isDeep)('fits a phone: nothing is wider than 390 px', async () => {
    const { page, faults } = await openConsole(stage, { path, width: 390 });
    expect(await overflowOf(page)).toBe(0);
    expect(await axeFinds(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  // All views have the one rail.
  test.if(path === '' || isDeep)(
    'is reached by the keyboard: first the way past the rail, then its seven words',
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
)('%s is no page, and leads to %s', async (path, near) => {
  const { page } = await openConsole(stage, { path });
  await page.getByRole('heading', { name: 'No such page' }).waitFor();
  await page.getByRole('link', { name: `Go to ${near}` }).click();
  await page.getByRole('heading', { level: 1, name: near === 'the overview' ? 'Overview' : near }).waitFor();
});

describe('roles', () => {
  test('a lead is offered no figures that the gateway keeps to those who see all teams', async () => {
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
  )('a person of the role %s sees the views that it may open, and no others', async (role, words) => {
    const { page, faults } = await openConsole(stage, { role });
    expect(await page.locator('.rail-view').allTextContents()).toEqual([...words]);
    expect(faults).toEqual([]);
    if (role === 'finance') {
      await page.goto(`${stage.box.url}/console/policies`);
      await page.getByText('Policies are not open to your role').waitFor();
      await page.goto(`${stage.box.url}/console/playground`);
      await page.getByText('Owners, admins, team leads and members send requests there').waitFor();
    }
  });
});
