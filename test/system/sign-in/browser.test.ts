import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startGateway } from '../../sign-in/stage.ts';
import { buildConsoleHere } from '../../support/console.ts';
import { startIssuer, type TestIssuer } from '../../support/issuer.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { newPage } from '../support/browser.ts';

/** A sign-in as a person does it, with a real browser and the real provider’s pages. */
let issuer: TestIssuer;
let box: Signalbox;
/** All tests of this file share a page. */
let page: Page;

beforeAll(async () => {
  buildConsoleHere();
  issuer = await startIssuer();
  box = await startGateway(issuer.url);
  issuer.register(box.url);
  issuer.people.set('ada', { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['platform'] });
  page = await newPage();
});
afterAll(async () => {
  await page.context().close();
  await box.stop();
  await issuer.stop();
});

test('a person signs in, the admin API knows the person, and the person signs out, under the console’s own content security policy', async () => {
  await page.goto(`${box.url}/console/sign-in?return_to=/console/keys`);
  await page.locator('input[name=login]').fill('ada');
  await page.locator('input[name=password]').fill('x');
  await page.locator('button[type=submit], input[type=submit]').first().click();
  await page.waitForURL(`${box.url}/console/keys`);
  expect(await page.locator('html').getAttribute('data-signed-in')).toBe('true');
  const me = await page.goto(`${box.url}/admin/me`);
  expect(await me?.json()).toMatchObject({ role: 'admin', user: { sub: 'ada' } });
  await page.goto(`${box.url}/console`);
  const post = (path: string) => page.evaluate(async (at) => (await fetch(at, { method: 'POST' })).status, path);
  expect(await post('/admin/policy/reload')).toBe(200);
  expect(await post('/console/sign-out')).toBe(200);
  expect(await page.locator('html').getAttribute('data-signed-in')).toBe('true');
  await page.reload();
  expect(await page.locator('html').getAttribute('data-signed-in')).toBe('false');
  expect((await page.goto(`${box.url}/admin/me`))?.status()).toBe(401);
});

test('an error page loads its styles from a file, and violates none of its own headers', async () => {
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  const answer = await page.goto(`${box.url}/console/sign-in/callback?code=x&state=y`);
  expect(answer?.status()).toBe(400);
  expect(await page.getByRole('heading').textContent()).toBe('This sign-in has ended');
  expect(await page.evaluate('getComputedStyle(document.querySelector("main")).maxWidth')).toBe('440px');
  expect(faults.filter((text) => !text.includes('400'))).toEqual([]);
});

test('a key signs in on the page, which stores nothing of it, and signs out', async () => {
  await page.goto(`${box.url}/console/money`);
  const signIn = (key: string) =>
    page.evaluate(async (text) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ key: text }) };
      return (await fetch('/console/sign-in/key', init)).status;
    }, key);
  expect(await signIn('sb_live_wrong')).toBe(401);
  expect(await signIn(box.key)).toBe(204);
  await page.reload();
  expect(page.url()).toBe(`${box.url}/console/money`);
  expect(await page.locator('html').getAttribute('data-signed-in')).toBe('true');
  const stored = await page.evaluate('document.cookie + JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
  expect(stored).not.toContain(box.key);
  expect(await page.content()).not.toContain(box.key);
  expect(await page.evaluate(async () => (await fetch('/console/sign-out', { method: 'POST' })).status)).toBe(200);
  expect((await page.goto(`${box.url}/admin/me`))?.status()).toBe(401);
});

/** A proxy in front of the gateway that forwards `Host` and changes `Origin`. @param origin null removes it */
function startProxy(origin: string | null): Bun.Server<undefined> {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const headers = new Headers(request.headers);
      const { pathname, search } = new URL(request.url);
      if (origin === null || request.method === 'GET') headers.delete('origin');
      else headers.set('origin', origin);
      const body = request.method === 'GET' ? null : await request.text();
      return fetch(box.url + pathname + search, {
        method: request.method,
        headers,
        body,
        redirect: 'manual',
        decompress: false,
      });
    },
  });
}

test.each([
  [null, 'configure the proxy to pass Origin unchanged'],
  ['https://llm.example.com', 'set public_url in the policy'],
])('if a proxy sends the Origin %p, the sign-in page says what to configure', async (origin, advice) => {
  const proxy = startProxy(origin);
  await page.goto(`http://127.0.0.1:${proxy.port}/console`);
  await page.getByLabel('Key with the scope admin or report').fill(box.key);
  await page.getByRole('button', { name: 'Sign in with the key' }).click();
  const problem = page.locator('.field-error');
  await problem.waitFor();
  const text = await problem.textContent();
  expect(text).toContain(advice);
  expect(text).toContain(`http://127.0.0.1:${proxy.port}`);
  expect(await page.locator('html').getAttribute('data-signed-in')).toBe('false');
  await proxy.stop(true);
});
