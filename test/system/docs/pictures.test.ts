import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { deeply } from '../../deep/deeply.ts';
import { stamped, stampOf } from '../../docs/png-stamp.ts';
import { OTHER_PATHS, ROUTES } from '../../support/routes.ts';
import { useSignalbox } from '../../support/use.ts';
import { newPage } from '../support/browser.ts';
import { drawnIn, faultsOf } from './legible.ts';

/**
 * The pictures of the docs and the page `/docs` in a browser. `UPDATE=1 bun test test/system/docs/pictures.test.ts` writes
 * `docs/pictures/docs.png`.
 */
const FOLDER = join(import.meta.dir, '../../../docs/pictures');
const SCHEMES = ['light', 'dark'] as const;
/** The width of a picture in a page of docs, in CSS pixels. */
const WIDTH = 896;

const server = useSignalbox();
let page: Page;
const foreign: string[] = [];

beforeAll(async () => {
  page = await newPage({ viewport: { width: 1000, height: 1000 } });
  // The test blocks the network: it refuses and records every request to another host.
  await page.route('**/*', (route) => {
    const url = route.request().url();
    if (url.startsWith(server.url) || url.startsWith('data:')) return route.continue();
    foreign.push(url);
    return route.abort();
  });
});
afterAll(() => page.context().close());

/** Returns the faults of a drawing in a page of the docs. */
async function faultsIn(svg: string): Promise<readonly string[]> {
  await page.setContent(`<body style="margin: 0"><div style="width: ${WIDTH}px">${svg}</div></body>`);
  const drawn = await drawnIn(page);
  expect(drawn).not.toBeEmpty();
  return faultsOf(drawn);
}

describe('the drawings of docs/pictures', () => {
  const drawings = readdirSync(FOLDER).filter((name) => name.endsWith('.svg'));
  const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

  for (const colorScheme of SCHEMES)
    test(`are readable on a ${colorScheme} page: no text is faint, leaves its box or overlaps another`, async () => {
      await page.emulateMedia({ colorScheme });
      const faults: string[] = [];
      for (const name of drawings) faults.push(...(await faultsIn(read(name))).map((fault) => `${name}: ${fault}`));
      expect(drawings.length).toBeGreaterThan(5);
      expect(faults).toEqual([]);
    });

  test.each([
    ['overlaps', '<text x="10" y="20">one</text><text x="15" y="22">two</text>'],
    ['leaves its box', '<rect width="60" height="30" fill="#eee" /><text x="5" y="20">more than fits</text>'],
    ['is too small', '<text x="10" y="20" font-size="8">small</text>'],
    ['is faint', '<text x="10" y="20" fill="#a0a8b0">faint</text>'],
  ])('are checked: a text that %s is a fault', async (fault, drawing) => {
    await page.emulateMedia({ colorScheme: 'light' });
    const faults = await faultsIn(`<svg viewBox="0 0 ${WIDTH} 100" font-size="14">${drawing}</svg>`);
    expect(faults).toEqual([expect.stringContaining(fault)]);
  });
});

/** These tests share one load of the page and run in order, because a load costs seconds of CPU. */
describe('the page /docs', () => {
  const closed = () => page.locator('.opblock-tag-section:not(.is-open) .opblock-tag');
  const route = '#operations-Routing-postV1Route';
  const errors: string[] = [];

  beforeAll(async () => {
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    page.on('pageerror', (error) => errors.push(String(error)));
    await page.setViewportSize({ width: 1000, height: 700 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(`${server.url}/docs`);
    await page.waitForSelector('.opblock-tag');
    // Animations end at once, so that colours are final. The version of the test server is hidden, because it belongs to no release.
    await page.addStyleTag({
      content: '* { transition: none !important } .info .title small { display: none !important }',
    });
  });

  test('begins with closed groups: each dialect under the name of its maker, with a word on its content', async () => {
    expect(await page.textContent('.info .title')).toContain('Signalbox');
    expect(await page.locator('.opblock').count()).toBe(0);
    const names = await closed().evaluateAll((all) => all.map((one) => one.getAttribute('data-tag')));
    expect(names.slice(0, 4)).toEqual([
      'OpenAI Chat Completions',
      'Anthropic Messages',
      'OpenAI Responses',
      'OpenAI Embeddings',
    ]);
    const words = await closed().locator('small').allTextContents();
    expect(words.filter((one) => one.trim() !== '').length).toBe(names.length);
  });

  test('looks like docs/pictures/docs.png', async () => {
    await closed().first().click();
    await page.waitForSelector('.opblock');
    const words = (await page.textContent('body')) ?? '';
    const file = Bun.file(join(FOLDER, 'docs.png'));
    if (process.env.UPDATE) await file.write(stamped(await page.screenshot({ fullPage: true }), words));
    expect(stampOf(await file.bytes())).toBe(stampOf(stamped(await file.bytes(), words)));
  });

  test('is readable on a light and a dark screen, wide and narrow', async () => {
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1200, 390]) {
        await page.setViewportSize({ width, height: 900 });
        expect(faultsOf(await drawnIn(page)), `${colorScheme}, ${width} px`).toEqual([]);
      }
    }
  });

  test('has one box for the key, and shows at each operation whether a key is set', async () => {
    expect(await page.locator('input').count()).toBe(1);
    await page.click('.opblock-tag[data-tag="Routing"]');
    const state = page.locator(`${route} .opblock-summary button[class^=key]`);
    expect(await state.textContent()).toBe('Set key');
    await state.click();
    await page.keyboard.type(server.key);
    expect(await state.textContent()).toBe('Key set');
    await page.fill('#key', '');
    expect(await state.textContent()).toBe('Set key');
  });

  test('sends no request to another host, and shows every operation, closed', async () => {
    while ((await closed().count()) > 0) await closed().first().click();
    const ofPages = /^\/(?:docs|console|openapi|llms|health$|$)/;
    const served = ROUTES.filter(({ path }) => !ofPages.test(path) && !OTHER_PATHS.has(path));
    const documented = new Set(served.map(({ method, path }) => `${method} ${path}`));
    expect(await page.locator('.opblock').count()).toBe(documented.size);
    expect(await page.locator('.opblock.is-open').count()).toBe(0);
    expect(foreign).toEqual([]);
    expect(errors).toEqual([]);
  });

  deeply('the page of the API works with a key, by “Try it out”', async () => {
    await page.fill('#key', server.key);
    await page.click(`${route} .opblock-summary-control`);
    await page.click(`${route} .execute`);
    const unauthorized = page.locator(`${route} .response.folded`, { hasText: '401' });
    expect(await unauthorized.textContent()).toContain('invalid_api_key');
    await unauthorized.locator('button').click();
    expect(await unauthorized.count()).toBe(0);
    expect(await page.locator(`${route} .response[data-code="401"]`).textContent()).toContain('API key');
    const answer = page.locator(`${route} .live-responses-table .highlight-code`).first();
    await answer.waitFor();
    expect(await answer.textContent()).toContain('recommended_model');
  });
});
