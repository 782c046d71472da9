import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf } from './stage.ts';

/** The models of a policy and who may use them, and the selection of models for a key. */
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
/** Models of every kind that the list must distinguish. */
const KINDS = `
  fee-model:
    provider: north
    price: { input: 0.0375, output: 3, as_of: 2026-11-01, basis: own, per_request: 0.01, tiers: [{ over_input_tokens: 200000, input: 0.075, output: 4.5 }] }
    context_window: 1050000
    max_output: 256
    quality: { default: 0.7 }
  vectors:
    provider: north
    price: { input: 0.02, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 8192
    operations: [embed]
    embedding: { dimensions: 64, vector_space: shop }
    quality: { default: 0.5 }
  north/*:
    provider: north
    price: { input: 3, output: 0.5, as_of: 2026-11-01, basis: own }
    context_window: 16384
  south/*:
    provider: south
  south/own-*:
    provider: south
    unknown_price: { as: { input: 2, output: 6, as_of: 2026-11-01, basis: own } }`;
const POLICY = CONSOLE_POLICY.replace('models:', `models:${MORE}${KINDS}`).replace(
  'budgets:',
  'selectors: { search-vectors: { strategy: auto, vector_space: shop } }\nbudgets:',
);

let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(0, POLICY);
});
afterAll(() => stage.stop());

const read = async (path: string) => JSON.parse(await (await stage.box.get(path)).text());
const make = async (path: string, body: object) => JSON.parse(await (await stage.box.post(path, body)).text());

