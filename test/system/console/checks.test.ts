import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf, settled } from './stage.ts';

/** Tests of the tab Checks in the view Fleet, operated as a person would. */
let stage: ConsoleStage;
let far: FakeUpstream;
beforeAll(async () => {
  far = startFakeUpstream({ key: 'far-key-of-the-provider' });
  const provider = `far: { adapter: openai-compatible, base_url: "${far.url}", api_key_env: FAR_KEY }`;
  const policy = CONSOLE_POLICY.replace('providers: {', `providers: { ${provider},`).replace(
    'models:\n',
    `models:
  far-1:
    provider: far
    price: { input: 1, output: 4, as_of: 2025-01-01, basis: own }
    context_window: 32768
    max_output: 256
    quality: { default: 0.1, basis: guessed }
`,
  );
  stage = await openStage(0, policy, {}, Date.now, { FAR_KEY: 'another-key-of-the-provider' });
});
afterAll(async () => {
  await stage.stop();
  await far.stop();
});

const ADVICE = /Put a valid key into FAR_KEY/;

test('the checks run on request, and their findings are grouped by state with what to do', async () => {
  const { page, faults } = await openConsole(stage, { path: '/fleet?tab=checks' });
  await page.getByText('The checks have not run on this page yet').waitFor();
  expect(far.requests).toEqual([]);
  await page.getByRole('button', { name: 'Run the checks' }).click();
  const problems = page.getByRole('region', { name: 'Problems' });
  await problems.getByText(ADVICE).waitFor();
  await page.getByRole('heading', { name: 'The checks found 1 problem.' }).waitFor();
  await page
    .getByRole('region', { name: 'Warnings' })
    .getByText(/`?models\.far-1\.price`?/)
    .waitFor();
  await page.getByRole('region', { name: 'Fine' }).getByText('Database', { exact: true }).first().waitFor();
  expect(await axeFinds(page)).toEqual([]);
  expect(faults).toEqual([]);
  // The findings remain while the viewer looks at another tab.
  await page.getByRole('tab', { name: 'Models' }).click();
  await settled(page);
  await page.getByRole('tab', { name: 'Checks' }).click();
  await problems.getByText(ADVICE).waitFor();
});

test('the findings fit a phone, in both themes', async () => {
  for (const theme of ['light', 'dark'] as const) {
    const { page } = await openConsole(stage, { path: '/fleet?tab=checks', width: 390, theme });
    await page.getByRole('button', { name: 'Run the checks' }).click();
    await page.getByText(ADVICE).waitFor();
    expect(await overflowOf(page)).toBe(0);
    expect(await axeFinds(page)).toEqual([]);
  }
});

test('a member sees neither the tab nor the checks', async () => {
  const { page } = await openConsole(stage, { path: '/fleet?tab=checks', role: 'member' });
  await page.getByText('Checks are not available to your role').waitFor();
  expect(await page.getByRole('tab', { name: 'Checks' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Run the checks' }).count()).toBe(0);
});
