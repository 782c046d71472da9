import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { orDeeply } from '../../deep/deeply.ts';
import { waitFor } from '../../support/answers.ts';
import { withKey } from '../../support/signalbox.ts';
import { newPage } from '../support/browser.ts';
import { CONSOLE_POLICY, type ConsoleStage, openStage, settled, tabTo } from './stage.ts';

/** Complete tasks with the keyboard only: sign in, work, and return, without a pointer. */

let stage: ConsoleStage;
let page: Page;
const faults: string[] = [];
beforeAll(async () => {
  // A larger budget, so that no request is refused and the list is longer than the window.
  stage = await openStage(60, CONSOLE_POLICY.replace('limit_credits: 6000,', 'limit_credits: 60000,'));
  page = await newPage({ viewport: { width: 1_280, height: 700 } });
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', ({ message }) => faults.push(message));
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: stage.box.url });
});
afterAll(async () => {
  await page.context().close();
  await stage.stop();
});

const enter = async (name: string | RegExp, steps?: number) => {
  await tabTo(page, name, steps);
  await page.keyboard.press('Enter');
};
const statusWith = async (key: string): Promise<number> =>
  (await fetch(`${stage.box.url}/v1/models`, withKey(key))).status;
const panel = () => page.getByRole('complementary');
/** Whether the whole element with the focus is in the window. */
const isFocusInView = () =>
  page.locator(':focus').evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= element.ownerDocument.defaultView!.innerHeight;
  });
const focused = () => page.locator(':focus').textContent({ timeout: 1_000 });

test('with the keyboard, a person signs in and reaches the keys', async () => {
  await page.goto(`${stage.box.url}/console`);
  await tabTo(page, 'Key with the scope admin or report');
  await page.keyboard.type(stage.box.key);
  await page.keyboard.press('Enter');
  await page.locator('.rail').waitFor();
  await enter('People');
  await tabTo(page, 'Teams');
  for (const tab of ['Members', 'Keys']) {
    await page.keyboard.press('ArrowRight');
    expect(await focused()).toBe(tab);
  }
});

test('with the keyboard, a person creates a key, finds it, suspends it, resumes it and revokes it', async () => {
  await enter('Create key');
  await tabTo(page, 'Name');
  await page.keyboard.type('night-job');
  await enter('Create key');
  await page.getByText('Copy the secret now.').waitFor();
  await enter('Copy the secret');
  await page.getByText('Copied the secret').waitFor();
  const secret = String(await page.evaluate('navigator.clipboard.readText()'));
  expect(await statusWith(secret)).toBe(200);
  await enter('Close');
  await panel().waitFor({ state: 'detached' });

  await tabTo(page, 'Name or ID');
  await page.keyboard.type('night');
  await page.getByRole('table', { name: 'Keys' }).locator('tbody tr').nth(1).waitFor({ state: 'detached' });
  // The first letters alone may already filter the table.
  await waitFor(() => new URL(page.url()).searchParams.get('q') === 'night');
  await enter('night-job');
  await panel().getByRole('heading', { name: 'night-job' }).waitFor();
  await enter('Suspend');
  await page.getByText('night-job is suspended. Signalbox answers its requests with status 403.').waitFor();
  await waitFor(async () => (await statusWith(secret)) === 403);
  await enter('Undo');
  await page.getByText('night-job works again.').waitFor();
  await waitFor(async () => (await statusWith(secret)) === 200);
  // The panel shows the change, so it replaces no element any more.
  await panel().getByText('Resumed', { exact: true }).first().waitFor();
  await enter('Suspend');
  await enter('Resume');
  await waitFor(async () => (await statusWith(secret)) === 200);

  await enter('Revoke');
  await page.getByRole('dialog', { name: 'Revoke night-job?' }).waitFor();
  await enter('Revoke key');
  await waitFor(async () => (await statusWith(secret)) === 401);
  await panel().getByText('Revoked', { exact: true }).first().waitFor();
  await page.keyboard.press('Escape');
  await panel().waitFor({ state: 'detached' });
  // The list keeps its filter and its scroll position.
  expect(new URL(page.url()).searchParams.get('q')).toBe('night');
  await waitFor(async () => (await focused()) === 'night-job');
  expect(faults).toEqual([]);
});

test.each(orDeeply(['Escape'], ['the way back of the browser']))(
  'a person reads a request far down the list, and %s leads back to its row',
  async (way) => {
    await page.goto(`${stage.box.url}/console/requests`);
    await settled(page);
    const first = page.locator('tbody tr:first-child a:focus');
    while ((await first.count()) === 0) await page.keyboard.press('Tab');
    for (let row = 0; row < 30; row++) await page.keyboard.press('Tab');
    // A refused request has no story.
    while ((await page.locator('a[href*="/requests/dec_"]:focus').count()) === 0) await page.keyboard.press('Tab');
    const href = await page.locator(':focus').getAttribute('href');
    expect(href).toMatch(/\/requests\/dec_/);
    expect(Number(await page.evaluate('scrollY'))).toBeGreaterThan(300);
    await page.keyboard.press('Enter');
    await panel().getByRole('heading', { name: 'Request', exact: true }).waitFor();
    await page.locator('.requests-story').first().waitFor();
    if (way === 'Escape') await page.keyboard.press('Escape');
    else await page.goBack();
    await panel().waitFor({ state: 'detached' });
    await waitFor(async () => (await page.locator(':focus').getAttribute('href', { timeout: 1_000 })) === href);
    await waitFor(isFocusInView);
    expect(Number(await page.evaluate('scrollY'))).toBeGreaterThan(300);
  },
);
