import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { issuerEntry } from '../../http/tokens-support.ts';
import { waitFor } from '../../support/answers.ts';
import { withKey } from '../../support/signalbox.ts';
import { startIssuer } from '../../support/token-issuer.ts';
import { useStarted } from '../../support/use.ts';
import { CONSOLE_POLICY, type ConsoleStage, openConsole, openStage } from './stage.ts';

/** Actions of operators on keys, teams and workloads other than changing terms, and the text of empty lists. */

const issuer = useStarted(() => startIssuer());
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0, `${CONSOLE_POLICY}tokens:${issuerEntry(issuer)}\n`);
});
afterAll(() => stage.stop());

interface Shown {
  readonly id: string;
  readonly balance?: { readonly granted_credits: number } | null;
  readonly data?: readonly { readonly name: string; readonly action?: string; readonly details?: object }[];
}

const shown = async (path: string): Promise<Shown> => JSON.parse(await (await stage.box.get(path)).text());
const made = async (path: string, body: object): Promise<Shown> =>
  JSON.parse(await (await stage.box.post(path, body)).text());

async function open(path: string): Promise<Page> {
  const { page } = await openConsole(stage, { path: `/people${path}` });
  return page;
}
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

test('an operator grants Credits to a key once, even if the answer is lost, and removes them again', async () => {
  const { id } = await made('/admin/keys', { name: 'prepaid' });
  const page = await open(`/keys/${id}`);
  await page.locator('.panel').getByText('The first grant makes the key prepaid').waitFor();
  await page.getByLabel('Grant in USD').fill('$2.50');
  await page.getByLabel('Note').fill('invoice 1042');
  await page.route('**/grant', async (route) => {
    await route.fetch();
    await route.fulfill({ status: 503, json: { error: { message: 'The answer was lost.' } } });
  });
  // The first grant makes the key prepaid for good, so it is confirmed.
  await button(page, 'Grant').click();
  await page.getByRole('dialog', { name: 'Make prepaid prepaid?' }).waitFor();
  await button(page, 'Cancel').click();
  expect((await shown(`/admin/keys/${id}`)).balance).toBeNull();
  await button(page, 'Grant').click();
  await button(page, 'Make key prepaid').click();
  await page.locator('.panel').getByText('The answer was lost.').waitFor();
  await page.unroute('**/grant');
  await button(page, 'Grant').click();
  await button(page, 'Make key prepaid').click();
  await page.getByText('2,500 Credits were added to the balance.').waitFor();
  expect((await shown(`/admin/keys/${id}`)).balance?.granted_credits).toBe(2_500);
  await page.getByLabel('Grant in USD').fill('-500 Credits');
  await button(page, 'Remove Credits').click();
  await page.getByText('500 Credits were removed from the balance.').waitFor();
  expect((await shown(`/admin/keys/${id}`)).balance?.granted_credits).toBe(2_000);
});

test('a person takes over a team that the policy no longer declares, and changes it in the console', async () => {
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

test('a person blocks a workload with a reason after a confirmation, and Undo unblocks it', async () => {
  const token = await issuer.sign({ sub: 'prod:agent' });
  const ask = async () => (await fetch(`${stage.box.url}/v1/models`, withKey(token))).status;
  expect(await ask()).toBe(200);
  const page = await open('/subjects');
  await waitFor(async () => {
    await page.reload();
    return (await link(page, 'prod:agent').count()) === 1;
  });
  await link(page, 'prod:agent').click();
  await button(page, 'Block').click();
  const question = page.getByRole('dialog', { name: 'Block prod:agent?' });
  await question.getByLabel('Reason, kept in the audit trail').fill('leaked, ticket 88');
  await button(page, 'Block workload').click();
  await page.getByRole('table', { name: 'Workloads' }).getByText('Blocked').waitFor();
  await waitFor(async () => (await ask()) === 403);
  const { data } = await shown('/admin/trail?limit=1');
  expect(data?.[0]).toMatchObject({ action: 'block', details: { note: 'leaked, ticket 88' } });
  await button(page, 'Undo').click();
  await button(page, 'Block').waitFor();
  await waitFor(async () => (await ask()) === 200);
});

test('a list without matches says so, and a button clears the filters of the list', async () => {
  await made('/admin/keys', { name: 'findable' });
  const page = await open('/keys?q=nowhere&state=valid');
  await page.getByText('No key matches').waitFor();
  await button(page, 'Clear filters').click();
  await link(page, 'findable').waitFor();
  expect(new URL(page.url()).search).toBe('');
});

test('if a list cannot be read, the console says so, and the list appears after a retry', async () => {
  const page = await open('/logins');
  await page.route('**/admin/keys?*', (route) =>
    route.fulfill({ status: 503, json: { error: { message: 'The database is away.' } } }),
  );
  await page.getByRole('tab', { name: 'Keys' }).click();
  await page.getByText('Keys cannot be shown').waitFor();
  expect(await page.getByRole('alert').textContent()).toContain('The database is away.');
  await page.unroute('**/admin/keys?*');
  await button(page, 'Try again').click();
  await link(page, 'installed').waitFor();
});
