import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { waitFor } from '../../support/answers.ts';
import { CONSOLE_POLICY, type ConsoleStage, openConsole, openStage } from './stage.ts';

/** The colours of models in the views. These two names alone would have the same colour. */
const MODELS = ['opus-grand', 'harbor-chat'] as const;
let stage: ConsoleStage;
beforeAll(async () => {
  const policy = CONSOLE_POLICY.replaceAll('gpt-6-luna', MODELS[0]).replaceAll('mistral-breeze', MODELS[1]);
  stage = await openStage(0, policy);
  for (const model of MODELS) {
    const messages = [{ role: 'user', content: 'Say hello.' }];
    await (await stage.box.post('/v1/chat/completions', { model, messages, max_tokens: 40 })).text();
  }
});
afterAll(() => stage.stop());

/** Returns the style of the mark of each model, in rows that contain its name. */
async function coloursIn(page: Page, rows: string): Promise<readonly (string | null)[]> {
  const styles = MODELS.map((model) =>
    page.locator(rows).filter({ hasText: model }).locator('svg[style]').first().getAttribute('style'),
  );
  return Promise.all(styles);
}

test('two models have different colours, and each has the same in every view', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  const inList = await waitFor(async () => {
    const colours = await coloursIn(page, '.requests-model');
    return new Set(colours).size === 2 ? colours : null;
  });
  await openConsole(stage, { path: '/fleet?tab=models' });
  await page.getByRole('table', { name: 'Models' }).waitFor();
  expect(await waitFor(async () => Bun.deepEquals(await coloursIn(page, '.fleet-model'), inList) || null)).toBe(true);
  await openConsole(stage, { path: '?range=1h' });
  await page.locator('.bar-row').first().waitFor();
  expect(await waitFor(async () => Bun.deepEquals(await coloursIn(page, '.bar-row'), inList) || null)).toBe(true);
  expect(faults).toEqual([]);
});
