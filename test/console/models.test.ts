import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf } from './stage.ts';

/** The models of a policy: who may use them, and the choice of models of a key. */
const MORE = Array.from(
  { length: 60 },
  (_, at) => `
  many-${String(at).padStart(2, '0')}:
    provider: north
    price: { input: 0.25, output: ${1 + at}, as_of: 2026-11-01, basis: own }
    context_window: 128000
    max_output: 256
    quality: { default: 0.7, coding: 0.75, basis: measured }`,
).join('');
const POLICY = CONSOLE_POLICY.replace('models:', `models:${MORE}`);

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0, POLICY);
}, 60_000);
afterAll(() => stage.stop());

const read = async (path: string) => JSON.parse(await (await stage.box.get(path)).text());
const make = async (path: string, body: object) => JSON.parse(await (await stage.box.post(path, body)).text());

describe('the tab Models', () => {
  test('has price, context, quality and who may use each model, as the admin API has them', async () => {
    const { page, faults } = await openConsole(stage, { path: '/fleet' });
    await page.getByRole('tab', { name: 'Models' }).click();
    expect(new URL(page.url()).searchParams.get('tab')).toBe('models');
    const row = page.getByRole('row', { name: /claude-mirror-4/ });
    await row.getByText('Every key').waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      'claude-mirror-4',
      'south',
      '$3,000.00',
      '$12,000.00',
      '32,768',
      '90.0 %',
      'Every key',
    ]);
    const { data } = await read('/admin/models');
    expect(data.find(({ id }: { id: string }) => id === 'many-03')).toMatchObject({
      price: { input_usd: '0.25', cached_input_usd: '0.25', output_usd: '4' },
      quality: { default: 0.7, tasks: { coding: 0.75 }, basis: 'measured' },
      selectors: ['auto', 'auto-fast', 'auto-cheap'],
      pattern: null,
    });
    expect(data[0]).toMatchObject({ id: 'auto', price: null, quality: null, selectors: [] });
    // The list for clients stays as it was.
    expect(Object.keys((await read('/v1/models')).data[0])).not.toContain('price');
    await page.getByLabel('Find a model').fill('mirror');
    expect(await page.getByRole('table', { name: 'Models' }).locator('tbody tr').count()).toBe(1);
    expect(await axeFinds(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 900 });
    expect(await overflowOf(page)).toBe(0);
    expect(faults).toEqual([]);
  });

  test('names the teams and keys whose lists leave a model out, and those whose lists name it', async () => {
    const team = await make('/admin/teams', { name: 'delivery', models: ['gpt-6-luna'] });
    const key = await make('/admin/keys', { name: 'batch', scopes: ['chat'], models: ['mistral-breeze'] });
    await make('/admin/keys', { name: 'open', scopes: ['chat'] });
    expect((await read('/admin/keys?has_models=true')).data.map(({ name }: { name: string }) => name)).toEqual([
      'batch',
    ]);
    expect((await read('/admin/keys?has_models=false')).data.map(({ name }: { name: string }) => name)).toContain(
      'open',
    );
    expect((await stage.box.get('/admin/keys?has_models=odd')).status).toBe(400);
    const { page } = await openConsole(stage, { path: '/fleet?tab=models&open=gpt-6-luna' });
    const panel = page.getByRole('complementary', { name: 'gpt-6-luna' });
    await panel.getByText('Every key, but not key batch', { exact: true }).waitFor();
    await panel.getByText('auto, auto-fast, auto-cheap').waitFor();
    const linkOf = (name: string) => panel.getByRole('link', { name, exact: true }).getAttribute('href');
    expect(await linkOf('delivery')).toContain(`/people/teams/${team.id}`);
    expect(await linkOf('batch')).toContain(`/people/keys/${key.id}`);
    expect(await axeFinds(page)).toEqual([]);
    await page.goto(page.url().replace('gpt-6-luna', 'many-03'));
    await page.getByText('Every key, but not team delivery and key batch').first().waitFor();
    await page.getByRole('row', { name: 'coding 75.0 %' }).waitFor();
  });

  test('shows a member the models of its own keys alone, and no endpoint', async () => {
    const { page, faults } = await openConsole(stage, { role: 'member', path: '/fleet' });
    await page.getByRole('table', { name: 'Models' }).waitFor();
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Models']);
    await page.getByText('Each of your keys').first().waitFor();
    expect(await page.getByText('batch').count()).toBe(0);
    await openConsole(stage, { role: 'member', path: '/fleet?tab=endpoints' });
    await page.getByText('Endpoints are not open to your role').waitFor();
    expect(faults).toEqual([]);
  });
});

describe('the choice of models and scopes of a key', () => {
  const models = (page: Page) => page.getByRole('group', { name: 'Models' });
  const open = async (path: string) => (await openConsole(stage, { path })).page;

  test('is made by checkboxes, found by a part of the name, and sent as the lists of the API', async () => {
    const page = await open('/people/keys/new');
    await page.getByLabel('Name', { exact: true }).fill('billing');
    await page
      .getByRole('group', { name: 'Scopes' })
      .getByLabel(/^embed/)
      .check();
    await models(page).getByText('No model is checked').waitFor();
    await models(page).getByText('24 of 63 are shown').waitFor();
    await models(page).getByLabel('Find or add a model').fill('MANY-5');
    expect(await models(page).getByRole('checkbox').count()).toBe(10);
    await models(page).getByLabel('many-57').check();
    // Enter takes the one that is found, and does not send the form.
    await models(page).getByLabel('Find or add a model').fill('luna');
    await models(page).getByLabel('Find or add a model').press('Enter');
    // The pattern of a wildcard is in no list.
    await models(page).getByLabel('Find or add a model').fill('openrouter/*');
    await models(page).getByRole('button', { name: 'Add openrouter/*' }).click();
    await models(page).getByText('3 checked').waitFor();
    expect(await models(page).getByLabel('openrouter/*').isChecked()).toBe(true);
    expect(await axeFinds(page)).toEqual([]);
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/admin/keys'));
    await page.getByRole('button', { name: 'Make key' }).click();
    expect((await sent).postDataJSON()).toEqual({
      name: 'billing',
      scopes: ['chat', 'route', 'embed'],
      models: ['many-57', 'gpt-6-luna', 'openrouter/*'],
    });
    await page.getByText('many-57, gpt-6-luna, openrouter/*').first().waitFor();
  });

  test('is changed by checkboxes: what the key has stands first, and none checked is all', async () => {
    const { id } = await make('/admin/keys', { name: 'late', scopes: ['chat'], models: ['many-59', 'gone-model'] });
    const page = await open(`/people/keys/${id}?edit=yes`);
    const first = models(page).getByRole('checkbox');
    expect([await first.nth(0).isChecked(), await first.nth(1).isChecked(), await first.nth(2).isChecked()]).toEqual([
      true,
      true,
      false,
    ]);
    await models(page).getByLabel('gone-model').uncheck();
    await models(page).getByLabel('many-59').uncheck();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('complementary', { name: 'late' }).getByText('All that the policy').waitFor();
    expect((await read(`/admin/keys/${id}`)).models).toBe(null);
  });
});
