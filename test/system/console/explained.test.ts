import { afterAll, beforeAll, expect, test } from 'bun:test';
import { TERMS } from '../../../src/console/design/terms.ts';
import { axeFinds, type ConsoleStage, openConsole, openStage, overflowOf, tabTo } from './stage.ts';

/** The console explains terms where they appear. */
let stage: ConsoleStage;
beforeAll(async () => {
  stage = await openStage(8);
});
afterAll(() => stage.stop());

const nameOf = (word: string) => `What does “${word}” mean?`;
const plain = (text: string) => text.replaceAll('`', '');

test.each([
  ['', ['saved', 'baseline']],
  ['/money?range=1h', ['saved', 'baseline']],
  ['/money?tab=budgets', ['held']],
] as const)('at /console%s a click explains each term, on a phone as well', async (path, words) => {
  for (const width of [1_280, 390]) {
    const { page, faults } = await openConsole(stage, { path, width });
    for (const word of words) {
      const button = page.getByRole('button', { name: nameOf(word) }).first();
      await button.click();
      const text = page.getByText(plain(TERMS[word].text), { exact: true }).first();
      await text.waitFor();
      const box = await text.boundingBox();
      expect(box && box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= 900).toBe(true);
      expect(await overflowOf(page)).toBeLessThanOrEqual(0);
      expect(await axeFinds(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await text.waitFor({ state: 'hidden' });
    }
    expect(faults).toEqual([]);
  }
});

test('the keyboard opens and closes an explanation, and keeps the focus', async () => {
  const { page } = await openConsole(stage);
  await tabTo(page, nameOf('saved'));
  await page.keyboard.press('Enter');
  await page.getByText(plain(TERMS.saved.text)).waitFor();
  await page.keyboard.press('Escape');
  await page.getByText(plain(TERMS.saved.text)).waitFor({ state: 'hidden' });
  expect(await page.locator(':focus').getAttribute('aria-label')).toBe(nameOf('saved'));
});

test('the first Escape closes an explanation, and the second Escape closes the detail around it', async () => {
  const { page } = await openConsole(stage, { path: '/requests' });
  // If the caller named the model, the page shows no comparison with a baseline.
  await page
    .getByRole('row', { name: / auto / })
    .first()
    .getByRole('link')
    .click();
  const panel = page.getByRole('complementary');
  const button = panel.getByRole('button', { name: nameOf('held') }).first();
  await button.click();
  await page.getByText(plain(TERMS.held.text)).waitFor();
  await page.keyboard.press('Escape');
  await page.getByText(plain(TERMS.held.text)).waitFor({ state: 'hidden' });
  expect(await panel.count()).toBe(1);
  for (const word of ['saved', 'baseline'] as const) {
    expect(await panel.getByRole('button', { name: nameOf(word) }).count()).toBeGreaterThan(0);
  }
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
});