describe('the tab Models', () => {
  test('the list shows price, context, quality and allowed users of each model, as the admin API reports them', async () => {
    const { page, faults } = await openConsole(stage, { path: '/fleet' });
    await page.getByRole('tab', { name: 'Models' }).click();
    expect(new URL(page.url()).searchParams.get('tab')).toBe('models');
    const row = page.getByRole('row', { name: /claude-mirror-4/ });
    await row.getByText('Every key').waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      'claude-mirror-4',
      'south',
      '$3,000.0000',
      '$12,000.00',
      '32,768',
      '90.0 %',
      'Every key',
    ]);
    const { data } = await read('/admin/models');
    expect(data.find(({ id }: { id: string }) => id === 'many-03')).toMatchObject({
      price: { input_usd: '0.25', cached_input_usd: '0.25', output_usd: '4', per_request_usd: '0', tiers: [] },
      quality: { default: 0.7, tasks: { coding: 0.75 }, basis: 'measured' },
      selectors: ['auto', 'auto-fast', 'auto-cheap'],
      pattern: null,
    });
    const auto = data.find(({ id }: { id: string }) => id === 'auto');
    expect(auto).toMatchObject({ price: null, quality: null, selectors: [] });
    // The list for clients has no new members.
    expect(Object.keys((await read('/v1/models')).data[0])).not.toContain('price');
    await page.getByLabel('Find a model').fill('mirror');
    expect(await page.getByRole('table', { name: 'Models' }).locator('tbody tr').count()).toBe(1);
    expect(await axeFinds(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 900 });
    expect(await overflowOf(page)).toBe(0);
    expect(faults).toEqual([]);
  });

  test('the list names the cheapest model that answers in text, and counts wildcards separately', async () => {
    const { page } = await openConsole(stage, { path: '/fleet?tab=models' });
    await page.getByRole('heading', { name: 'You can use 65 models and 3 wildcards; many-00 has' }).waitFor();
    const cells = (name: RegExp) => page.getByRole('row', { name }).getByRole('cell').allTextContents();
    await page.getByText('Every key').first().waitFor();
    expect((await cells(/^vectors/)).slice(2, 6)).toEqual(['$0.0200', '–', '8,192', '50.0 %']);
    expect((await cells(/^fee-model/)).slice(2, 4)).toEqual(['$0.0375', '$3.00']);
    expect((await cells(/^north\/\*/)).slice(1, 6)).toEqual(['north', '$3.0000', '$0.50', '16,384', '–']);
    expect((await cells(/^south\/\*/)).slice(1, 6)).toEqual(['south', '–', '–', '–', '–']);
  });

  test('the list shows fees for each request, prices of long prompts, and a quality without a source', async () => {
    const { data } = await read('/admin/models');
    const lineOf = (wanted: string) => data.find(({ id }: { id: string }) => id === wanted);
    const rates = { input_usd: '0.075', cached_input_usd: '0.075', output_usd: '4.5' };
    expect(lineOf('fee-model')).toMatchObject({
      price: { input_usd: '0.0375', per_request_usd: '0.01', tiers: [{ over_input_tokens: 200_000, ...rates }] },
      quality: { basis: 'unknown' },
    });
    const { page, faults } = await openConsole(stage, { path: '/fleet?tab=models&open=fee-model' });
    const panel = page.getByRole('complementary', { name: 'fee-model' });
    await panel.getByText('Each request').waitFor();
    const facts = await panel.locator('dl.facts').first().locator('dt, dd').allTextContents();
    const factOf = (name: string) => facts[facts.indexOf(name) + 1];
    expect(factOf('Each request')).toBe('$0.01');
    expect(factOf('Input')).toBe('$0.0375 per 1M tokens');
    expect(factOf('Prompts over 200,000 tokens')).toBe(
      '$0.0750 input, $0.0750 cached input, $4.5000 output per 1M tokens',
    );
    // The policy states a figure without a source.
    expect(await panel.getByText('70.0 %').count()).toBe(1);
    expect(await panel.getByText('states no figure').count()).toBe(0);
    expect(await axeFinds(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('the list has only the selectors that can choose an embedding model, and none of a wildcard', async () => {
    const { data } = await read('/admin/models');
    const lineOf = (wanted: string) => data.find(({ id }: { id: string }) => id === wanted);
    expect(lineOf('vectors').selectors).toEqual(['search-vectors']);
    expect(lineOf('fee-model').selectors).toEqual(['auto', 'auto-fast', 'auto-cheap']);
    expect(lineOf('north/*')).toMatchObject({
      ...{ pattern: 'north/*', selectors: [], quality: null, max_input_tokens: 16_384, max_tokens: null },
      price: { input_usd: '3', output_usd: '0.5' },
    });
    expect(lineOf('south/*')).toMatchObject({ pattern: 'south/*', price: null, max_input_tokens: null });
    expect(lineOf('south/own-*').price).toMatchObject({ input_usd: '2', output_usd: '6' });
    // A client cannot send the name of a wildcard as `model`.
    const ids = (await read('/v1/models')).data.map(({ id }: { id: string }) => id);
    expect(ids).toContain('vectors');
    expect(ids).not.toContain('north/*');
    const { page } = await openConsole(stage, { path: '/playground' });
    const options = page.getByLabel('Selector or model').locator('option');
    await options.filter({ hasText: 'vectors' }).first().waitFor({ state: 'attached' });
    expect(await options.filter({ hasText: '/*' }).count()).toBe(0);
  });

  test('a model names the teams and keys whose lists exclude it, and those whose lists include it', async () => {
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

  test('a member sees only the models of their own keys, and no endpoint', async () => {
    const { page, faults } = await openConsole(stage, { role: 'member', path: '/fleet' });
    await page.getByRole('table', { name: 'Models' }).waitFor();
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Models']);
    await page.getByText('Each of your keys').first().waitFor();
    expect(await page.getByText('batch').count()).toBe(0);
    await openConsole(stage, { role: 'member', path: '/fleet?tab=endpoints' });
    await page.getByText('Endpoints are not available to your role').waitFor();
    expect(faults).toEqual([]);
  });

  test('a phone shows the same content as a wide screen, with nothing cut off', async () => {
    await make('/admin/keys', { name: 'nightly', scopes: ['chat'], models: ['mistral-breeze'] });
    const { page } = await openConsole(stage, { path: '/fleet?tab=models', width: 390 });
    const row = page.locator('tbody tr', { hasText: 'claude-mirror-4' });
    const who = row.locator('.fleet-who', { hasText: 'team delivery, key batch and 1 more' });
    await who.waitFor();
    const cells = await row
      .locator('td')
      .evaluateAll((all) => all.map((cell) => [cell.getClientRects().length > 0, cell.textContent] as const));
    expect(cells.flatMap(([isShown, text]) => (isShown ? [text] : [])).slice(0, -1)).toEqual([
      ...['claude-mirror-4', '$3,000.0000', '$12,000.00', '32,768', '90.0 %'],
    ]);
    expect(await who.evaluate((text) => text.scrollHeight - text.clientHeight)).toBe(0);
    expect(await overflowOf(page)).toBe(0);
  });
});

describe('the choice of models and scopes of a key', () => {
  const models = (page: Page) => page.getByRole('group', { name: 'Models', exact: true });
  const open = async (path: string) => (await openConsole(stage, { path })).page;

  test('a person selects models and scopes with checkboxes and a search, and the page sends them as the API’s lists', async () => {
    const page = await open('/people/keys/new');
    await page.getByLabel('Name', { exact: true }).fill('billing');
    await page.locator('.form-more > summary').click();
    await page
      .getByRole('group', { name: 'Scopes' })
      .getByLabel(/^embed/)
      .check();
    await models(page).getByText('No model is checked').waitFor();
    await models(page).getByText('24 of 68 are shown').waitFor();
    await models(page).getByLabel('Find or add a model').fill('MANY-5');
    expect(await models(page).getByRole('checkbox').count()).toBe(10);
    await models(page).getByLabel('many-57').check();
    // Enter selects the found model and does not send the form.
    await models(page).getByLabel('Find or add a model').fill('luna');
    await models(page).getByLabel('Find or add a model').press('Enter');
    // No list contains the models of a wildcard.
    await models(page).getByLabel('Find or add a model').fill('openrouter/*');
    await models(page).getByRole('button', { name: 'Add openrouter/*' }).click();
    await models(page).getByText('3 checked').waitFor();
    expect(await models(page).getByLabel('openrouter/*').isChecked()).toBe(true);
    expect(await axeFinds(page)).toEqual([]);
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/admin/keys'));
    await page.getByRole('button', { name: 'Create key' }).click();
    expect((await sent).postDataJSON()).toEqual({
      name: 'billing',
      scopes: ['chat', 'route', 'embed'],
      models: ['many-57', 'gpt-6-luna', 'openrouter/*'],
    });
    await page.getByText('many-57, gpt-6-luna, openrouter/*').first().waitFor();
  });

  test('a person changes the selection with checkboxes: selected items come first, and no selection means all', async () => {
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
    await page.getByRole('complementary', { name: 'late' }).getByText('All models that the policy').waitFor();
    expect((await read(`/admin/keys/${id}`)).models).toBe(null);
  });

  test('a person denies a model to a key, and the page shows it', async () => {
    const { id } = await make('/admin/keys', { name: 'denied', scopes: ['chat'] });
    const page = await open(`/people/keys/${id}?edit=yes`);
    const denied = page.getByRole('group', { name: 'Denied models' });
    await denied.getByText('No model is checked').waitFor();
    await denied.getByLabel('Find or add a model').fill('luna');
    await denied.getByLabel('gpt-6-luna').check();
    const save = page.getByRole('button', { name: 'Save changes' });
    await save.click();
    await save.waitFor({ state: 'detached' });
    await page.getByRole('complementary', { name: 'denied' }).getByText('gpt-6-luna').waitFor();
    expect(await read(`/admin/keys/${id}`)).toMatchObject({ models: null, not_models: ['gpt-6-luna'] });
  });
});
