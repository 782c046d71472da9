import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { type ConsoleStage, openConsole, openStage } from './stage.ts';

/** What operators do for keys and teams beside their terms. */

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0);
});
afterAll(() => stage.stop());

interface Shown {
  readonly id: string;
  readonly balance?: { readonly granted_credits: number } | null;
  readonly data?: readonly { readonly name: string }[];
}

const shown = async (path: string): Promise<Shown> => JSON.parse(await (await stage.box.get(path)).text());
const made = async (path: string, body: object): Promise<Shown> =>
  JSON.parse(await (await stage.box.post(path, body)).text());

async function open(path: string): Promise<Page> {
  const { page } = await openConsole(stage, { path: `/people${path}` });
  page.setDefaultTimeout(10_000);
  return page;
}
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

test('a key is granted Credits, which an answer that is lost does not grant twice, and gives them back', async () => {
  const { id } = await made('/admin/keys', { name: 'prepaid' });
  const page = await open(`/keys/${id}`);
  await page.locator('.panel').getByText('The first grant makes the key prepaid').waitFor();
  await page.getByLabel('Credits to grant').fill('2500');
  await page.getByLabel('Note').fill('invoice 1042');
  await page.route('**/grant', async (route) => {
    await route.fetch();
    await route.fulfill({ status: 503, json: { error: { message: 'The answer was lost.' } } });
  });
  await button(page, 'Grant').click();
  await page.locator('.panel').getByText('The answer was lost.').waitFor();
  await page.unroute('**/grant');
  await button(page, 'Grant').click();
  await page.getByText('2,500 Credits were added to the balance.').waitFor();
  expect((await shown(`/admin/keys/${id}`)).balance?.granted_credits).toBe(2_500);
  await page.getByLabel('Credits to grant').fill('-500');
  await button(page, 'Take back').click();
  await page.getByText('500 Credits were taken from the balance.').waitFor();
  expect((await shown(`/admin/keys/${id}`)).balance?.granted_credits).toBe(2_000);
});

test('a team that the policy has left is taken over, and then changed here', async () => {
  const { id } = await made('/admin/teams', { name: 'left' });
  const handed = { method: 'PATCH', body: JSON.stringify({ origin: 'policy' }) };
  await (await stage.box.get(`/admin/teams/${id}`, handed)).text();
  const page = await open(`/teams/${id}`);
  await page.locator('.panel').getByText('The policy no longer declares this team.').waitFor();
  expect(await link(page, 'Change').count()).toBe(0);
  await button(page, 'Take over').click();
  await link(page, 'Change').waitFor();
  expect((await shown('/admin/teams?origin=api')).data?.map(({ name }) => name)).toEqual(['left']);
});
