import { afterAll, beforeAll, expect, test } from 'bun:test';
import { waitFor } from '../../support/answers.ts';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf } from './stage.ts';

/** Tests of the part Cache of the view Requests, operated as a person would. */
let stage: ConsoleStage;
/** The ID of a decision that the cache answered, and the number of misses. */
let [hit, misses] = ['', 0];

beforeAll(async () => {
  stage = await openStage(6, `${CONSOLE_POLICY}cache: { price_credits: 0.5 }\n`);
  const ask = async (content: string) => {
    const messages = [{ role: 'user', content }];
    const body = { model: 'mistral-breeze', temperature: 0, messages };
    const answer = await stage.box.post('/v1/chat/completions', body);
    await answer.text();
    return answer.headers;
  };
  for (const question of ['When do you open?', 'Where are you?']) {
    await waitFor(async () => {
      const headers = await ask(question);
      if (headers.get('x-signalbox-cache') !== 'hit') misses++;
      else hit = headers.get('x-signalbox-decision-id') ?? '';
      return headers.get('x-signalbox-cache') === 'hit' || null;
    });
  }
  await ask('When do you open?');
});
afterAll(() => stage.stop());

test('the cache is shown with its hit share, savings and size, by model and key, and with the reasons of other requests', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  await page.getByRole('link', { name: 'Cache', exact: true }).click();
  const table = page.getByRole('table', { name: 'The cache by model' });
  await table.waitFor();
  const cells = await table.locator('tbody tr').first().locator('td').allInnerTexts();
  expect(cells.slice(0, 3)).toEqual(['mistral-breeze', '3', `${misses}`]);
  expect(await page.getByRole('table', { name: 'The cache by key' }).locator('tbody tr').count()).toBe(1);
  const shown = async (label: string) =>
    await page.locator('.hero').filter({ hasText: label }).locator('.hero-value').textContent();
  expect(Number.parseFloat((await shown('Hit share')) ?? '')).toBeCloseTo(300 / (3 + misses), 0);
  expect(await shown('Saved')).toMatch(/^\$\d/);
  expect(await shown('Stored answers')).toBe('2');
  const reasons = page.getByRole('table', { name: 'Why the cache did not apply' });
  expect(await reasons.locator('tbody tr').first().textContent()).toMatch(/seed/);
  expect(await axeFinds(page)).toEqual([]);
  await table.getByRole('link', { name: 'mistral-breeze' }).click();
  await page.waitForURL('**/requests?**model=mistral-breeze*');
  await page.goto(`${stage.box.url}/console/requests/${hit}`);
  await page.locator('.panel').getByText('Answered from the cache').waitFor();
  // A hit is as good as any other answer: it has no warning, and names the request whose answer it got.
  expect(await page.locator('.panel .notice').count()).toBe(0);
  const story = page.locator('.requests-answer');
  expect(await story.textContent()).toMatch(/^The cache repeated the answer that mistral-breeze gave .* dec_\w+\. $/);
  await story.getByRole('link').click();
  await page.locator('.panel').getByText('Answered by a model, and could be stored').waitFor();
  expect(faults).toEqual([]);
});

test('on a phone, each model shows its hit share and savings, and nothing is wider than the page', async () => {
  const { page } = await openConsole(stage, { path: '/requests/cache', width: 390, theme: 'dark' });
  const row = page.getByRole('table', { name: 'The cache by model' }).locator('tbody tr').first();
  await row.waitFor();
  const shown = (await row.locator('td').filter({ visible: true }).allInnerTexts()).map((text) => text.trim());
  expect(shown[0]).toBe('mistral-breeze');
  expect(shown).toHaveLength(3);
  expect(await overflowOf(page)).toBe(0);
  expect(await axeFinds(page)).toEqual([]);
});

test('a member sees the figures of its own requests only, and not how much is stored', async () => {
  const { page } = await openConsole(stage, { path: '/requests/cache', role: 'member' });
  await page.getByText('The cache applied to none of 0 requests').waitFor();
  expect(await page.getByText('Stored answers').count()).toBe(0);
});

test('without a cache, the part says how to get one', async () => {
  const plain = await openStage(1);
  try {
    const { page, faults } = await openConsole(plain, { path: '/requests/cache' });
    await page.getByText('The policy has no cache').waitFor();
    expect(await axeFinds(page)).toEqual([]);
    expect(faults).toEqual([]);
  } finally {
    await plain.stop();
  }
});
