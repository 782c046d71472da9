import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { startBrowser } from '../support/browser.ts';
import { startIssuer, type TestIssuer } from '../support/issuer.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { startGateway } from './stage.ts';

/** One sign-in as a person does it: a real browser, the real provider’s pages. */
let issuer: TestIssuer;
let box: Signalbox;
let browser: Browser;

beforeAll(async () => {
  issuer = await startIssuer();
  box = await startGateway(issuer.url);
  issuer.register(box.url);
  issuer.people.set('ada', { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['platform'] });
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser.close();
  await box.stop();
  await issuer.stop();
});

test('a person signs in, is known to the admin API, and signs out by the button', async () => {
  const page = await browser.newPage();
  await page.goto(`${box.url}/console`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.locator('input[name=login]').fill('ada');
  await page.locator('input[name=password]').fill('x');
  await page.locator('button[type=submit], input[type=submit]').first().click();
  await page.waitForURL(`${box.url}/console`);
  expect(await page.getByRole('heading').textContent()).toBe('Ada Lovelace');
  const me = await page.goto(`${box.url}/admin/me`);
  expect(await me?.json()).toMatchObject({ role: 'admin', user: { sub: 'ada' } });
  await page.goto(`${box.url}/console`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  expect(await page.getByRole('heading').textContent()).toBe('Sign in');
  expect((await page.goto(`${box.url}/admin/me`))?.status()).toBe(401);
}, 30_000);
