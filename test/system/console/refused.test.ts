import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { withKey } from '../../support/signalbox.ts';
import { axeFinds, CONSOLE_POLICY, type ConsoleStage, openConsole, openStage, overflowOf, settled } from './stage.ts';

/** Tests of refused requests in the view Requests, operated as a person would. */
let stage: ConsoleStage;
/** The ID of a refused request, and the IDs of a request with a decision. */
let refused: string;
let [answered, decision] = ['', ''];

beforeAll(async () => {
  stage = await openStage(6, CONSOLE_POLICY.replace('limit_credits: 400', 'limit_credits: 400000'));
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const ask = (model: string) => stage.box.post('/v1/chat/completions', { model, messages, max_tokens: 20 });
  const idOf = (response: Response) => response.headers.get('x-request-id') ?? '';
  refused = idOf(await ask('gpt-9-imaginary'));
  const response = await ask('auto');
  answered = idOf(response);
  decision = response.headers.get('x-signalbox-decision-id') ?? '';
});
afterAll(() => stage.stop());

const table = (page: Page) => page.getByRole('table', { name: 'Requests' });
const rowsOf = (page: Page) => table(page).locator('tbody tr:not(.table-space)');

async function find(page: Page, id: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Find by ID' }).fill(id);
  await page.getByRole('button', { name: 'Find', exact: true }).click();
}

test('a refused request is in the list with its code and model, and its detail says what the caller was told', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  const row = rowsOf(page).filter({ hasText: 'gpt-9-imaginary' });
  await row.waitFor();
  expect(await row.textContent()).toContain('model_not_found');
  await page.getByLabel('Error code').fill('model_not_found');
  await page.waitForURL(/code=model_not_found/);
  await rowsOf(page).nth(1).waitFor({ state: 'detached' });
  await rowsOf(page).first().click();
  const panel = page.locator('.panel');
  await panel.getByText('Signalbox answered 404 before it chose a model.').waitFor();
  const text = (await panel.textContent()) ?? '';
  for (const part of ['gpt-9-imaginary', 'POST /v1/chat/completions', 'openai-chat', refused])
    expect(text).toContain(part);
  expect(await axeFinds(page)).toEqual([]);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  expect(faults).toEqual([]);
});

test('one search box finds a request by its own ID and by the ID of its decision', async () => {
  const { page, faults } = await openConsole(stage, { path: '/requests' });
  await find(page, refused);
  await page.locator('.panel').getByText('before it chose a model').waitFor();
  await page.keyboard.press('Escape');
  for (const id of [answered, decision]) {
    await find(page, id);
    await page.locator('.panel').getByText(decision).first().waitFor();
    await page.locator('.requests-story').getByText('It went to').first().waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.panel').waitFor({ state: 'detached' });
  }
  await find(page, 'req_zzzzzzzzzzz');
  await page.getByText('This request was not found').waitFor();
  // The only failed read is of the ID that does not exist.
  expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
});

test('on a phone, a name of a key that is too long for its row keeps its beginning', async () => {
  const name = 'the-nightly-batch-of-the-billing-department';
  const made = await stage.box.post('/admin/keys', { name });
  const { key }: { key: string } = JSON.parse(await made.text());
  const body = { model: 'gpt-9-imaginary', messages: [{ role: 'user', content: 'Say hello.' }] };
  await (await stage.box.post('/v1/chat/completions', body, withKey(key))).text();
  const { page } = await openConsole(stage, { path: '/requests?status=refused', width: 390 });
  const short = page.getByTitle(name).first();
  await short.waitFor();
  const isSeen = await short.evaluate((text) => {
    const { left, top, height } = text.getBoundingClientRect();
    return text.ownerDocument.elementFromPoint(left + 2, top + height / 2) === text;
  });
  expect(isSeen).toBe(true);
});

test('in a wide window, an open request does not cover the list, and the list alone is in the middle', async () => {
  const { page } = await openConsole(stage, { path: '/requests', width: 2_200 });
  const list = page.locator('.content .card').first();
  const closed = await list.boundingBox();
  const [left, right] = [(closed?.x ?? 0) - 208, 2_200 - (closed?.x ?? 0) - (closed?.width ?? 0)];
  expect(Math.abs(left - right)).toBeLessThan(20);
  await rowsOf(page).first().click();
  const panel = page.locator('.panel');
  await panel.waitFor();
  const [open, detail] = [await list.boundingBox(), await panel.boundingBox()];
  expect((open?.x ?? 0) + (open?.width ?? 0)).toBeLessThanOrEqual(detail?.x ?? 0);
});

test('on a phone, the names of the views do not touch each other', async () => {
  const { page } = await openConsole(stage, { path: '/playground', width: 390 });
  const boxes = await page.locator('.rail-view').evaluateAll((views) =>
    views.map((view) => {
      const range = view.ownerDocument.createRange();
      range.selectNodeContents(view);
      const { left, right, top } = range.getBoundingClientRect();
      return { left, right, top };
    }),
  );
  for (const [at, { right, top }] of boxes.entries()) {
    const next = boxes[at + 1];
    if (next && next.top === top) expect(next.left - right).toBeGreaterThan(8);
  }
});

test('on a phone, refused requests and the search box fit the page', async () => {
  const { page } = await openConsole(stage, { path: '/requests?status=refused', width: 390 });
  await rowsOf(page).first().waitFor();
  await settled(page);
  expect(await overflowOf(page)).toBe(0);
});
